#include "report/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/units.h"
#include "host/counters.h"
#include "report/pressure.h"
#include "stats/summary.h"

namespace railgauge::report {
namespace {

using results::CounterDelta;
using results::Measurement;
using results::Record;
using results::SideResult;

bool moved(const CounterDelta& counter) { return counter.delta && *counter.delta > 0; }

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Damage on a lane or contact, in whatever words the counter's source uses.
bool is_physical(std::string_view name) {
  return contains(name, "symbol") || contains(name, "carrier") || contains(name, "signal_integrity");
}

const std::string& name_of(const SideResult& side) { return side.host.empty() ? side.role : side.host; }

/// "mlx5_2/1 on node-07"
std::string port_name(const SideResult& side) {
  if (!side.placement.device) return name_of(side);
  return fmt::format("{}/{} on {}", *side.placement.device, side.placement.port.value_or(1), name_of(side));
}

std::string moved_text(const SideResult& side, const CounterDelta& counter) {
  return fmt::format("{} +{} on {}", counter.name, *counter.delta, name_of(side));
}

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

constexpr const char* kNothingMoved = "check CPU frequency and NUMA placement of both ends, then --depth and --qps";

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
    case Pressure::loss: break;
  }
  return {fmt::format("lossy path: {} (repeats and waits, {})", moved, share),
          {"look at drops on the switch ports, and at MTU and flow control on both ends"}};
}

/// What TCP itself was waiting for most of the time, and what moves it (tcp_info busy, rwnd_limited, sndbuf_limited times).
Cause tcp_limiter(const std::string& limiter) {
  if (limiter == "cpu")
    return {"limited by CPU: a measuring thread was busy all the time",
            {"use more --threads and --streams, or place them on the NIC's NUMA node with --cpu"}};
  if (limiter == "receive window") return {"limited by the receive window", {"raise net.ipv4.tcp_rmem on the receiver, or --window"}};
  if (limiter == "send buffer") return {"limited by the send buffer", {"raise net.ipv4.tcp_wmem on the sender, or --window"}};
  if (limiter == "network")
    return {"limited by the network (congestion window)", {"look for loss and competing traffic; compare --congestion bbr and cubic"}};
  if (limiter == "pacing") return {"limited by pacing, as asked", {}};
  return {};
}

std::string limiter_of(const Measurement& measurement) {
  for (const SideResult& side : measurement.sides)
    if (!side.limiter.empty()) return side.limiter;
  return {};
}

/// Of the whole interval that moved at `gbit_per_s`: " in the 100 ms from 3.40 s on"; empty where the series is not there.
std::string when_at(const Measurement& measurement, double gbit_per_s, results::nanoseconds nominal) {
  for (const SideResult& side : measurement.sides)
    for (const auto* series : {&side.received_intervals, &side.sent_intervals})
      for (const stats::Interval& interval : *series)
        if (!interval.warm_up && interval.length.count() > 0 && 2 * interval.length >= nominal &&
            std::fabs(railgauge::gbit_per_s(interval.bytes, interval.length) - gbit_per_s) <= 1e-9 * gbit_per_s)
          return fmt::format(" in the {} from {} on", format_duration(interval.length), format_duration(interval.begin));
  return {};
}

/// A port that went down, came up or changed its speed while it was measured (field case F60), whatever its counters show.
LinkState state_by_events(const Measurement& measurement) {
  LinkState state;
  for (const SideResult& side : measurement.sides) {
    std::string said;
    for (const std::string& event : side.events)
      if (is_port_event(event)) said += (said.empty() ? "" : ", ") + event;
    if (said.empty()) continue;
    std::string& sentence = state.cause.sentence;
    state.cleanliness = Cleanliness::dirty;
    sentence += fmt::format("{}the link of {} changed during the run: {}", sentence.empty() ? "" : "; ", port_name(side), said);
    state.cause.remedies = {host::meaning_of("link_downed")->remedy};
  }
  return state;
}

}  // namespace

std::optional<std::string> mismatch_text(const Measurement& measurement) {
  for (const SideResult& side : measurement.sides) {
    if (side.verification && side.verification->mismatched_bytes > 0)
      return fmt::format("data on {} is wrong: {}", name_of(side), results::mismatch_text(*side.verification));
  }
  return std::nullopt;
}

bool is_port_event(std::string_view event) {
  return starts_with(event, "PORT_ERR") || starts_with(event, "PORT_ACTIVE") || starts_with(event, "DEVICE_SPEED_CHANGE");
}

LinkState link_state(const Measurement& measurement) {
  LinkState worst = state_by_events(measurement);
  for (const SideResult& side : measurement.sides) {
    for (const CounterDelta& counter : side.counters) {
      if (!moved(counter)) continue;
      auto meaning = host::meaning_of(counter.name);
      if (!meaning) continue;
      Cleanliness state = Cleanliness::clean;
      if (meaning->severity == host::CounterSeverity::hard_fail) state = Cleanliness::dirty;
      if (meaning->severity == host::CounterSeverity::soft_fail) {
        state = is_physical(counter.name) ? Cleanliness::dirty : Cleanliness::suspicious;
        // TCP expects some loss and repairs it; only RDMA is meant to run on a lossless fabric.
        if (state == Cleanliness::suspicious && measurement.plan.transport == plan::Transport::tcp) state = Cleanliness::clean;
      }
      if (state <= worst.cleanliness) continue;
      worst = {state, {fmt::format("{}: {}", moved_text(side, counter), meaning->sentence), {}}};
      if (!meaning->remedy.empty()) worst.cause.remedies = {meaning->remedy};
    }
  }
  return worst;
}

Cause cause_of_dropout(const Measurement& measurement) {
  // Whole intervals of a healthy link lie within some per cent of each other, with congestion within tens. One below half of the mean
  // is a link that was away for half of it, or that lost half of its lanes. Fewer intervals than the steadiness test has say too little.
  constexpr double kDropoutShare = 0.5;
  for (const auto* flow : {&measurement.throughput, &measurement.throughput_reverse}) {
    if (!*flow || (*flow)->whole_intervals < stats::kSteadyIntervals) continue;
    const auto& mean = (*flow)->mean_gbit_per_s.value;
    const auto& lowest = (*flow)->min_gbit_per_s.value;
    if (!mean || !lowest || *lowest >= kDropoutShare * *mean) continue;
    return {fmt::format("the rate fell to {:.2f} Gbit/s{}, less than half of the mean of {:.2f}: a link that drops out hides in a mean", *lowest,
                        when_at(measurement, *lowest, (*flow)->interval), *mean),
            {"see what both hosts and the switch logged at that time (`journalctl -k | grep -i link`), then measure longer: --duration 60s"}};
  }
  return {};
}

Cause cpu_contention(const Measurement& measurement) {
  // On a CPU of its own a thread waits for interrupts and housekeeping only: some tenths of a per cent.
  constexpr double kContendedShare = 0.05;
  double worst = kContendedShare;
  const SideResult* where = nullptr;
  for (const SideResult& side : measurement.sides) {
    for (const results::ThreadUsage& thread : side.threads) {
      if (!thread.run_queue_wait || thread.elapsed.count() <= 0) continue;
      const double share = static_cast<double>((*thread.run_queue_wait).count()) / static_cast<double>(thread.elapsed.count());
      if (share <= worst) continue;
      worst = share;
      where = &side;
    }
  }
  if (where == nullptr) return {};
  return {fmt::format("CPU contention: a measuring thread on {} was ready to run but had no CPU for {:.0f} % of the time",
                      name_of(*where), 100 * worst),
          {"stop what else runs on that host, or give the threads CPUs of their own (--cpu, fewer --threads and --streams)"}};
}

/// On one host both sides may still have a port each.
bool one_port(const Measurement& measurement) {
  const SideResult* client = results::side_of(measurement, "client");
  const SideResult* server = results::side_of(measurement, "server");
  return client && server && client->placement.device && client->placement.device == server->placement.device &&
         client->placement.port == server->placement.port;
}

Cause cause_of_low_bandwidth(const Measurement& measurement, const Record& record) {
  if (Cause cause = cause_in_port_rate(measurement, record); !cause.sentence.empty()) return cause;
  if (record.same_host && measurement.plan.transport == plan::Transport::rdma && measurement.plan.direction == plan::Direction::both && one_port(measurement))
    return {"both ends are on one host: the two directions share its port", {}};
  // Before the counters: a thread without a CPU looks like a slow receiver to the network.
  if (Cause cause = cpu_contention(measurement); !cause.sentence.empty()) return cause;
  const auto pressure = heaviest_pressure(measurement);
  if (pressure && pressure->share >= kCauseShare) return cause_of(*pressure);
  if (measurement.plan.transport == plan::Transport::tcp) {
    std::uint64_t retransmissions = tcp_retransmissions(measurement);
    Cause cause = tcp_limiter(limiter_of(measurement));
    if (retransmissions > 0) cause.sentence += fmt::format("{}{} TCP retransmissions", cause.sentence.empty() ? "" : "; ", retransmissions);
    if (!cause.sentence.empty()) return cause;
  }
  if (pressure)
    return {fmt::format("what moved does not explain it: {}, under {:.0f} % of the time", moved_text(*pressure->side, *pressure->counter), 100 * kCauseShare),
            {kNothingMoved}};
  bool counted = std::any_of(measurement.sides.begin(), measurement.sides.end(), [](const SideResult& side) { return !side.counters.empty(); });
  return {counted ? "no counter of loss, pause or congestion moved" : "no counters could be read", {kNothingMoved}};
}

}  // namespace railgauge::report
