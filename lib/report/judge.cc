#include "report/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/units.h"
#include "report/cause.h"
#include "stats/summary.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::Verdict;
using results::VerdictWord;

/// No published run of a healthy link shows one QP below 55 % of it (nccl-facts.md 4.2: 55 to 71 % of 400G); less than half
/// is not explained by there being one QP.
constexpr double kOneQpFloor = 0.50;
/// A bandwidth or rate measured for a second is long enough: below it, cold start and one-off stalls weigh in the figure
/// (field case F85: perftest runs of under 1 s read far below the link; the default window is 1 s).
/// A tenth less, since a window of a second may end a little early.
constexpr std::chrono::milliseconds kLongEnough{900};
/// Own choice: a shorter one may still be judged by its steadiness. The windows of `check --quick` are 300 ms.
constexpr std::chrono::milliseconds kShortest{250};
/// A tail this far from the median is worth a sentence: C-states and frequency steps show as 5 to 50 times the median.
constexpr double kLongTail = 5.0;

bool any_side(const Measurement& measurement, bool results::SideResult::* flag) {
  return std::any_of(measurement.sides.begin(), measurement.sides.end(), [&](const results::SideResult& side) { return side.*flag; });
}

/// Its counters pass no verdict on a cable.
bool software_only(const Measurement& measurement) {
  return any_side(measurement, &results::SideResult::software_device) && !any_side(measurement, &results::SideResult::simulated);
}

Verdict& say(Verdict& verdict, VerdictWord word, std::string cause) {
  verdict.word = word;
  verdict.cause = std::move(cause);
  return verdict;
}

Verdict& say_too_short(Verdict& verdict, std::string cause) {
  say(verdict, VerdictWord::inconclusive, std::move(cause));
  verdict.remedies.emplace_back("measure longer: --duration 1s, or more --iterations");
  return verdict;
}

void add_cause(Verdict& verdict, const Cause& cause) {
  if (!cause.sentence.empty()) verdict.cause += (verdict.cause.empty() ? "" : "; ") + cause.sentence;
  verdict.remedies.insert(verdict.remedies.end(), cause.remedies.begin(), cause.remedies.end());
}

/// What a run too short to judge says; nothing for one that is long enough. A second is long enough; a shorter one is where its
/// plan gave it a series for the steady-state test, or it came to one by count (`steady` is absent otherwise).
std::optional<std::string> too_short(const plan::Plan& plan, const stats::ThroughputSummary& throughput) {
  if (throughput.elapsed >= kLongEnough) return std::nullopt;
  const bool planned = !plan.iterations && plan.duration >= static_cast<std::int64_t>(stats::kSteadyIntervals) * plan.interval;
  if (throughput.elapsed >= kShortest && (planned || throughput.steady)) return std::nullopt;
  std::string intervals = throughput.steady || throughput.steady_reason.empty() ? std::string() : fmt::format(" ({})", throughput.steady_reason);
  return fmt::format("run too short: {} measured{}", format_duration(throughput.elapsed), intervals);
}

/// The direction that says least: for `both`, each is judged against the expectation of one direction.
const stats::ThroughputSummary* judged_throughput(const Measurement& measurement) {
  if (!measurement.throughput) return nullptr;
  const stats::ThroughputSummary* forth = &*measurement.throughput;
  if (!measurement.throughput_reverse) return forth;
  const stats::ThroughputSummary* back = &*measurement.throughput_reverse;
  if (!forth->mean_gbit_per_s.value || !back->mean_gbit_per_s.value) return forth->mean_gbit_per_s.value ? back : forth;
  return *back->mean_gbit_per_s.value < *forth->mean_gbit_per_s.value ? back : forth;
}

/// Outcomes that leave nothing to compare; true when the verdict is final.
bool judge_outcome(const Measurement& measurement, Verdict& verdict) {
  if (auto mismatch = mismatch_text(measurement)) {
    say(verdict, VerdictWord::failed, *mismatch);
    verdict.remedies.emplace_back("do not use this path: run again with --verify, then with another cable, port or host memory");
    return true;
  }
  std::string reason = measurement.reason;
  if (reason.empty() && measurement.error) reason = measurement.error->text;
  switch (measurement.outcome) {
    case Outcome::skipped: say(verdict, VerdictWord::skipped, reason); return true;
    case Outcome::failed:
      say(verdict, VerdictWord::failed, fmt::format("not measured: {}", reason));
      if (!measurement.error) add_cause(verdict, cpu_contention(measurement));  // nothing broke, and yet nothing was counted
      return true;
    case Outcome::partial: say(verdict, VerdictWord::inconclusive, fmt::format("stopped on the way: {}", reason)); return true;
    case Outcome::done: break;
  }
  if (auto gap = unverified_text(measurement)) {
    say(verdict, VerdictWord::inconclusive, *gap);
    return true;
  }
  return false;
}

/// The user's limits on median and 99th percentile.
void judge_allowed_latency(const stats::LatencySummary& latency, const Thresholds& thresholds, Verdict& verdict) {
  if (!thresholds.allowed_p50_us && !thresholds.allowed_p99_us) return;
  verdict.criterion = "user";
  say(verdict, VerdictWord::met, "");
  const double p50_us = *verdict.observed;
  if (thresholds.allowed_p50_us) {
    verdict.expected = thresholds.allowed_p50_us;
    verdict.fraction = p50_us / *thresholds.allowed_p50_us;
    if (p50_us > *thresholds.allowed_p50_us)
      say(verdict, VerdictWord::below, fmt::format("median {:.2f} us is above the {:.2f} us allowed", p50_us, *thresholds.allowed_p50_us));
  }
  if (!thresholds.allowed_p99_us || verdict.word != VerdictWord::met) return;
  if (!latency.p99_ns.value) {
    say_too_short(verdict, fmt::format("run too short: no 99th percentile: {}", latency.p99_ns.reason));
    return;
  }
  verdict.observed = *latency.p99_ns.value / 1000;
  verdict.expected = thresholds.allowed_p99_us;
  verdict.fraction = *verdict.observed / *verdict.expected;
  if (*verdict.observed > *verdict.expected)
    say(verdict, VerdictWord::below, fmt::format("99th percentile {:.2f} us is above the {:.2f} us allowed", *verdict.observed, *verdict.expected));
}

Verdict judge_latency(const Measurement& measurement, const Thresholds& thresholds, Verdict verdict) {
  verdict.unit = "us";
  if (!measurement.latency || !measurement.latency->p50_ns.value) {
    // Nobody asked for a limit: too few samples withhold a percentile, they do not spoil the run.
    bool asked = thresholds.allowed_p50_us || thresholds.allowed_p99_us;
    bool counted = measurement.latency && measurement.latency->samples > 0;
    std::string reason = measurement.latency ? measurement.latency->p50_ns.reason : "no latency was measured";
    if (!asked && counted) return say(verdict, VerdictWord::no_criterion, reason);
    return counted ? say_too_short(verdict, "run too short: " + reason) : say(verdict, VerdictWord::inconclusive, reason);
  }
  const stats::LatencySummary& latency = *measurement.latency;
  verdict.observed = *latency.p50_ns.value / 1000;
  say(verdict, VerdictWord::no_criterion, "");
  judge_allowed_latency(latency, thresholds, verdict);
  if (latency.p99_ns.value && *latency.p50_ns.value > 0 && *latency.p99_ns.value > kLongTail * *latency.p50_ns.value)
    add_cause(verdict, {fmt::format("long tail: the 99th percentile is {:.0f} times the median", *latency.p99_ns.value / *latency.p50_ns.value),
                        {"look at C-states, frequency governor and other load on the measuring CPUs"}});
  add_cause(verdict, cpu_contention(measurement));
  return verdict;
}

/// The words when there is a fraction, before steadiness and cleanliness are looked at.
VerdictWord word_of(double fraction, const Thresholds& thresholds) {
  if (fraction >= thresholds.met_fraction) return VerdictWord::met;
  return fraction >= thresholds.below_fraction ? VerdictWord::marginal : VerdictWord::below;
}

/// Below by more than the noise explains, so that an unsteady run need not be repeated to know it.
bool is_clearly_below(const stats::ThroughputSummary& throughput, double expected, const Thresholds& thresholds) {
  double half_width = throughput.ci95_half_width_gbit_per_s.value.value_or(0.1 * expected);
  return *throughput.mean_gbit_per_s.value + half_width < thresholds.below_fraction * expected;
}

/// A user's limit that is met by more than the noise explains, likewise: in every whole interval, or by the mean less its half width.
bool is_clearly_met(const stats::ThroughputSummary& throughput, double required) {
  double half_width = throughput.ci95_half_width_gbit_per_s.value.value_or(0.1 * required);
  return throughput.min_gbit_per_s.value.value_or(0) >= required || *throughput.mean_gbit_per_s.value - half_width >= required;
}

/// What unsteadiness leaves open.
bool is_decided(const stats::ThroughputSummary& throughput, const Thresholds& thresholds, const Verdict& verdict) {
  if (verdict.word == VerdictWord::below) return is_clearly_below(throughput, *verdict.expected, thresholds);
  return verdict.criterion == "user" && is_clearly_met(throughput, *verdict.expected);
}

/// One TCP stream without a user's limit is not judged at all.
bool is_one_stream(const Measurement& measurement, const Verdict& verdict) {
  return measurement.plan.transport == plan::Transport::tcp && measurement.plan.streams == 1 && verdict.criterion != "user";
}

/// Observed over the most that the path can carry: few flows over a bond may do better than is safe to expect.
double share_of_most(const Measurement& measurement, const Verdict& verdict) {
  return *verdict.observed / measurement.expectation.at_most_gbit_per_s().value_or(*verdict.expected);
}

/// One QP or one TCP stream that falls short says nothing about the link.
bool excuse_one_flow(const Measurement& measurement, const Record& record, Verdict& verdict) {
  const plan::Plan& plan = measurement.plan;
  if (verdict.criterion == "user") return false;
  if (is_one_stream(measurement, verdict)) {
    Cause cause = verdict.word == VerdictWord::met ? Cause{} : cause_of_low_bandwidth(measurement, record);
    verdict.criterion = "none";
    say(verdict, VerdictWord::no_criterion, "one TCP stream is no measure of the link: several streams are judged");
    add_cause(verdict, {cause.sentence, {}});
    return true;
  }
  bool one_qp = plan.transport == plan::Transport::rdma && plan.rdma.qps * plan.threads == 1;
  if (!one_qp || (verdict.word != VerdictWord::below && verdict.word != VerdictWord::marginal) || *verdict.fraction < kOneQpFloor) return false;
  verdict.criterion = "none";
  say(verdict, VerdictWord::no_criterion, "one QP alone may reach only 55 to 71 % of a fast link: several QPs (--qps 8) are judged");
  return true;
}

/// A host that did not keep up with its own measuring says nothing of the link. RDMA is to be measured again; TCP needs so much of a
/// host that it is no criterion beside RDMA. What the user asked for is missed all the same.
bool excuse_measuring(const Measurement& measurement, const Cause& cause, Verdict& verdict) {
  if (!cause.of_the_measuring || verdict.criterion == "user") return false;
  const bool tcp = measurement.plan.transport == plan::Transport::tcp;
  if (tcp) verdict.criterion = "none";
  say(verdict, tcp ? VerdictWord::no_criterion : VerdictWord::inconclusive, cause.sentence + ": this says nothing of the link");
  verdict.remedies = cause.remedies;
  return true;
}

void judge_fraction(const Measurement& measurement, const Record& record, const Thresholds& thresholds, Verdict& verdict) {
  const stats::ThroughputSummary& throughput = *judged_throughput(measurement);
  verdict.word = word_of(*verdict.fraction, thresholds);
  if (auto why = too_short(measurement.plan, throughput); why && !is_one_stream(measurement, verdict)) {
    say_too_short(verdict, *why);
    return;
  }
  if (verdict.criterion != "user" && share_of_most(measurement, verdict) > thresholds.above_fraction) {
    const double percent = 100 * share_of_most(measurement, verdict);
    say(verdict, VerdictWord::inconclusive,
        measurement.expectation.is_as_asked()
            ? fmt::format("{:.1f} % of the limit asked for, which was not kept: the figure says nothing of the link", percent)
            : fmt::format("{:.1f} % of what the link can carry: the traffic took another path, or the link rate or MTU is not what the host says", percent));
    add_cause(verdict, cause_in_bond_name(measurement, record));
    return;
  }
  if (excuse_one_flow(measurement, record, verdict)) return;
  const Cause missing = verdict.word == VerdictWord::met ? Cause{} : cause_of_low_bandwidth(measurement, record, verdict.expected);
  if (excuse_measuring(measurement, missing, verdict)) return;
  if (throughput.steady == false && !is_decided(throughput, thresholds, verdict)) {
    say(verdict, VerdictWord::inconclusive, fmt::format("not steady: {}", throughput.steady_reason));
    add_cause(verdict, cpu_contention(measurement));
    verdict.remedies.emplace_back("measure longer (--thorough, --duration 10s) on otherwise idle hosts");
    return;
  }
  add_cause(verdict, verdict.word == VerdictWord::met ? cause_in_bond(measurement, record) : missing);
  add_cause(verdict, cause_of_low_expectation(measurement, record));
}

Verdict judge_bandwidth(const Measurement& measurement, const Record& record, const Thresholds& thresholds, Verdict verdict) {
  const stats::ThroughputSummary* throughput = judged_throughput(measurement);
  if (!throughput || !throughput->mean_gbit_per_s.value)
    return say(verdict, VerdictWord::inconclusive, throughput ? throughput->mean_gbit_per_s.reason : "no bandwidth was measured");
  verdict.observed = throughput->mean_gbit_per_s.value;
  if (thresholds.required_gbit_per_s) {
    verdict.criterion = "user";
    verdict.expected = thresholds.required_gbit_per_s;
  } else if (software_only(measurement)) {
    return say(verdict, VerdictWord::no_criterion, "software device: no hardware verdict");
  } else if (record.same_host && !any_side(measurement, &results::SideResult::simulated)) {
    return say(verdict, VerdictWord::no_criterion, "both ends are on one host: loopback says nothing about a link");
  } else if (!measurement.expectation.gbit_per_s()) {
    const std::string& reason = measurement.expectation.reason;
    say(verdict, VerdictWord::no_criterion, reason.empty() ? "no expectation could be computed" : reason);
    verdict.remedies.emplace_back("name what the link carries: --link-gbps 100");
    return verdict;
  } else {
    verdict.criterion = any_side(measurement, &results::SideResult::simulated) ? "simulated" : "computed";
    verdict.expected = measurement.expectation.gbit_per_s();
  }
  if (!(*verdict.expected > 0)) return say(verdict, VerdictWord::no_criterion, "the expectation is not a positive rate");
  verdict.fraction = *verdict.observed / *verdict.expected;
  if (verdict.criterion != "user" && measurement.expectation.wire_limit_only && share_of_most(measurement, verdict) <= thresholds.above_fraction) {
    verdict.criterion = "none";
    return say(verdict, VerdictWord::no_criterion, "the wire is only an upper bound here: the NIC's message rate binds first");
  }
  Thresholds exact = thresholds;
  if (thresholds.required_gbit_per_s) exact.met_fraction = exact.below_fraction = 1.0;
  judge_fraction(measurement, record, exact, verdict);
  return verdict;
}

void at_best_marginal(Verdict& verdict) {
  if (verdict.word != VerdictWord::met) return;
  verdict.word = VerdictWord::marginal;
  verdict.cause.clear();
}

/// RoCE that is not routable is at best marginal, however fast: behind another switch the same hosts do not connect (field
/// case F28). Where they did not, it is the likely reason.
void judge_gids(const Measurement& measurement, const Record& record, Verdict& verdict) {
  if (measurement.plan.transport != plan::Transport::rdma) return;
  Cause cause = cause_in_gids(measurement, record);
  if (cause.sentence.empty()) return;
  if (measurement.plan.metric != plan::Metric::latency) at_best_marginal(verdict);
  cause.sentence += measurement.outcome == Outcome::done ? ": not routed, not ECN-marked" : ": not routed, so another switch or subnet may drop it";
  add_cause(verdict, cause);
}

/// "Fast but dirty" fails whatever the bandwidth says, and a dirty link is why a run broke off; loss on a lossless fabric cannot be
/// better than marginal. Only wrong data is worse than both.
void judge_cleanliness(const Measurement& measurement, Verdict& verdict) {
  LinkState state = link_state(measurement);
  if (state.cleanliness == Cleanliness::clean) return;
  if (mismatch_text(measurement)) return add_cause(verdict, state.cause);
  if (software_only(measurement)) return add_cause(verdict, {state.cause.sentence, {}});  // loss on the path, but no verdict on a cable
  if (state.cleanliness == Cleanliness::dirty) {
    const bool fast = verdict.word == VerdictWord::met || verdict.word == VerdictWord::marginal;
    Cause why_unfinished;
    if (measurement.outcome != Outcome::done) why_unfinished = {verdict.cause, verdict.remedies};
    say(verdict, VerdictWord::failed, fmt::format("{}{}", fast ? "fast but dirty: " : "dirty link: ", state.cause.sentence));
    verdict.remedies = state.cause.remedies;
    return add_cause(verdict, why_unfinished);
  }
  at_best_marginal(verdict);
  add_cause(verdict, state.cause);
}

/// A mean that is met does not excuse a link that was away in between. What no link limits has none.
void judge_dropout(const Measurement& measurement, Verdict& verdict) {
  if (verdict.criterion == "none" || software_only(measurement) || any_side(measurement, &results::SideResult::simulated)) return;
  const Cause cause = cause_of_dropout(measurement);
  if (cause.sentence.empty() || verdict.cause.find(cause.sentence) != std::string::npos) return;
  const bool good = verdict.word == VerdictWord::met || verdict.word == VerdictWord::marginal;
  if (good && excuse_measuring(measurement, cause, verdict)) return;
  if (!cause.of_the_measuring) at_best_marginal(verdict);
  add_cause(verdict, cause);
}

}  // namespace

Verdict judge(const Measurement& measurement, const Record& record, const Thresholds& thresholds) {
  Verdict verdict;
  verdict.criterion = "none";
  const bool latency = measurement.plan.metric == plan::Metric::latency;
  if (!latency) {
    verdict.unit = "Gbit/s";
    if (const rates::Term* limit = measurement.expectation.limit()) verdict.limiting_term = limit->name;
  }
  const bool finished = !judge_outcome(measurement, verdict);
  if (finished) verdict = latency ? judge_latency(measurement, thresholds, verdict) : judge_bandwidth(measurement, record, thresholds, verdict);
  if (measurement.error) add_cause(verdict, cause_of_no_answer(measurement, record));
  if (finished || (measurement.error && !mismatch_text(measurement))) judge_gids(measurement, record, verdict);
  if (measurement.outcome != Outcome::skipped) judge_cleanliness(measurement, verdict);
  if (finished && !latency) judge_dropout(measurement, verdict);
  return verdict;
}

}  // namespace railgauge::report
