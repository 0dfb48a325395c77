#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "results/json.h"
#include "unit/results/data_error.h"

namespace railgauge::results {
namespace {

using nlohmann::json;

Record small_record() {
  Record record;
  record.schema = kSchemaId;
  record.nodes.resize(1);
  record.nodes[0].facts.boot_id = host::Fact<std::string>::of("6f1c0d9e-52b7-4c0a-9d0e-3b1f2a7c8e55");
  record.measurements.resize(1);
  record.measurements[0].plan.rdma.max_reads = 16;
  record.measurements[0].plan.rdma.rate_limit_gbit_per_s = 25;
  record.measurements[0].sides.resize(1);
  record.measurements[0].sides[0].late_sends = 7;
  record.measurements[0].sides[0].verification.emplace();
  record.measurements[0].sides[0].verification->checked_messages = 5;
  return record;
}

TEST(RecordReader, RefusesOtherMajorVersionsBySayingSo) {
  json record = json::parse(record_to_json([] { Record r; r.schema = kSchemaId; return r; }()));
  EXPECT_EQ(data_error([&] { record_from_json(record.dump()); }), "accepted");
  record["schema"] = "https://railgauge.invalid/schema/record-1.37.json";
  EXPECT_EQ(data_error([&] { record_from_json(record.dump()); }), "accepted");
  record["schema"] = "https://railgauge.invalid/schema/record-2.0.json";
  EXPECT_EQ(data_error([&] { record_from_json(record.dump()); }), "record: its schema is of major version 2, this program reads major version 1");
  record["schema"] = "something";
  EXPECT_EQ(data_error([&] { record_from_json(record.dump()); }), "record: schema \"something\" is no railgauge record");
}

TEST(RecordReader, TakesARecordFromBeforeAKeyWasAdded) {
  json record = json::parse(record_to_json(small_record()));
  record["nodes"][0]["facts"].erase("boot_id");
  json& measurement = record["measurements"][0];
  measurement["plan"]["rdma"].erase("max_reads");
  measurement["plan"]["rdma"].erase("rate_limit_gbit_per_s");
  measurement["sides"][0].erase("late_sends");
  measurement["sides"][0]["verification"].erase("checked_messages");
  Record old;
  ASSERT_EQ(data_error([&] { old = record_from_json(record.dump()); }), "accepted");
  EXPECT_FALSE(old.nodes[0].facts.boot_id);
  EXPECT_EQ(old.nodes[0].facts.boot_id.reason, "not in the document: it is older than this fact");
  EXPECT_EQ(old.measurements[0].plan.rdma.max_reads, std::nullopt);
  EXPECT_EQ(old.measurements[0].plan.rdma.rate_limit_gbit_per_s, std::nullopt);
  EXPECT_EQ(old.measurements[0].sides[0].late_sends, std::nullopt);
  EXPECT_EQ(old.measurements[0].sides[0].verification->checked_messages, std::nullopt);
}

TEST(RecordReader, MissesAKeyThatHasToBeThere) {
  json record = json::parse(record_to_json(small_record()));
  record["measurements"][0].erase("outcome");
  EXPECT_EQ(data_error([&] { record_from_json(record.dump()); }), "record: measurements[0].outcome is missing");
}

}  // namespace
}  // namespace railgauge::results
