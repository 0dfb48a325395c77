#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/cause.h"
#include "report/judge.h"

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

/// Worse is larger. What is known to be wrong comes before what is not known.
int severity(const Measurement& measurement) {
  switch (measurement.verdict.word) {
    case VerdictWord::skipped: return 0;
    case VerdictWord::no_criterion: return 1;
    case VerdictWord::met: return 2;
    case VerdictWord::marginal: return 3;
    case VerdictWord::inconclusive: return 4;
    case VerdictWord::failed:
      if (mismatch_text(measurement)) return 8;
      return measurement.outcome == Outcome::done || is_dirty(measurement) ? 7 : 5;
    case VerdictWord::below: return 6;
  }
  return 4;
}

constexpr int kNotMeasured = 4;  ///< from here on the run has no verdict …
constexpr int kKnownBad = 6;     ///< … and from here on a bad one

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

/// A check between two real hosts on real hardware that could judge nothing has not validated the link. One measurement
/// with one's own settings (rdma, tcp) asks for a figure, not for a verdict.
bool left_unjudged(const Record& record, int worst_severity) {
  bool real = !record.same_host && !record.software_device && !record.simulated;
  return record.subcommand == "check" && real && worst_severity <= 1;
}

bool was_interrupted(const Record& record) { return record.outcome == Outcome::partial; }

}  // namespace

Verdict overall(const Record& record) {
  Verdict verdict;
  verdict.criterion = "none";
  const Measurement* worst = worst_of(record);
  bool known_bad = worst && severity(*worst) >= kKnownBad;
  if (was_interrupted(record) || (record.error && !known_bad)) {
    verdict.word = was_interrupted(record) ? VerdictWord::inconclusive : VerdictWord::failed;
    verdict.cause = reason_of(record);
    if (known_bad) verdict.cause += fmt::format("; until then: {}: {}", worst->plan.label, worst->verdict.cause);
    return verdict;
  }
  bool rehearsed = std::any_of(record.measurements.begin(), record.measurements.end(), is_rehearsal);
  if (!worst || (rehearsed && severity(*worst) <= 1)) {
    verdict.word = rehearsed ? VerdictWord::no_criterion : VerdictWord::failed;
    verdict.cause = rehearsed ? why_unjudged(record) : reason_of(record);
    return verdict;
  }
  verdict = worst->verdict;
  std::size_t judged = count_words(record, {VerdictWord::met, VerdictWord::marginal, VerdictWord::below});
  switch (worst->verdict.word) {
    case VerdictWord::no_criterion:
      verdict = Verdict{};
      verdict.criterion = "none";
      verdict.cause = why_unjudged(record);
      if (left_unjudged(record, severity(*worst))) verdict.remedies.emplace_back("name what the link should carry: --link-gbps 100");
      break;
    case VerdictWord::met:
      verdict = met_by_all(record, judged);
      break;
    case VerdictWord::skipped: break;
    default: verdict.cause = fmt::format("{}: {}", worst->plan.label, worst->verdict.cause); break;
  }
  return verdict;
}

ExitCode exit_code(const Record& record) {
  const Measurement* worst = worst_of(record);
  if (was_interrupted(record)) return ExitCode::not_measured;
  if (record.error && record.measurements.empty()) {
    constexpr std::pair<const char*, ExitCode> kKinds[] = {
        {"usage", ExitCode::usage}, {"unsupported", ExitCode::unsupported}, {"data", ExitCode::below_expectation}};
    for (const auto& [kind, code] : kKinds)
      if (record.error->kind == kind) return code;
    return ExitCode::not_measured;
  }
  int worst_severity = worst ? severity(*worst) : -1;
  if (worst_severity >= kKnownBad) return ExitCode::below_expectation;
  if (failed_by_usage(record)) return ExitCode::usage;
  if (worst_severity >= kNotMeasured || record.error) return ExitCode::not_measured;
  bool rehearsed = std::any_of(record.measurements.begin(), record.measurements.end(), is_rehearsal);
  if (worst_severity == 0 && !rehearsed) return ExitCode::unsupported;
  if (worst_severity < 0 && !rehearsed) return ExitCode::not_measured;
  return left_unjudged(record, worst_severity) ? ExitCode::not_measured : ExitCode::met;
}

}  // namespace railgauge::report
