#include "report/render/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/units.h"
#include "plan/label.h"
#include "report/notes.h"
#include "report/render/again.h"
#include "report/render/columns.h"
#include "report/render/tables.h"
#include "report/render/words.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using results::VerdictWord;

/// Collects lines; knows the width and how to hang an indent.
class Page {
 public:
  explicit Page(std::size_t width) : width_(std::max<std::size_t>(width, 80)) {}
  void line(const std::string& text = {}) { out_ += text + '\n'; }
  void lines(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) line(text);
  }
  /// `first` before the first line, as many blanks before the others. Escapes the text.
  void paragraph(const std::string& first, const std::string& text) {
    std::size_t indent = display_width(first);
    std::string before = first;
    for (const std::string& part : wrap(shown(text), width_ - std::min(indent, width_ - 20))) {
      line(before + part);
      before = std::string(indent, ' ');
    }
  }
  /// A shell command, continued with a backslash where it is longer than a line.
  void command(const std::string& text) {
    std::vector<std::string> parts = wrap(shown(text), width_ - 6);
    for (std::size_t i = 0; i < parts.size(); ++i) line((i == 0 ? "  " : "    ") + parts[i] + (i + 1 < parts.size() ? " \\" : ""));
  }
  void heading(const std::string& text) {
    line();
    line(text);
  }
  std::string take() { return std::move(out_); }

 private:
  std::size_t width_;
  std::string out_;
};

const char* headline_word(VerdictWord word) {
  switch (word) {
    case VerdictWord::met: return "MET";
    case VerdictWord::marginal: return "MARGINAL";
    case VerdictWord::below: return "BELOW EXPECTATION";
    case VerdictWord::failed: return "FAILED";
    case VerdictWord::no_criterion: return "NO VERDICT";
    case VerdictWord::inconclusive: return "INCONCLUSIVE";
    case VerdictWord::skipped: return "SKIPPED";
  }
  return "INCONCLUSIVE";
}

std::string host_of(const Record& record, const std::string& role) {
  for (const results::Node& node : record.nodes)
    if (node.role == role) return node.facts.hostname;
  return record.peer;
}

void add_head(Page& page, const Record& record, bool color) {
  bool unknown = record.verdict.word == VerdictWord::failed && record.exit_code != static_cast<int>(ExitCode::below_expectation);
  std::string word = fmt::format("{} {}", look_of(record.verdict.word).glyph, unknown ? "NOT MEASURED" : headline_word(record.verdict.word));
  page.line(fmt::format("{}   railgauge {}: {} (A) and {} (B)", colored(word, record.verdict.word, color), shown(record.subcommand),
                        shown(host_of(record, "client")), shown(host_of(record, "server"))));
  if (!record.verdict.cause.empty()) page.paragraph("  ", record.verdict.cause);
  page.paragraph("  ", fmt::format("{}, {}; {}; exit code {}", record.started_utc, format_duration(record.wall),
                                   results::name_of(record.outcome), record.exit_code));
  if (record.outcome == results::Outcome::partial)
    page.paragraph("  ", "PARTIAL: the run was stopped on the way; what was measured until then is below.");
  if (record.simulated) page.paragraph("*** ", "SIMULATED DEVICE: a rehearsal in software. No RDMA figure below says anything about hardware. ***");
  if (record.software_device && !record.simulated)
    page.paragraph("*** ", "SOFTWARE DEVICE (rxe or siw): real verbs without RDMA hardware. No hardware verdict. ***");
  if (record.same_host) page.paragraph("*** ", "ONE HOST: both ends run on the same machine. No link is measured. ***");
  if (record.error && record.error->text != record.verdict.cause)
    page.paragraph("  error: ", fmt::format("{} ({})", record.error->text, record.error->kind));
}

void add_hosts(Page& page, const Record& record) {
  std::vector<std::string> table = host_table(record);
  if (table.empty()) return;
  page.heading("Hosts (≠ differs)");
  page.lines(table);
  bool any = std::any_of(record.differences.begin(), record.differences.end(), [](const auto& d) { return d.matters; });
  if (!any) return;
  page.heading("Differences that matter");
  for (const results::Difference& difference : record.differences)
    if (difference.matters) page.paragraph("  ! ", fmt::format("{}: {} on A, {} on B", difference.what, difference.client, difference.server));
}

/// Sentences of all measurements, RDMA's first, each once.
void add_choices(Page& page, const Record& record) {
  std::vector<std::pair<std::string, std::string>> seen;  // sentence, who
  auto add = [&](const results::SideResult& side, const std::string& choice) {
    std::string who = side.role == "client" ? "A" : "B";
    auto same = std::find_if(seen.begin(), seen.end(), [&](const auto& entry) { return entry.first == choice; });
    if (same == seen.end()) seen.emplace_back(choice, who);
    else if (same->second != who) same->second = "A and B";
  };
  for (plan::Transport transport : {plan::Transport::rdma, plan::Transport::tcp})
    for (const Measurement& m : record.measurements)
      if (m.plan.transport == transport)
        for (const results::SideResult& side : m.sides)
          for (const std::string& choice : side.choices) add(side, choice);
  if (seen.empty()) return;
  page.heading("Chosen");
  for (const auto& [choice, who] : seen) page.paragraph(fmt::format("  {}: ", who), choice);
}

struct Finding {
  std::string cause;  ///< of the first of them
  std::string kind;   ///< what their causes have in common
  VerdictWord word;
  bool rehearsal;
  std::vector<std::string> names;
  std::vector<std::string> remedies;
};

bool is_figure(std::string_view word) {
  const bool digits = !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
  return digits && std::count(word.begin(), word.end(), '.') <= 1;  // an address has more
}

/// The cause without its figures and their units, which differ from run to run: times, rates, counts, the number of a QP. What is part of
/// a name stays. Of any length: a peer may have written it.
std::string kind_of(std::string_view cause) {
  constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB"};
  std::string kind;
  bool after_figure = false;
  while (!cause.empty()) {
    const std::string_view whole = cause.substr(0, cause.find(' '));
    cause.remove_prefix(std::min(cause.size(), whole.size() + 1));
    const std::size_t begin = std::min(whole.find_first_not_of("(+"), whole.size());
    const std::size_t end = std::max(begin, whole.find_last_not_of(",;:.)") + 1);
    const std::string_view word = whole.substr(begin, end - begin);
    const bool unit = after_figure && std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
    after_figure = is_figure(word);
    kind += whole.substr(0, begin);
    kind += after_figure || unit ? "#" : word;
    kind += whole.substr(end);
    kind += ' ';
  }
  return kind;
}

bool is_rehearsed(const results::Verdict& verdict) { return verdict.criterion == "simulated"; }

/// A remedy that names an option of the single measurements, which a check does not take.
bool needs_single(const Finding& finding) {
  constexpr std::string_view kOptions[] = {"--duration", "--iterations", "--cpu", "--threads", "--depth", "--qps", "--working-set", "--window", "--load-rate"};
  return std::any_of(finding.remedies.begin(), finding.remedies.end(), [&](const std::string& remedy) {
    return std::any_of(std::begin(kOptions), std::end(kOptions), [&](std::string_view option) { return remedy.find(option) != std::string::npos; });
  });
}

/// Measurements with the same kind of cause are one finding: a person mends a cause once.
void add_findings(Page& page, const Record& record) {
  std::vector<Finding> findings;
  for (const Measurement& measurement : record.measurements) {
    const results::Verdict& verdict = measurement.verdict;
    if (verdict.cause.empty()) continue;
    const std::string kind = kind_of(verdict.cause);
    auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.kind == kind && f.word == verdict.word; });
    if (same == findings.end()) {
      findings.push_back({verdict.cause, kind, verdict.word, is_rehearsed(verdict), {}, verdict.remedies});
      same = std::prev(findings.end());
    }
    same->names.push_back(fmt::format("{} {}", plan::name_of(measurement.plan.transport), plan::short_label_of(measurement.plan)));
  }
  if (findings.empty()) return;
  page.heading("Why");
  for (const Finding& finding : findings) {
    const std::size_t others = finding.names.size() - 1;
    const std::string also = others > 0 ? fmt::format(" (also in {} other measurement{})", others, others == 1 ? "" : "s") : "";
    Look look = look_of(finding.word);
    std::string glyph = finding.rehearsal ? fmt::format("({})", look.glyph) : look.glyph;
    page.paragraph(fmt::format("  {} ", glyph), fmt::format("{}{}: {}{}", finding.word == VerdictWord::skipped ? "skipped: " : "", finding.names.front(), finding.cause, also));
    for (const std::string& remedy : finding.remedies) page.paragraph("    → ", remedy);
  }
  if (record.subcommand == "check" && std::any_of(findings.begin(), findings.end(), needs_single))
    page.paragraph("  ", "(--duration, --qps and the like are options of `railgauge rdma` and `railgauge tcp`, which measure one thing; a check has --thorough)");
}

/// What was compared, in words, once for all measurements of which the same was.
void add_verification(Page& page, const Record& record) {
  struct Checked {
    results::Verification sum;
    std::vector<std::string> names;
  };
  std::map<std::string, Checked> by_scope;
  for (const Measurement& measurement : record.measurements) {
    for (const results::SideResult& side : measurement.sides) {
      if (!side.verification) continue;
      Checked& checked = by_scope[side.verification->scope];
      results::Verification& sum = checked.sum;
      sum.checked_bytes += side.verification->checked_bytes;
      sum.mismatched_bytes += side.verification->mismatched_bytes;
      if (checked.names.empty()) sum.checked_messages = sum.messages = 0;
      results::add_count(sum.checked_messages, side.verification->checked_messages);
      results::add_count(sum.messages, side.verification->messages);
      std::string name = fmt::format("{} {}", plan::name_of(measurement.plan.transport), plan::short_label_of(measurement.plan));
      if (checked.names.empty() || checked.names.back() != name) checked.names.push_back(name);
    }
  }
  if (by_scope.empty()) return;
  page.heading("Verified");
  for (const auto& [scope, checked] : by_scope) {
    const results::Verification& sum = checked.sum;
    std::string of = sum.messages && sum.checked_messages ? fmt::format("{} of {} messages, ", *sum.checked_messages, *sum.messages) : std::string();
    std::string more = checked.names.size() > 1 ? fmt::format(" and {} more", checked.names.size() - 1) : std::string();
    std::string found = sum.checked_bytes > 0 ? fmt::format("{} bytes, {} wrong", sum.checked_bytes, sum.mismatched_bytes) : "nothing was compared";
    page.paragraph("  ", fmt::format("{}: {}{} ({}{})", scope.empty() ? "part of the data" : scope, of, found, checked.names.front(), more));
  }
}

void add_warnings(Page& page, const Record& record) {
  std::vector<std::string> warnings;
  auto add = [&](const std::string& text) {
    if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
  };
  for (const std::string& text : record.warnings) add(text);
  for (const results::Node& node : record.nodes)
    for (const std::string& text : node.facts.warnings) add(fmt::format("{}: {}", node.facts.hostname, text));
  for (const std::string& text : notes_of(record)) add(text);
  for (const Measurement& measurement : record.measurements) {
    for (const std::string& text : measurement.expectation.notes) add(text);
    for (const results::SideResult& side : measurement.sides) {
      for (const std::string& text : side.warnings) add(fmt::format("{}: {}", side.host, text));
      for (const std::string& text : side.events)  // those that are the cause have been said
        if (measurement.verdict.cause.find(text) == std::string::npos) add(fmt::format("{}: {}: event {}", side.host, plan::short_label_of(measurement.plan), text));
    }
  }
  if (warnings.empty()) return;
  page.heading("Notes");
  for (const std::string& text : warnings) page.paragraph("  - ", text);
}

void add_rerun(Page& page, const Record& record, const TextOptions& options) {
  page.heading("Again");
  if (!record.nodes.empty() && !record.nodes.front().command_line.empty()) page.command(typed_command(record.nodes.front().command_line));
  auto bad = std::find_if(record.measurements.begin(), record.measurements.end(), [](const Measurement& m) {
    return m.verdict.word == VerdictWord::below || m.verdict.word == VerdictWord::failed || m.verdict.word == VerdictWord::inconclusive;
  });
  bool reachable = !record.peer.empty() && record.peer.front() != '(';  // "(self)" is no host to name
  if (reachable && bad != record.measurements.end() && record.measurements.size() > 1) {
    page.paragraph("  ", fmt::format("{} {} alone:", plan::name_of(bad->plan.transport), plan::short_label_of(bad->plan)));
    page.command(rerun_command(bad->plan, record));
  }
  if (!options.record_path.empty()) page.line("  record: " + shown(options.record_path));
}

}  // namespace

std::string render_text(const Record& record, const TextOptions& options) {
  Page page(options.width);
  add_head(page, record, options.color);
  add_hosts(page, record);
  add_choices(page, record);
  page.lines(measurement_tables(record, options.color));
  add_findings(page, record);
  add_verification(page, record);
  add_warnings(page, record);
  add_rerun(page, record, options);
  return page.take();
}

}  // namespace railgauge::report
