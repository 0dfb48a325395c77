#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/cause.h"
#include "report/judge.h"
#include "report/pressure.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::Verdict;
using results::VerdictWord;

/// A fault of a real link that its counters or events show, though the run brought no figure.
bool is_dirty(const Measurement& measurement) {
  const bool real = std::none_of(measurement.sides.begin(), measurement.sides.end(), [](const auto& side) { return side.simulated || side.software_device; });
  return real && link_state(measurement).cleanliness == Cleanliness::dirty;
}

/// Worse is larger. A link that is slow still works; what does not work at all is the more urgent news; wrong data and a faulty link
/// are the worst.
enum class Severity { none, skipped, no_criterion, met, marginal, inconclusive, below, not_measured, bad_link, wrong_data };

Severity severity(const Measurement& measurement) {
  switch (measurement.verdict.word) {
    case VerdictWord::skipped: return Severity::skipped;
    case VerdictWord::no_criterion: return Severity::no_criterion;
    case VerdictWord::met: return Severity::met;
    case VerdictWord::marginal: return Severity::marginal;
    case VerdictWord::inconclusive: return Severity::inconclusive;
    case VerdictWord::failed:
      if (mismatch_text(measurement)) return Severity::wrong_data;
      return measurement.outcome == Outcome::done || is_dirty(measurement) ? Severity::bad_link : Severity::not_measured;
    case VerdictWord::below: return Severity::below;
  }
  return Severity::inconclusive;
}

Severity severity(const Measurement* measurement) { return measurement ? severity(*measurement) : Severity::none; }

/// A port that went away in between, by its own word.
bool failed_by_event(const Measurement& measurement) {
  auto has_one = [](const auto& side) { return std::any_of(side.events.begin(), side.events.end(), [](const auto& event) { return is_port_event(event); }); };
  return measurement.verdict.word == VerdictWord::failed && std::any_of(measurement.sides.begin(), measurement.sides.end(), has_one);
}

/// A rehearsal's figures judge nothing, but that it ran, that its port stayed up and that its data was right is real; so is a limit the
/// user set.
bool is_rehearsal(const Measurement& measurement) {
  bool simulated = std::any_of(measurement.sides.begin(), measurement.sides.end(), [](const auto& side) { return side.simulated; });
  return simulated && measurement.outcome == Outcome::done && measurement.verdict.criterion != "user" && !mismatch_text(measurement) &&
         !failed_by_event(measurement);
}

const Measurement* worst_of(const Record& record) {
  const Measurement* worst = nullptr;
  for (const Measurement& measurement : record.measurements) {
    if (is_rehearsal(measurement)) continue;
    if (!worst || severity(measurement) > severity(*worst)) worst = &measurement;
  }
  return worst;
}

std::size_t count_words(const Record& record, std::initializer_list<VerdictWord> words) {
  auto fits = [&](const Measurement& m) { return !is_rehearsal(m) && std::find(words.begin(), words.end(), m.verdict.word) != words.end(); };
  return static_cast<std::size_t>(std::count_if(record.measurements.begin(), record.measurements.end(), fits));
}

std::string reason_of(const Record& record) {
  if (record.error) return record.error->text;
  if (record.outcome != Outcome::partial) return "nothing was measured";
  for (auto last = record.measurements.rbegin(); last != record.measurements.rend(); ++last)
    if (last->outcome == Outcome::partial || last->outcome == Outcome::failed)
      if (!last->reason.empty()) return "interrupted: " + last->reason;
  return "interrupted";
}

/// Names the reason why nothing was judged, once.
std::string why_unjudged(const Record& record) {
  if (record.simulated) {
    const auto ran = std::count_if(record.measurements.begin(), record.measurements.end(), [](const auto& m) { return m.outcome != Outcome::skipped; });
    return fmt::format("simulated device, a rehearsal: {} measurement{} ran; no hardware verdict", ran, ran == 1 ? "" : "s");
  }
  if (record.software_device) return "software device: no hardware verdict";
  if (record.same_host) return "both ends are on one host: nothing to compare with";
  for (const Measurement& measurement : record.measurements)
    if (measurement.verdict.word == VerdictWord::no_criterion && !measurement.verdict.cause.empty()) return measurement.verdict.cause;
  return "no measurement has a criterion";
}

/// How far inside its limit a figure lies, 1 at the limit: of a rate observed over expected, of a latency allowed over observed.
double headroom(const Verdict& verdict) {
  const double fraction = verdict.fraction.value_or(1);
  return verdict.unit == "us" ? 1 / fraction : fraction;
}

/// All judged measurements met; what limits them all the same (a PCIe link below its best, a small MTU) is said beside it.
Verdict met_by_all(const Record& record, std::size_t judged) {
  Verdict out;
  out.criterion = "none";
  const Measurement* tightest = nullptr;
  for (const Measurement& measurement : record.measurements) {
    if (is_rehearsal(measurement) || measurement.verdict.word != VerdictWord::met) continue;
    if (!tightest || headroom(measurement.verdict) < headroom(tightest->verdict)) tightest = &measurement;
    if (!measurement.verdict.cause.empty() && out.remedies.empty()) {
      out.cause = measurement.verdict.cause;
      out.remedies = measurement.verdict.remedies;
    }
  }
  if (tightest) {
    std::string limit = std::move(out.cause);
    std::vector<std::string> remedies = std::move(out.remedies);
    out = tightest->verdict;
    out.remedies = std::move(remedies);
    std::string count = judged == 1 ? "the judged measurement reaches" : fmt::format("all {} judged measurements reach", judged);
    const char* what = tightest->expectation.is_as_asked() ? "the rate asked for, which is less than the link should carry" : "what the link should carry";
    out.cause = fmt::format("{} {}{}{}", count, what, limit.empty() ? "" : "; ", limit);
  }
  return out;
}

/// Every measurement that failed was asked for wrongly (a GID index that is not there, a size beyond the device).
bool failed_by_usage(const Record& record) {
  bool any = false;
  for (const Measurement& measurement : record.measurements) {
    if (measurement.outcome != Outcome::failed) continue;
    if (!measurement.error || measurement.error->kind != name_of(ErrorKind::usage)) return false;
    any = true;
  }
  return any;
}

bool is_check_of_a_link(const Record& record) {
  return record.subcommand == "check" && !record.same_host && !record.software_device && !record.simulated;
}

/// A check between two real hosts on real hardware that could judge nothing has not validated the link. One measurement
/// with one's own settings (rdma, tcp) asks for a figure, not for a verdict.
bool left_unjudged(const Record& record, Severity worst) { return is_check_of_a_link(record) && worst <= Severity::no_criterion; }

/// Where no RDMA bandwidth was judged, the TCP streams of a check are its verdict, so that one that had an expectation and could not be
/// judged by it leaves the link unknown. Null: there is none, or it is said already.
const Measurement* unjudged_tcp(const Record& record, Severity worst) {
  if (!is_check_of_a_link(record) || worst > Severity::marginal) return nullptr;
  const Measurement* unjudged = nullptr;
  for (const Measurement& m : record.measurements) {
    if (m.plan.metric != plan::Metric::bandwidth) continue;
    if (m.plan.transport == plan::Transport::rdma && m.verdict.fraction && m.verdict.word != VerdictWord::no_criterion) return nullptr;
    const bool excused = m.plan.transport == plan::Transport::tcp && m.plan.streams > 1 && m.verdict.word == VerdictWord::no_criterion && m.verdict.fraction;
    if (excused && !unjudged) unjudged = &m;
  }
  return unjudged;
}

/// The RDMA part of a check that was left out as a whole, by one of its measurements; null where it ran, or was not asked for.
const Measurement* rdma_left_out(const Record& record) {
  if (!is_check_of_a_link(record)) return nullptr;
  const Measurement* skipped = nullptr;
  for (const Measurement& m : record.measurements) {
    if (m.plan.transport != plan::Transport::rdma) continue;
    if (m.outcome != Outcome::skipped) return nullptr;
    if (!skipped) skipped = &m;
  }
  return skipped;
}

/// The same where one host has an RDMA device: a driver is missing on the other, rather than RDMA on the link. Only what TCP met stands
/// against it.
const Measurement* rdma_missing(const Record& record, Severity worst) {
  const bool one_sided = record.nodes.size() == 2 && record.nodes[0].facts.rdma_devices.empty() != record.nodes[1].facts.rdma_devices.empty();
  return one_sided && worst > Severity::skipped && worst <= Severity::marginal ? rdma_left_out(record) : nullptr;
}

/// The best bandwidth of a transport of which every judged one is below expectation.
const Measurement* best_of_low(const Record& record, plan::Transport transport) {
  const Measurement* best = nullptr;
  for (const Measurement& m : record.measurements) {
    if (m.plan.transport != transport || m.plan.metric != plan::Metric::bandwidth || is_rehearsal(m)) continue;
    if (m.verdict.word == VerdictWord::no_criterion || m.verdict.word == VerdictWord::skipped) continue;
    if (m.verdict.word != VerdictWord::below || !m.verdict.observed || !m.expectation.slowest_link()) return nullptr;
    if (!best || *m.verdict.observed > *best->verdict.observed) best = &m;
  }
  return best;
}

/// Two transports that share little but the NIC and the host, capped alike far below the link (field case F83). Empty else.
std::string capped_alike(const Record& record) {
  constexpr double kFarBelow = 0.5;  // of the link
  constexpr double kAlike = 2;       // own choice: the case's 13 and 9 Gbit/s are 1.4 apart
  const Measurement* rdma = best_of_low(record, plan::Transport::rdma);
  const Measurement* tcp = best_of_low(record, plan::Transport::tcp);
  if (!rdma || !tcp) return {};
  const double link = rdma->expectation.slowest_link()->gbit_per_s;
  const double a = *rdma->verdict.observed;
  const double b = *tcp->verdict.observed;
  if (std::max(a, b) >= kFarBelow * link || std::max(a, b) > kAlike * std::min(a, b)) return {};
  for (const Measurement* m : {rdma, tcp})
    if (const auto pressure = heaviest_pressure(*m); pressure && pressure->share >= kCauseShare && pressure->by != Pressure::host) return {};
  return fmt::format("; RDMA and TCP are capped alike, at {:.1f} and {:.1f} of {:.1f} Gbit/s: likely the NIC, its PCIe slot or power, or the host, not the fabric",
                     a, b, link);
}

bool was_interrupted(const Record& record) { return record.outcome == Outcome::partial; }

Verdict verdict_of_worst(const Record& record, const Measurement& worst) {
  Verdict verdict = worst.verdict;
  switch (worst.verdict.word) {
    case VerdictWord::no_criterion:
      verdict = Verdict{};
      verdict.criterion = "none";
      verdict.cause = why_unjudged(record);
      if (left_unjudged(record, severity(worst))) verdict.remedies.emplace_back("name what the link should carry: --link-gbps 100");
      break;
    case VerdictWord::met: return met_by_all(record, count_words(record, {VerdictWord::met, VerdictWord::marginal, VerdictWord::below}));
    case VerdictWord::skipped: break;
    case VerdictWord::below: verdict.cause = fmt::format("{}: {}{}", worst.plan.label, worst.verdict.cause, capped_alike(record)); break;
    default: verdict.cause = fmt::format("{}: {}", worst.plan.label, worst.verdict.cause); break;
  }
  return verdict;
}

}  // namespace

Verdict overall(const Record& record) {
  Verdict verdict;
  verdict.criterion = "none";
  const Measurement* worst = worst_of(record);
  const Severity worst_severity = severity(worst);
  if (was_interrupted(record) || (record.error && worst_severity < Severity::bad_link)) {
    verdict.word = was_interrupted(record) ? VerdictWord::inconclusive : VerdictWord::failed;
    verdict.cause = reason_of(record);
    const bool bad = worst_severity == Severity::below || worst_severity >= Severity::bad_link;
    if (bad) verdict.cause += fmt::format("; until then: {}: {}", worst->plan.label, worst->verdict.cause);
    return verdict;
  }
  bool rehearsed = std::any_of(record.measurements.begin(), record.measurements.end(), is_rehearsal);
  if (!worst || (rehearsed && worst_severity <= Severity::no_criterion)) {
    verdict.word = rehearsed ? VerdictWord::no_criterion : VerdictWord::failed;
    verdict.cause = rehearsed ? why_unjudged(record) : reason_of(record);
    return verdict;
  }
  if (const Measurement* tcp = unjudged_tcp(record, worst_severity)) {
    verdict.word = VerdictWord::inconclusive;
    verdict.cause = fmt::format("{}: {}", tcp->plan.label, tcp->verdict.cause);
    verdict.remedies = tcp->verdict.remedies;
    return verdict;
  }
  if (const Measurement* rdma = rdma_missing(record, worst_severity)) {
    verdict.word = VerdictWord::inconclusive;
    verdict.cause = "RDMA was not measured: " + rdma->verdict.cause;
    return verdict;
  }
  verdict = verdict_of_worst(record, *worst);
  const bool good = verdict.word == VerdictWord::met || verdict.word == VerdictWord::marginal;
  if (good && rdma_left_out(record)) verdict.cause = "TCP only, RDMA was not measured; " + verdict.cause;
  return verdict;
}

ExitCode exit_code(const Record& record) {
  if (was_interrupted(record)) return ExitCode::not_measured;
  if (record.error && record.measurements.empty()) {
    constexpr std::pair<const char*, ExitCode> kKinds[] = {
        {"usage", ExitCode::usage}, {"unsupported", ExitCode::unsupported}, {"data", ExitCode::below_expectation}};
    for (const auto& [kind, code] : kKinds)
      if (record.error->kind == kind) return code;
    return ExitCode::not_measured;
  }
  const Severity worst = severity(worst_of(record));
  if (worst >= Severity::bad_link) return ExitCode::below_expectation;
  if (failed_by_usage(record)) return ExitCode::usage;
  if (worst == Severity::not_measured || record.error) return ExitCode::not_measured;
  if (worst == Severity::below) return ExitCode::below_expectation;
  if (worst == Severity::inconclusive) return ExitCode::not_measured;
  bool rehearsed = std::any_of(record.measurements.begin(), record.measurements.end(), is_rehearsal);
  if (worst == Severity::skipped && !rehearsed) return ExitCode::unsupported;
  if (worst == Severity::none && !rehearsed) return ExitCode::not_measured;
  return left_unjudged(record, worst) || unjudged_tcp(record, worst) || rdma_missing(record, worst) ? ExitCode::not_measured : ExitCode::met;
}

}  // namespace railgauge::report
