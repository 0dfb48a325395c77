#include "golden/measurements.h"

#include <fmt/format.h>

namespace railgauge::golden {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;
using plan::Transport;
using results::Measurement;
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
  out.counters_read = 61;
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

}  // namespace

rates::Expectation expect_port() {
  rates::Expectation out;
  out.terms = {term_of(rates::TermKind::link, "port 400 Gb/s (4X NDR)", "mlx5_2", "node-07", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)"),
               term_of(rates::TermKind::link, "port 400 Gb/s (4X NDR)", "mlx5_2", "node-12", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)"),
               term_of(rates::TermKind::pcie, "PCIe 32 GT/s x16", "0000:41:00.0", "node-07", kPcieGen5, "16 x 31.508 Gb/s x 256 / (256 + 24)")};
  out.limiting = 0;
  return out;
}

void set_ports(rates::Expectation& expectation, double gbit_per_s, const char* formula) {
  for (std::size_t i : {0U, 1U}) {
    expectation.terms[i].gbit_per_s = gbit_per_s;
    expectation.terms[i].formula = formula;
  }
}

rates::Expectation expect_small_mtu() {
  rates::Expectation out = expect_port();
  set_ports(out, kPort1024, "400 Gb/s x 65536 / (65536 + 64 x 82 + 16)");
  out.terms.push_back(term("ports with path MTU 4096 instead of 1024", kPort4096, "400 Gb/s x 65536 / (65536 + 16 x 82 + 16)", true));
  return out;
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

}  // namespace railgauge::golden
