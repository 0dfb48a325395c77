#include "report/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"
#include "base/error.h"
#include "host/counters.h"
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

std::string moved_text(const SideResult& side, const CounterDelta& counter) {
  return fmt::format("{} +{} on {}", counter.name, *counter.delta, name_of(side));
}

std::optional<std::string> mismatch_text(const Measurement& measurement) {
  for (const SideResult& side : measurement.sides) {
    if (side.verification && side.verification->mismatched_bytes > 0)
      return fmt::format("data on {} is wrong: {}", name_of(side), results::mismatch_text(*side.verification));
  }
  if (measurement.error && measurement.error->kind == railgauge::name_of(ErrorKind::data)) return fmt::format("data is lost: {}", measurement.error->text);
  return std::nullopt;
}

std::optional<std::string> unverified_text(const Measurement& measurement) {
  if (!measurement.plan.verify || measurement.plan.transport != plan::Transport::rdma) return std::nullopt;
  std::string scope = "neither side says what";
  for (const SideResult& side : measurement.sides) {
    if (!side.verification) continue;
    if (side.verification->checked_bytes > 0 || starts_with(side.verification->scope, results::kNothingToCompare)) return std::nullopt;
    scope = side.verification->scope;
  }
  return fmt::format("no data was verified: {}", scope);
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
    const auto waits = longest_wait(measurement);
    const double missing_ns = (1 - *lowest / *mean) * static_cast<double>((*flow)->interval.count());
    if (waits && explains(static_cast<double>(waits->waited.count()), missing_ns)) return cause_of(*waits);
    return {fmt::format("the rate fell to {:.2f} Gbit/s{}, less than half of the mean of {:.2f}: a link that drops out hides in a mean", *lowest,
                        when_at(measurement, *lowest, (*flow)->interval), *mean),
            {"see what both hosts and the switch logged at that time (`journalctl -k | grep -i link`), then measure longer: --duration 60s"}};
  }
  return {};
}

std::optional<CpuWait> longest_wait(const Measurement& measurement) {
  // On a CPU of its own a thread waits for interrupts and housekeeping only: some tenths of a per cent.
  constexpr double kContendedShare = 0.05;
  std::optional<CpuWait> longest;
  for (const SideResult& side : measurement.sides) {
    for (const results::ThreadUsage& thread : side.threads) {
      if (!thread.run_queue_wait || thread.elapsed.count() <= 0) continue;
      const double share = static_cast<double>((*thread.run_queue_wait).count()) / static_cast<double>(thread.elapsed.count());
      if (share > (longest ? longest->share : kContendedShare)) longest = CpuWait{&side, share, *thread.run_queue_wait};
    }
  }
  return longest;
}

bool explains(double wait, double missing) {
  constexpr double kAboutAsLarge = 0.8;
  return wait >= kAboutAsLarge * missing;
}

Cause cause_of(const CpuWait& waits) {
  return {fmt::format("CPU contention: a measuring thread on {} was ready to run but had no CPU for {:.0f} % of the time", name_of(*waits.side),
                      100 * waits.share),
          {"stop what else runs on that host, or give the threads CPUs of their own (--cpu, fewer --threads and --streams)"},
          true};
}

Cause cpu_contention(const Measurement& measurement) {
  const auto waits = longest_wait(measurement);
  return waits ? cause_of(*waits) : Cause{};
}

}  // namespace railgauge::report
