#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/cause.h"
#include "report/pressure.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using results::SideResult;

/// Retransmissions of all streams of the sending side in the window: each stream's last TCP_INFO less its first.
std::uint64_t tcp_retransmissions(const Measurement& measurement) {
  std::uint64_t most = 0;
  for (const SideResult& side : measurement.sides) {
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> ends;
    for (const auto& sample : side.tcp_info)
      if (auto found = sample.fields.find("total_retrans"); found != sample.fields.end())
        ends.try_emplace(sample.stream, found->second, found->second).first->second.second = found->second;
    std::uint64_t sum = 0;
    for (const auto& [stream, counts] : ends) sum += counts.second - std::min(counts.first, counts.second);
    most = std::max(most, sum);
  }
  return most;
}

Cause cause_of(const PressureFound& found) {
  const std::string moved = moved_text(*found.side, *found.counter);
  const std::string share = fmt::format("{} {:.0f} % of the time", found.exactness, 100 * found.share);
  switch (found.by) {
    case Pressure::host:
      return {fmt::format("bound by the host: {} (it told the network to wait, or waited for PCIe, {})", moved, share),
              {"check NUMA placement, PCIe MaxReadReq, ACS and IOMMU on that host"}};
    case Pressure::fabric:
      return {fmt::format("bound by the fabric: {} (congestion or a slow receiver, {})", moved, share),
              {"look for other traffic on the path, and at PFC and ECN settings of the switch"}};
    case Pressure::receiver:
      return {fmt::format("bound by the receiver: {} (it had no receive posted: software, not the link, {})", moved, share),
              {"look at the CPU load of the receiving host, and post more receives there: a larger --depth"}};
    case Pressure::loss: break;
  }
  return {fmt::format("lossy path: {} (repeats and waits, {})", moved, share),
          {"look at the counters of drops and pauses on every switch port of the path, and at the MTU on both ends",
           "RoCE needs a network without loss: PFC on the same priority, and ECN, on both ends and on the switches"}};
}

/// The side that says what held TCP back; a receiver can only say "cpu", and then its sender's word is a consequence. Null: none does.
const SideResult* limited_side(const Measurement& measurement) {
  const SideResult* limited = nullptr;
  for (const SideResult& side : measurement.sides)
    if (!side.limiter.empty() && (!limited || (side.limiter == "cpu" && limited->limiter != "cpu"))) limited = &side;
  return limited;
}

/// The largest part of its time that one of the side's threads ran; empty where it is not known.
std::string busy_words(const SideResult& side) {
  double busiest = 0;
  for (const results::ThreadUsage& thread : side.threads)
    if (thread.elapsed.count() > 0)
      busiest = std::max(busiest, static_cast<double>((thread.user + thread.system).count()) / static_cast<double>(thread.elapsed.count()));
  return busiest > 0 ? fmt::format(" (a measuring thread on {} was busy {:.0f} % of the time)", side.host, 100 * busiest) : std::string();
}

/// A buffer that was too small, whoever chose its size.
Cause cause_in_buffer(const std::string& name, const char* remedy, const std::optional<std::uint64_t>& asked_bytes) {
  if (!asked_bytes) return {"limited by the " + name, {remedy}, true};
  return {fmt::format("limited by the {}, which --window {} set", name, format_size(*asked_bytes)), {"use a larger --window, or leave it to the kernel"}, true};
}

/// What TCP itself was waiting for most of the time, and what moves it (tcp_info busy, rwnd_limited, sndbuf_limited times).
Cause tcp_limiter(const Measurement& measurement) {
  const SideResult* side = limited_side(measurement);
  if (!side || measurement.plan.transport != plan::Transport::tcp) return {};
  const auto& asked = measurement.plan.tcp.window_bytes;
  if (side->limiter == "cpu")
    return {"limited by CPU" + busy_words(*side), {"use more --threads and --streams, or place them on the NIC's NUMA node with --cpu"}, true};
  if (side->limiter == "receive window") return cause_in_buffer("receive window", "raise net.ipv4.tcp_rmem on the receiver, or --window", asked);
  if (side->limiter == "send buffer") return cause_in_buffer("send buffer", "raise net.ipv4.tcp_wmem on the sender, or --window", asked);
  if (side->limiter == "network")
    return {"limited by the network (congestion window)", {"look for loss and competing traffic; compare --congestion bbr and cubic"}};
  if (side->limiter == "pacing") return {"limited by pacing, as asked", {}};
  return {};
}

/// What an RDMA stream has in flight, all QPs together.
struct InFlight {
  double bytes;
  std::string words;  ///< "2 QPs x 8 x 64 KiB"
};

InFlight in_flight(const plan::Plan& plan) {
  const int qps = plan::total_qps(plan);
  return {static_cast<double>(plan.message_bytes) * plan.rdma.depth * qps,
          fmt::format("{}{} x {}", qps == 1 ? "" : fmt::format("{} QPs x ", qps), plan.rdma.depth, format_size(plan.message_bytes))};
}

std::string time_words(double ns) { return format_duration(results::nanoseconds(static_cast<std::int64_t>(ns))); }

/// The shortest round trip that an RDMA latency of the record saw; of an acknowledged message a ping-pong's half is one way.
std::optional<double> round_trip_ns(const Record& record) {
  std::optional<double> shortest;
  for (const Measurement& m : record.measurements) {
    if (m.plan.transport != plan::Transport::rdma || m.plan.under_load || !m.latency || !m.latency->p50_ns.value) continue;
    const double whole = *m.latency->p50_ns.value * (m.latency_meaning.rfind("half", 0) == 0 ? 2 : 1);
    shortest = std::min(shortest.value_or(whole), whole);
  }
  return shortest;
}

/// Little's law: what is in flight, once per round trip.
Cause cause_in_depth(const Measurement& measurement, const Record& record, double expected_gbit_per_s) {
  const auto round_trip = round_trip_ns(record);
  if (measurement.plan.transport != plan::Transport::rdma || !round_trip) return {};
  const InFlight queue = in_flight(measurement.plan);
  const double most = 8 * queue.bytes / *round_trip;
  if (most >= expected_gbit_per_s) return {};
  return {fmt::format("bound by --depth: {} in flight over a round trip of {} are {:.2f} Gbit/s at most", queue.words, time_words(*round_trip), most),
          {"use a larger --depth, or more --qps"}};
}

/// Where no counter names the cause.
std::string next_steps(const Measurement& measurement, double expected_gbit_per_s) {
  std::string text = "check CPU frequency and NUMA placement of both ends, then --depth and --qps";
  if (measurement.plan.transport != plan::Transport::rdma || !(expected_gbit_per_s > 0)) return text;
  const InFlight queue = in_flight(measurement.plan);
  return text + fmt::format(": {} in flight fill {:.1f} Gbit/s over a round trip of {} at most", queue.words, expected_gbit_per_s,
                            time_words(8 * queue.bytes / expected_gbit_per_s));
}

/// The slower direction.
std::optional<double> slowest_mean(const Measurement& measurement) {
  std::optional<double> slowest;
  for (const auto* flow : {&measurement.throughput, &measurement.throughput_reverse})
    if (*flow && (*flow)->mean_gbit_per_s.value) slowest = std::min(slowest.value_or(*(*flow)->mean_gbit_per_s.value), *(*flow)->mean_gbit_per_s.value);
  return slowest;
}

/// On one host both sides may still have a port each.
bool one_port(const Measurement& measurement) {
  const SideResult* client = results::side_of(measurement, "client");
  const SideResult* server = results::side_of(measurement, "server");
  return client && server && client->placement.device && client->placement.device == server->placement.device &&
         client->placement.port == server->placement.port;
}

/// By what was counted while it ran.
Cause cause_of_counters(const Measurement& measurement, const Record& record, double expected_gbit_per_s) {
  const auto pressure = heaviest_pressure(measurement);
  Cause limited = tcp_limiter(measurement);
  // A host that does not keep up with its own streams pauses and drops as well.
  if (pressure && pressure->share >= kCauseShare && !limited.of_the_measuring) return cause_of(*pressure);
  if (measurement.plan.transport == plan::Transport::tcp) {
    const std::uint64_t retransmissions = tcp_retransmissions(measurement);
    if (retransmissions > 0) limited.sentence += fmt::format("{}{} TCP retransmissions", limited.sentence.empty() ? "" : "; ", retransmissions);
    if (!limited.sentence.empty()) return limited;
  }
  if (Cause cause = cause_in_depth(measurement, record, expected_gbit_per_s); !cause.sentence.empty()) return cause;
  const std::string steps = next_steps(measurement, expected_gbit_per_s);
  if (pressure)
    return {fmt::format("what moved does not explain it: {}, under {:.0f} % of the time", moved_text(*pressure->side, *pressure->counter), 100 * kCauseShare),
            {steps}};
  const bool counted = std::any_of(measurement.sides.begin(), measurement.sides.end(),
                                   [](const SideResult& side) { return side.counters_read || !side.counters.empty(); });
  return {counted ? "no counter of loss, pause or congestion moved" : "no counters could be read", {steps}};
}

}  // namespace

Cause cause_of_low_bandwidth(const Measurement& measurement, const Record& record, std::optional<double> expected_gbit_per_s) {
  if (Cause cause = cause_in_port_rate(measurement, record); !cause.sentence.empty()) return cause;
  if (record.same_host && measurement.plan.transport == plan::Transport::rdma && measurement.plan.direction == plan::Direction::both && one_port(measurement))
    return {"both ends are on one host: the two directions share its port", {}};
  const double expected = expected_gbit_per_s.value_or(measurement.expectation.gbit_per_s().value_or(0));
  const double missing = expected > 0 ? 1 - slowest_mean(measurement).value_or(0) / expected : 1;
  const auto waits = longest_wait(measurement);
  // Before the counters: a thread without a CPU looks like a slow receiver to the network.
  if (waits && explains(waits->share, missing)) return cause_of(*waits);
  Cause cause = cause_in_bond(measurement, record);
  if (cause.sentence.empty()) cause = cause_of_counters(measurement, record, expected);
  if (waits) {
    Cause beside = cause_of(*waits);
    cause.sentence += "; beside it " + beside.sentence;
    cause.remedies.insert(cause.remedies.end(), beside.remedies.begin(), beside.remedies.end());
  }
  return cause;
}

}  // namespace railgauge::report
