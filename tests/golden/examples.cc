#include "golden/examples.h"

#include <fmt/format.h>

#include <stdexcept>

#include "golden/hosts.h"
#include "golden/measurements.h"
#include "report/judge.h"

namespace railgauge::golden {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;
using plan::Transport;
using results::Measurement;
using results::Record;
using results::SideResult;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

Record between(results::Node client, results::Node server) {
  Record out;
  out.schema = results::kSchemaId;
  out.run_id = "0193a1f4-8c2b-7d3e-9a41-5b6c7d8e9f01";
  out.subcommand = "check";
  out.started_utc = kStarted;
  out.wall = milliseconds(41'300);
  out.outcome = results::Outcome::done;
  out.peer = "node-12";
  out.nodes = {std::move(client), std::move(server)};
  return out;
}

Record gpu_pair() { return between(gpu_host("client", "node-07", 7), gpu_host("server", "node-12", 12)); }

const auto kWrite = make_plan(Transport::rdma, Operation::write, Metric::bandwidth, Direction::to, 65536);
const auto kRead = make_plan(Transport::rdma, Operation::read, Metric::bandwidth, Direction::from, 65536);
const auto kBoth = make_plan(Transport::rdma, Operation::write, Metric::bandwidth, Direction::both, 65536);
const auto kRate = make_plan(Transport::rdma, Operation::write, Metric::rate, Direction::to, 64);
const auto kWriteLatency = make_plan(Transport::rdma, Operation::write, Metric::latency, Direction::to, 8);
const auto kReadLatency = make_plan(Transport::rdma, Operation::read, Metric::latency, Direction::to, 8);
const auto kStream = make_plan(Transport::tcp, Operation::stream, Metric::bandwidth, Direction::to, 1048576);
const auto kRoundTrip = make_plan(Transport::tcp, Operation::round_trip, Metric::latency, Direction::to, 64);

Record met() {
  Record out = gpu_pair();
  rates::Expectation small = expect_port();
  small.wire_limit_only = true;
  // 64 / (64 + 82 + 16) = 39.5 % (link-rates.md 2.2, RoCE write of 64 B).
  set_ports(small, 158.02, "400 Gb/s x 64 / (64 + 1 x 82 + 16)");
  out.measurements = {bandwidth(with_qps(kWrite, 1), 284.1, expect_port()), bandwidth(with_qps(kWrite, 8), 391.52, expect_port()),
                      bandwidth(with_qps(kRead, 8), 389.9, expect_port()),   bandwidth(with_qps(kBoth, 8), 388.8, expect_port()),
                      bandwidth(with_qps(kRate, 1), 18.432, small),          latency(kWriteLatency, 1612, 1710, 9470),
                      latency(kReadLatency, 2804, 2987, 31'200),             bandwidth(with_streams(kStream, 1), 61.37, expect_tcp()),
                      bandwidth(with_streams(kStream, 8), 381.2, expect_tcp()), latency(kRoundTrip, 21'400, 27'900, 412'000)};
  out.measurements[7].sides[0].limiter = "cpu";
  return out;
}

Record below_pcie() {
  Record out = gpu_pair();
  out.differences = {{"PCIe link of mlx5_2", "32 GT/s x16", "8 GT/s x16", true}, {"firmware of mlx5_2", "28.39.1002", "28.40.1000", false}};
  host::RdmaDevice& device = out.nodes[1].facts.rdma_devices.front();
  device.firmware = host::Fact<std::string>::of("28.40.1000");
  device.pci.links.front().current_gt_per_s = host::Fact<double>::of(8);
  rates::Expectation from_b = expect_pcie();
  from_b.notes = {"MaxPayload on node-12 unknown (EACCES (run as root)): 256 B assumed"};
  out.measurements = {bandwidth(with_qps(kWrite, 8), 98.31, expect_pcie()), bandwidth(with_qps(kRead, 8), 113.94, from_b), latency(kWriteLatency, 1905, 12'310, 84'000)};
  auto& counters = out.measurements[0].sides[1].counters;
  counters.push_back({"eth2/statistics", "tx_prio3_pause", host::Fact<std::uint64_t>::of(90'001), host::Fact<std::uint64_t>::of(158'377), host::Fact<std::uint64_t>::of(68'376), false});
  return out;
}

Record mtu_marginal_and_dirty() {
  Record out = gpu_pair();
  out.subcommand = "rdma";
  out.nodes[0].command_line = {"railgauge", "rdma", "node-12", "--op", "write", "--qps", "8"};
  out.nodes[1].facts.netdevs.front().mtu_bytes = host::Fact<int>::of(1500);
  const rates::Expectation small_mtu = expect_small_mtu();
  out.measurements = {bandwidth(with_qps(kWrite, 8), 369.1, small_mtu), bandwidth(with_qps(kRead, 8), 368.7, small_mtu), bandwidth(with_qps(kBoth, 8), 365.0, small_mtu)};
  for (Measurement& m : out.measurements)
    for (SideResult& side : m.sides) side.path_mtu_bytes = 1024;
  out.measurements[1].sides[0].counters.push_back({"mlx5_2/1/counters", "symbol_error", host::Fact<std::uint64_t>::of(11), host::Fact<std::uint64_t>::of(14), host::Fact<std::uint64_t>::of(3), false});
  out.measurements[2].sides[1].verification = results::Verification{1'048'576, 4096, 8192, 0x5a, 0x00, 16, 70'458, "the last message in each slot, told from the 2 before it there"};
  return out;
}

Record interrupted() {
  Record out = gpu_pair();
  out.outcome = results::Outcome::partial;
  out.wall = milliseconds(6'812);
  out.warnings = {"interrupted by Ctrl-C"};
  Measurement cut = bandwidth(with_qps(kRead, 8), 390.2, expect_port());
  cut.outcome = results::Outcome::partial;
  cut.reason = "stopped by the user after 0.4 s of 1 s";
  cut.throughput->whole_intervals = 4;
  cut.throughput->steady = std::nullopt;
  cut.throughput->steady_reason = "4 intervals: the test needs 10";
  cut.sides[0].late_sends = 0;
  cut.sides[0].unsent = 0;
  cut.sides[0].events = {"0.391 s: IBV_EVENT_PATH_MIG"};
  out.measurements = {bandwidth(with_qps(kWrite, 8), 391.52, expect_port()), cut};
  return out;
}

Record failed() {
  Record out = gpu_pair();
  Measurement dead = finished(with_qps(kWrite, 8));
  dead.outcome = results::Outcome::failed;
  dead.reason = "RETRY_EXC_ERR (12), vendor 0x81 on QP 3: the peer did not answer";
  dead.error = results::ErrorInfo{"verbs", 12, "run", "client", dead.reason};
  dead.sides[0].error = dead.error;
  dead.sides[1].warnings = {"the port went down 0.2 s before the end"};
  out.measurements = {dead};
  return out;
}

Record unreachable() {
  Record out = gpu_pair();
  out.nodes.pop_back();
  out.outcome = results::Outcome::failed;
  out.wall = milliseconds(3'004);
  out.error = results::ErrorInfo{"timeout", 110, "control", "client", "connect node-12 port 18650: nothing answered within 3 s; is `railgauge serve` running there, and does a firewall let the port through?"};
  return out;
}

Record simulated() {
  Record out = between(simulated_host("client", "laptop", 2), simulated_host("server", "laptop", 2));
  out.simulated = out.same_host = true;
  out.peer = "127.0.0.1";
  out.measurements = {bandwidth(with_qps(kWrite, 8), 390.8, expect_port()), bandwidth(with_qps(kRead, 8), 331.0, expect_port()), latency(kWriteLatency, 812, 1'930, 40'100)};
  for (Measurement& measurement : out.measurements)
    for (SideResult& side : measurement.sides) {
      side.simulated = true;
      side.host = "laptop";
      side.placement.device = "sim0";
      side.choices = {"sim0 port 1: the only device"};
      side.counters.clear();
      side.counters_read.reset();
    }
  for (Measurement& measurement : out.measurements) {
    if (measurement.expectation.terms.empty()) continue;
    measurement.expectation.terms.resize(1);
    measurement.expectation.terms[0].name = "port 400 Gb/s (4X NDR) of sim0 on laptop";
    measurement.expectation.terms[0].host = "laptop";
    measurement.expectation.terms[0].address = "sim0";
  }
  return out;
}

Record tcp_only() {
  Record out = between(container("client", "ci-runner-55"), container("server", "ci-runner-77"));
  out.nodes[1].command_line = {"railgauge", "serve"};
  out.peer = "192.0.2.77";
  Measurement skipped;
  skipped.plan = with_qps(kWrite, 8);
  skipped.outcome = results::Outcome::skipped;
  skipped.reason = "no RDMA device on ci-runner-55: make one in software on an interface (`rdma link add rxe0 type rxe netdev eth0`), or use scripts/lab";
  rates::Expectation none;
  none.reason = "link rate of eth0 on ci-runner-55 unknown: virtual interface";
  out.measurements = {skipped, bandwidth(with_streams(kStream, 1), 23.11, none), bandwidth(with_streams(kStream, 4), 40.02, none), latency(kRoundTrip, 31'200, 201'000, 3'100'000)};
  for (Measurement& measurement : out.measurements)
    for (SideResult& side : measurement.sides) {
      side.host = side.role == "client" ? "ci-runner-55" : "ci-runner-77";
      side.placement.interface = "eth0";
      side.softirq = host::Fact<nanoseconds>::missing("CPUs not bound");
      side.choices = {"eth0: holds the address of the control connection"};
    }
  out.measurements[2].sides[0].zerocopy_completions = 1204;
  out.measurements[2].sides[0].zerocopy_copied = 1204;
  out.measurements[3].sides[0].loaded_latency = latency_of(33'000, 240'000, 3'300'000);
  out.measurements[3].plan.load_rate_per_s = plan::kLoadedRate;
  out.measurements[3].latency_meaning = "round trip, from the intended send";
  return out;
}

}  // namespace

void judge_all(Record& record) {
  for (Measurement& measurement : record.measurements) measurement.verdict = report::judge(measurement, record);
  record.verdict = report::overall(record);
  record.exit_code = static_cast<int>(report::exit_code(record));
}

std::vector<Example> examples() {
  std::vector<Example> out = {{"check-met", met()},           {"check-below-pcie", below_pcie()}, {"rdma-mtu-and-dirty", mtu_marginal_and_dirty()},
                              {"check-interrupted", interrupted()}, {"check-failed", failed()},         {"check-unreachable", unreachable()},
                              {"check-simulated", simulated()},     {"check-tcp-only", tcp_only()}};
  for (Example& entry : out) judge_all(entry.record);
  return out;
}

Record example(const std::string& name) {
  for (Example& entry : examples())
    if (entry.name == name) return std::move(entry.record);
  throw std::out_of_range(name);
}

}  // namespace railgauge::golden
