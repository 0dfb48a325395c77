// Rows that nccl-tests and rccl-tests printed on real machines, read where they lie beside the checkout.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "stats/busbw.h"

namespace railgauge::stats {
namespace {

using nlohmann::json;

constexpr double kHalfUnit = 0.005 + 1e-9;    // GB/s are printed with two decimals

/// Half of the last printed digit: none after the point from 10,000 µs, one from 100 µs, else two (nccl-tests src/common.cu).
double half_unit_of_time(double time_us) { return time_us >= 10000 ? 0.5 : time_us >= 100 ? 0.05 : 0.005; }

int check_side(const json& side, std::uint64_t bytes, CollectiveOp op, int ranks) {
  const double time_us = side["time_us"], algbw = side["algbw_GBps"], busbw = side["busbw_GBps"];
  const double low = *algbw_gbyte_per_s(bytes, nanoseconds(std::llround((time_us + half_unit_of_time(time_us)) * 1000))).value;
  const double high = *algbw_gbyte_per_s(bytes, nanoseconds(std::llround((time_us - half_unit_of_time(time_us)) * 1000))).value;
  EXPECT_LE(low - kHalfUnit, algbw);
  EXPECT_GE(high + kHalfUnit, algbw);
  const double factor = *busbw_factor(op, ranks).value;
  EXPECT_NEAR(busbw, *busbw_gbyte_per_s(op, ranks, Value::of(algbw)).value, kHalfUnit * (1 + factor));
  return 1;
}

TEST(BusbwField, AgreesWithThePrintedRows) {
  if (!std::filesystem::is_directory(RAILGAUGE_FIELD_OUTPUTS)) GTEST_SKIP() << "no field data at " << RAILGAUGE_FIELD_OUTPUTS;
  const std::map<std::string, std::pair<CollectiveOp, int>> files = {
      {"nccl_01_v100era_error_column_NA_info_line", {CollectiveOp::all_reduce, 8}},
      {"nccl_07_a100_single_node_8gpu", {CollectiveOp::all_reduce, 8}},
      {"nccl_12_allgather_redop_none", {CollectiveOp::all_gather, 2}},
      {"nccl_13_h100_16gpu_no_parameter_line", {CollectiveOp::all_reduce, 16}},
      {"nccl_16_roce_100g_unstable_small_sizes", {CollectiveOp::all_reduce, 16}},
      {"rccl_14_two_nodes_16gpu_mi355x", {CollectiveOp::all_reduce, 16}},
  };
  const std::map<std::string, std::uint64_t> element_bytes = {{"float", 4}, {"half", 2}, {"bfloat16", 2}};
  int sides = 0;
  for (const auto& [name, what] : files) {
    SCOPED_TRACE(name);
    std::ifstream in(std::string(RAILGAUGE_FIELD_OUTPUTS) + "/" + name + ".expect.json");
    const json expected = json::parse(in);
    for (const json& row : expected["rows"]) {
      SCOPED_TRACE(row.dump());
      const std::uint64_t bytes = row["bytes"], count = row["count"];
      EXPECT_EQ(counted_bytes({what.first, count, element_bytes.at(row["type"]), what.second}), bytes);
      for (const char* side : {"out_of_place", "in_place"})
        if (row[side]["algbw_GBps"].is_number()) sides += check_side(row[side], bytes, what.first, what.second);
    }
  }
  EXPECT_GT(sides, 200);  // 129 rows, both sides of each
}

}  // namespace
}  // namespace railgauge::stats
