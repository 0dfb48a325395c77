#include "results/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "unit/results/data_error.h"

namespace railgauge::results {
namespace {

using nlohmann::json;
using testing::HasSubstr;

SideResult odd_side() {
  SideResult side;
  side.role = "client";
  side.host = "node-07";
  side.threads.resize(3);
  side.threads[1].cpu = 17;
  side.threads[1].user = std::chrono::nanoseconds(987'654'321);
  side.sent_intervals = {{std::chrono::milliseconds(-100), std::chrono::milliseconds(100), 123456789, 1884, true}};
  side.histogram = stats::HistogramData{3, {{1791, 12}, {1799, 40}, {2303, 7}}};
  side.softirq = host::Fact<std::chrono::nanoseconds>::missing("no /proc/softirqs here");
  side.counters.push_back({"mlx5_3/1/counters", "symbol_error", host::Fact<std::uint64_t>::of(65535), host::Fact<std::uint64_t>::of(65535),
                           host::Fact<std::uint64_t>::missing("saturated"), false});
  side.counters_read = 61;
  side.tcp_info.push_back({4, std::chrono::milliseconds(300), {{"rtt_us", 81}, {"snd_cwnd", 44}}});
  side.settings["congestion"] = "cubic";
  return side;
}

TEST(PlanJson, RefusesAKeyThatStandsTwice) {
  std::string text = plan_to_json(plan::Plan{});
  EXPECT_THAT(peer_error([&] { plan_from_json("{\"label\":\"other\"," + text.substr(1)); }), HasSubstr("plan: the key \"label\" stands twice"));
  // \u006c is l.
  EXPECT_THAT(peer_error([&] { plan_from_json("{\"\\u006cabel\":\"other\"," + text.substr(1)); }), HasSubstr("stands twice"));
  auto inner = text.find("\"qps\":");
  ASSERT_NE(inner, std::string::npos);
  EXPECT_THAT(peer_error([&] { plan_from_json(text.substr(0, inner) + "\"qps\":7," + text.substr(inner)); }), HasSubstr("\"qps\" stands twice"));
}

TEST(PlanJson, GoesThereAndBack) {
  plan::Plan plan;
  plan.label = "read 3 QPs \"odd\" ü";
  plan.transport = plan::Transport::rdma;
  plan.operation = plan::Operation::read;
  plan.message_bytes = 3000;
  plan.rdma.mtu_bytes = 2048;
  plan.rdma.max_reads = 16;
  plan.rdma.rate_limit_gbit_per_s = 2.7;
  plan.client.cpus = {3, 5, 7};
  plan.server.device = "mlx5_2";
  std::string text = plan_to_json(plan);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  plan::Plan back = plan_from_json(text);
  EXPECT_EQ(plan_to_json(back), text);
  EXPECT_EQ(back.rdma.inline_bytes, std::nullopt);
  EXPECT_EQ(back.rdma.mtu_bytes, 2048);
  EXPECT_EQ(back.rdma.rate_limit_gbit_per_s, 2.7);
  EXPECT_EQ(back.client.cpus, (std::vector<int>{3, 5, 7}));
  EXPECT_EQ(back.server.device, "mlx5_2");
}

TEST(PlanJson, WritesNullForWhatTheToolChooses) {
  json plan = json::parse(plan_to_json(plan::Plan{}));
  EXPECT_TRUE(plan["rdma"]["inline_bytes"].is_null());
  EXPECT_TRUE(plan["iterations"].is_null());
  EXPECT_EQ(plan["duration_ns"], 1'000'000'000);
}

TEST(FactsJson, KeepsGpusAndTheirDistances) {
  using host::Distance;
  host::Gpu gpu;
  gpu.address = "0000:3b:00.0";
  gpu.vendor = "NVIDIA";
  gpu.model = host::Fact<std::string>::of("Example GPU");
  for (auto* text : {&gpu.driver, &gpu.local_cpulist, &gpu.iommu_type, &gpu.pci.id}) *text = host::Fact<std::string>::missing("absent");
  gpu.numa_node = host::Fact<int>::of(3);
  gpu.bar1_bytes = host::Fact<std::uint64_t>::of(137438953472);
  for (auto* size : {&gpu.pci.max_payload_bytes, &gpu.pci.max_read_request_bytes}) *size = host::Fact<int>::of(512);
  gpu.pci.relaxed_ordering = host::Fact<bool>::of(true);
  for (Distance d : {Distance::loc, Distance::pix, Distance::pxb, Distance::phb, Distance::node, Distance::sys, Distance::unknown})
    gpu.nics.push_back({"mlx5_4", d, d == Distance::pix ? std::optional<std::string>("0000:3a:00.0") : std::nullopt, "because"});
  Node node;
  node.facts.gpus = {gpu, gpu};
  node.facts.gpus[1].address = "0000:5b:00.0";
  node.facts.gpudirect.driver_version = host::Fact<std::string>::of("570.86.15");
  node.facts.gpudirect.open_kernel_modules = host::Fact<bool>::of(false);
  node.facts.gpudirect.peermem_loaded = true;
  for (auto* version : {&node.facts.gpudirect.peermem_version, &node.facts.gpudirect.nv_mem_version, &node.facts.gpudirect.nv_mem_nc_version})
    *version = host::Fact<std::string>::missing("EACCES (run as root)");
  std::string text = node_to_json(node);
  const host::Snapshot back = node_from_json(text).facts;
  EXPECT_EQ(back.gpus, node.facts.gpus);
  EXPECT_EQ(back.gpudirect, node.facts.gpudirect);
  EXPECT_THAT(text, HasSubstr("\"NODE\""));
  text.replace(text.find("\"NODE\""), 6, "\"near\"");
  EXPECT_THAT(peer_error([&] { node_from_json(text); }), HasSubstr("gpus[0].nics[4].distance"));
}

TEST(FactsJson, KeepsValuesAndReasons) {
  host::Snapshot facts;
  facts.hostname = "node-12";
  facts.numa_cpulists = {{0, "0-31"}, {11, "32-63"}};
  facts.microcode = host::Fact<std::string>::missing("EACCES (run as root)");
  facts.governor = host::Fact<std::string>::of("performance");
  facts.rdma_devices.resize(1);
  facts.rdma_devices[0].ports.resize(2);
  facts.rdma_devices[0].ports[1].gids = {{3, "0000:0000:0000:0000:0000:ffff:c0a8:0a64", host::GidType::roce_v2, "eth3", "192.168.10.100"}};
  facts.rdma_devices[0].pci.links.push_back({"0000:41:00.0", host::Fact<double>::of(16), host::Fact<int>::of(16), host::Fact<double>::of(32), host::Fact<int>::missing("absent")});
  Node node;
  node.facts = facts;
  const host::Snapshot back = node_from_json(node_to_json(node)).facts;
  EXPECT_EQ(back.numa_cpulists, facts.numa_cpulists);
  EXPECT_EQ(back.microcode, facts.microcode);
  EXPECT_EQ(back.governor, facts.governor);
  EXPECT_EQ(back.rdma_devices[0].ports[1].gids, facts.rdma_devices[0].ports[1].gids);
  EXPECT_EQ(back.rdma_devices[0].pci.links, facts.rdma_devices[0].pci.links);
  // A fact nobody filled in has no value either, and says so.
  EXPECT_EQ(back.cpu_model, host::Fact<std::string>::missing("not given"));
}

TEST(SideResultJson, GoesThereAndBack) {
  SideResult side = odd_side();
  std::string text = side_result_to_json(side);
  SideResult back = side_result_from_json(text);
  EXPECT_EQ(side_result_to_json(back), text);
  EXPECT_EQ(back.threads[0].cpu, std::nullopt);
  EXPECT_EQ(back.threads[1].cpu, 17);
  EXPECT_EQ(back.sent_intervals, side.sent_intervals);
  EXPECT_EQ(back.histogram, side.histogram);
  EXPECT_EQ(back.counters, side.counters);
  EXPECT_EQ(back.counters_read, 61U);
  EXPECT_EQ(back.tcp_info[0].fields.at("rtt_us"), 81U);
}

TEST(SideResultJson, PutsTheReasonBesideTheNull) {
  json side = json::parse(side_result_to_json(odd_side()));
  EXPECT_TRUE(side["softirq_ns"].is_null());
  EXPECT_EQ(side["softirq_ns_reason"], "no /proc/softirqs here");
  EXPECT_EQ(side["counters"][0]["before"], 65535);
  EXPECT_FALSE(side["counters"][0].contains("before_reason"));
  EXPECT_EQ(side["counters"][0]["delta_reason"], "saturated");
}

TEST(Writer, NeverWritesNotANumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Measurement measurement;
  measurement.expectation.terms.resize(3);
  measurement.expectation.terms[1].name = "PCIe";
  measurement.expectation.terms[1].gbit_per_s = kInfinity;
  measurement.expectation.terms[2].gbit_per_s = 57.6;
  measurement.expectation.limiting = 2;
  measurement.verdict.fraction = -kInfinity;
  measurement.latency.emplace();
  measurement.latency->p50_ns = stats::Value::of(std::numeric_limits<double>::quiet_NaN());
  Record record;
  record.measurements.push_back(measurement);
  json written = json::parse(record_to_json(record))["measurements"][0];
  EXPECT_TRUE(written["verdict"]["fraction"].is_null());
  EXPECT_TRUE(written["latency"]["p50_ns"].is_null());
  EXPECT_EQ(written["latency"]["p50_ns_reason"], "not a finite number");
  EXPECT_EQ(written["expectation"]["terms"].size(), 2U);
  EXPECT_EQ(written["expectation"]["limiting"], 1);
  EXPECT_EQ(written["expectation"]["notes"][0], "PCIe: left out, its rate is not a finite number");
}

TEST(Writer, ReplacesBytesThatAreNotUtf8) {
  plan::Plan plan;
  plan.label = "a\xff\xc3";
  EXPECT_EQ(json::parse(plan_to_json(plan))["label"], "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Writer, KeepsLargeCounts) {
  SideResult side;
  side.late_sends = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(side_result_from_json(side_result_to_json(side)).late_sends, std::numeric_limits<std::uint64_t>::max());
}

/// The error that reading gives after one value of the side's document was replaced.
std::string error_with(const std::string& pointer, const json& value) {
  json side = json::parse(side_result_to_json(odd_side()));
  side[json::json_pointer(pointer)] = value;
  return peer_error([&] { side_result_from_json(side.dump()); });
}

TEST(Reader, NamesThePlaceAndWhatItFound) {
  EXPECT_EQ(error_with("/threads/1/cpu", "x"), "result: threads[1].cpu: expected an integer from 0 to 65535, found \"x\"");
  EXPECT_EQ(error_with("/threads/1/cpu", -2), "result: threads[1].cpu: expected an integer from 0 to 65535, found -2");
  EXPECT_EQ(error_with("/threads/1/cpu", 3.0), "result: threads[1].cpu: expected an integer from 0 to 65535, found 3.0");
  EXPECT_EQ(error_with("/drain_ns", -5), "result: drain_ns: expected an integer ≥ 0, found -5");
  EXPECT_EQ(error_with("/tcp_info/0/fields/rtt_us", -1), "result: tcp_info[0].fields.rtt_us: expected an integer ≥ 0, found -1");
  EXPECT_EQ(error_with("/role", json::array()), "result: role: expected a string, found an array");
  EXPECT_EQ(error_with("/threads", json::object()), "result: threads: expected an array, found an object");
  EXPECT_EQ(error_with("/placement", 7), "result: placement: expected an object, found 7");
  EXPECT_EQ(error_with("/simulated", 1), "result: simulated: expected true or false, found 1");
}

TEST(Reader, ChecksWhatTheLoopsOverHistogramsRelyOn) {
  EXPECT_THAT(error_with("/histogram/counts", {12, 40}), HasSubstr("as many counts as upper_edges_ns"));
  EXPECT_THAT(error_with("/histogram/upper_edges_ns", {1791, 1791, 2303}), HasSubstr("rising upper_edges_ns"));
}

TEST(Reader, RefusesIntegersThatDoNotFit) {
  json side = json::parse(side_result_to_json(odd_side()));
  side["drain_ns"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(peer_error([&] { side_result_from_json(side.dump()); }), HasSubstr("drain_ns: expected an integer"));
}

TEST(Reader, NamesAMissingKey) {
  json side = json::parse(side_result_to_json(odd_side()));
  side["threads"][2].erase("user_ns");
  EXPECT_EQ(peer_error([&] { side_result_from_json(side.dump()); }), "result: threads[2].user_ns is missing");
}

TEST(Reader, IgnoresKeysOfNewerMinorVersions) {
  json side = json::parse(side_result_to_json(odd_side()));
  side["threads"][2]["later"] = {{"more", 1}};
  EXPECT_EQ(peer_error([&] { side_result_from_json(side.dump()); }), "accepted");
}

TEST(Reader, RefusesWordsOutsideTheChoice) {
  json plan = json::parse(plan_to_json(plan::Plan{}));
  plan["metric"] = "speed\x1b";
  EXPECT_EQ(peer_error([&] { plan_from_json(plan.dump()); }),
            "plan: metric: expected one of \"bandwidth\", \"latency\", \"rate\", found \"speed\\u001b\"");
}

TEST(Reader, SurvivesHostileText) {
  for (const char* text : {"", "{", "nul", "[]", "7", "\"", "{\"label\":\"\xff\"}", "{\"label\":1e999}", "{} {}", "{\"a\":}"})
    EXPECT_NE(peer_error([&] { plan_from_json(text); }), "accepted") << text;
  EXPECT_EQ(peer_error([&] { plan_from_json(std::string(100'000, '[')); }), "plan: nested deeper than 32");
  EXPECT_THAT(peer_error([&] { plan_from_json(std::string((16U << 20) + 1, ' ')); }), HasSubstr("more than the limit of 16 MiB"));
  EXPECT_EQ(peer_error([&] { plan_from_json("[" + std::string(4'000'001, ',') + "]"); }), "plan: more than 4000000 values");
}

TEST(ReadRecord, NamesTheFile) {
  try {
    read_record("/nonexistent/r.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_STREQ(error.what(), "open /nonexistent/r.json: No such file or directory");
  }
}

}  // namespace
}  // namespace railgauge::results
