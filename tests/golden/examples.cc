#include "golden/examples.h"

#include <fmt/format.h>

#include <stdexcept>

#include "golden/hosts.h"
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
using stats::Value;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Goodput of 400G RoCE v2/IPv4 at path MTU 4096 and 1024: link-rates.md 2.3. PCIe gen3 and gen5 x16 at MaxPayload 256: 2.5.
// TCP at MTU 9000: 2.4 (400 x 0.9900).
constexpr double kPort4096 = 392.14;
constexpr double kPort1024 = 370.34;
constexpr double kPcieGen5 = 460.9;
constexpr double kPcieGen3 = 115.2;
constexpr double kTcp9000 = 396.0;

constexpr const char* kStarted = "2026-11-30T09:32:17.123Z";

rates::Term term(const std::string& name, double gbit_per_s, const std::string& formula, bool informational = false) {
  rates::Term out;
  out.name = name;
  out.gbit_per_s = gbit_per_s;
  out.formula = formula;
  out.source = "link-rates";
  out.informational = informational;
  return out;
}

/// A term of one host: "port … of `address` on `host`", "PCIe … at `address` on `host`".
rates::Term term_of(rates::TermKind kind, const std::string& what, const std::string& address, const std::string& host, double gbit_per_s,
                    const std::string& formula) {
  bool pcie = kind == rates::TermKind::pcie;
  rates::Term out = term(fmt::format("{} {} {} on {}", what, pcie ? "at" : "of", address, host), gbit_per_s, formula);
  out.kind = kind;
  out.host = host;
  out.address = address;
  return out;
}

rates::Expectation expect_port() {
  rates::Expectation out;
  out.terms = {term_of(rates::TermKind::link, "port 400 Gb/s (4X NDR)", "mlx5_2", "node-07", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)"),
               term_of(rates::TermKind::link, "port 400 Gb/s (4X NDR)", "mlx5_2", "node-12", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)"),
               term_of(rates::TermKind::pcie, "PCIe 32 GT/s x16", "0000:41:00.0", "node-07", kPcieGen5, "16 x 31.508 Gb/s x 256 / (256 + 24)")};
  out.limiting = 0;
  return out;
}

/// Another figure for both ports of expect_port().
void set_ports(rates::Expectation& expectation, double gbit_per_s, const char* formula) {
  for (std::size_t i : {0U, 1U}) {
    expectation.terms[i].gbit_per_s = gbit_per_s;
    expectation.terms[i].formula = formula;
  }
}

rates::Expectation expect_pcie() {
  rates::Expectation out = expect_port();
  out.terms.push_back(term_of(rates::TermKind::pcie, "PCIe 8 GT/s x16", "0000:41:00.0", "node-12", kPcieGen3, "16 x 7.877 Gb/s x 256 / (256 + 24) (DMA write, MaxPayload 256)"));
  out.limiting = 3;
  return out;
}

rates::Expectation expect_tcp() {
  rates::Expectation out;
  out.terms = {term_of(rates::TermKind::link, "link 400 Gb/s", "eth2", "node-07", kTcp9000, "400 Gb/s x 8948 / 9038 (MTU 9000, IPv4, timestamps)")};
  out.limiting = 0;
  return out;
}

plan::Plan make_plan(Transport transport, Operation operation, Metric metric, Direction direction, std::uint64_t bytes) {
  plan::Plan out;
  out.transport = transport;
  out.operation = operation;
  out.metric = metric;
  out.direction = direction;
  out.message_bytes = bytes;
  out.verify = true;
  if (metric == Metric::latency) out.rdma.depth = 1;
  out.label = fmt::format("{} {} {} B", plan::name_of(operation), plan::name_of(metric), bytes);
  return out;
}

/// Ten intervals of 100 ms around `mean`, one of warm-up before them.
std::vector<stats::Interval> intervals(double mean_gbit_per_s, std::uint64_t message_bytes) {
  std::vector<stats::Interval> out;
  for (int i = -1; i < 10; ++i) {
    double rate = mean_gbit_per_s * (1 + 0.001 * ((i * 7) % 5 - 2));
    auto bytes = static_cast<std::uint64_t>(rate * 1e8 / 8);
    out.push_back({milliseconds(100) * i, milliseconds(100), bytes, bytes / message_bytes, i < 0});
  }
  return out;
}

stats::ThroughputSummary throughput(double mean, std::uint64_t message_bytes) {
  stats::ThroughputSummary out;
  out.bytes = static_cast<std::uint64_t>(mean * 1e9 / 8);
  out.messages = out.bytes / message_bytes;
  out.elapsed = seconds(1);
  out.mean_gbit_per_s = Value::of(mean);
  out.min_gbit_per_s = Value::of(mean * 0.998);
  out.p1_gbit_per_s = Value::missing("10 whole intervals; p1 needs 101");
  out.p5_gbit_per_s = Value::missing("10 whole intervals; p5 needs 21");
  out.median_gbit_per_s = Value::of(mean * 1.0005);
  out.max_gbit_per_s = Value::of(mean * 1.002);
  out.ci95_half_width_gbit_per_s = Value::of(mean * 0.001);
  out.messages_per_s = Value::of(static_cast<double>(out.messages));
  out.interval = milliseconds(100);
  out.whole_intervals = 10;
  out.steady = true;
  return out;
}

stats::LatencySummary latency_of(double p50_ns, double p99_ns, double max_ns) {
  stats::LatencySummary out;
  out.samples = 612345;
  out.min_ns = Value::of(p50_ns * 0.96);
  out.mean_ns = Value::of(p50_ns * 1.01);
  out.stddev_ns = Value::of(p50_ns * 0.05);
  out.p50_ns = Value::of(p50_ns);
  out.p90_ns = Value::of(p50_ns * 1.02);
  out.p99_ns = Value::of(p99_ns);
  out.p99_9_ns = Value::of(p99_ns * 1.1);
  out.p99_99_ns = Value::missing("only 61 samples beyond, of which 10 are needed on each side");
  out.max_ns = Value::of(max_ns);
  out.worst = {{milliseconds(412), nanoseconds(static_cast<std::int64_t>(max_ns))}};
  return out;
}

SideResult rdma_side(const std::string& role, const std::string& host) {
  SideResult out;
  out.role = role;
  out.host = host;
  out.placement.device = "mlx5_2";
  out.placement.port = 1;
  out.placement.gid_index = 3;
  out.placement.cpus = {32};
  out.placement.numa_node = 1;
  out.choices = {"mlx5_2 port 1: its interface eth2 holds the address of the control connection", "GID 3: RoCE v2 of that address"};
  out.settings = {{"qp_inline_bytes", "0"}};
  out.path_mtu_bytes = 4096;
  out.softirq = host::Fact<nanoseconds>::of(nanoseconds(1'200'000));
  out.threads = {{32, milliseconds(998), milliseconds(2), seconds(1), 1, 3}};
  out.threads.front().run_queue_wait = host::Fact<nanoseconds>::of(nanoseconds(740'000));
  out.counters = {{"mlx5_2/1/counters", "port_xmit_wait", host::Fact<std::uint64_t>::of(77), host::Fact<std::uint64_t>::of(77), host::Fact<std::uint64_t>::of(0), false}};
  out.drain = nanoseconds(41'000);
  return out;
}

SideResult tcp_side(const std::string& role, const std::string& host) {
  SideResult out = rdma_side(role, host);
  out.placement = {};
  out.placement.interface = "eth2";
  out.choices = {"eth2: holds the address of the control connection"};
  out.settings = {{"congestion", "cubic"}};
  out.path_mtu_bytes.reset();
  out.mss_bytes = 8948;
  out.counters = {{"eth2/statistics", "rx_missed_errors", host::Fact<std::uint64_t>::of(5), host::Fact<std::uint64_t>::missing("ENOENT"), host::Fact<std::uint64_t>::missing("ENOENT"), false}};
  out.tcp_info = {{0, milliseconds(0), {{"rtt_us", 58}, {"snd_cwnd", 198}, {"total_retrans", 7}}},
                  {0, milliseconds(1000), {{"rtt_us", 61}, {"snd_cwnd", 212}, {"total_retrans", 11}}}};
  out.tcp_info_every_intervals = 1;
  out.tcp_info_limit_instants = 100;
  return out;
}

Measurement finished(const plan::Plan& plan) {
  Measurement out;
  out.plan = plan;
  out.started_utc = kStarted;
  out.wall = milliseconds(1210);
  out.outcome = results::Outcome::done;
  bool rdma = plan.transport == Transport::rdma;
  out.sides = {rdma ? rdma_side("client", "node-07") : tcp_side("client", "node-07"), rdma ? rdma_side("server", "node-12") : tcp_side("server", "node-12")};
  if (plan.verify && rdma) out.sides[1].verification = results::Verification{1'048'576, 0, {}, {}, {}, 16, 70'458, "the last message in each slot, told from the 2 before it there"};
  if (plan.verify && !rdma)
    out.sides[1].verification = results::Verification{1'048'576, 0, {}, {}, {}, {}, {}, "one received block per interval on each stream"};
  return out;
}

Measurement bandwidth(const plan::Plan& plan, double mean, const rates::Expectation& expectation) {
  Measurement out = finished(plan);
  out.throughput = throughput(mean, plan.message_bytes);
  out.sides[0].sent = out.throughput;
  out.sides[0].sent_intervals = intervals(mean, plan.message_bytes);
  if (plan.direction == Direction::both) out.throughput_reverse = throughput(mean * 0.99, plan.message_bytes);
  out.expectation = expectation;
  return out;
}

Measurement latency(const plan::Plan& plan, double p50_ns, double p99_ns, double max_ns) {
  Measurement out = finished(plan);
  out.latency = latency_of(p50_ns, p99_ns, max_ns);
  out.latency_meaning = plan.transport == Transport::tcp || plan.operation == Operation::read ? "round trip, closed loop" : "half round trip, closed loop";
  out.sides[0].latency = out.latency;
  out.sides[0].histogram = stats::HistogramData{3, {{1583, 2}, {1599, 300111}, {1631, 312230}, {9471, 2}}};
  return out;
}

plan::Plan with_qps(plan::Plan plan, int qps) {
  plan.rdma.qps = qps;
  plan.rdma.depth = 32;
  plan.rdma.signal_every = 4;
  plan.label = fmt::format("{} {} QPs", plan.label, qps);
  return plan;
}

plan::Plan with_streams(plan::Plan plan, int streams) {
  plan.streams = plan.threads = streams;
  plan.label = fmt::format("{} {} streams", plan.label, streams);
  return plan;
}

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
  rates::Expectation small_mtu = expect_port();
  set_ports(small_mtu, kPort1024, "400 Gb/s x 65536 / (65536 + 64 x 82 + 16)");
  small_mtu.terms.push_back(term("ports with path MTU 4096 instead of 1024", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)", true));
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
