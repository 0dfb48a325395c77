#include <cmath>

#include "results/describe.h"

namespace railgauge::rates {

void describe(results::Io& io, Term& term) {
  io.field("name", term.name);
  io.field("gbit_per_s", term.gbit_per_s, 0.0);
  io.field("formula", term.formula);
  io.field("source", term.source);
  io.field("informational", term.informational);
  io.word("kind", term.kind, {{TermKind::link, "link"}, {TermKind::pcie, "pcie"}, {TermKind::asked, "asked"}});
  io.field("host", term.host);
  io.field("address", term.address);
  io.field("given_by_user", term.given_by_user);
  io.field("at_most_gbit_per_s", term.at_most_gbit_per_s, 0.0);
}

namespace {

/// A term that came out as no number is left out with a note; a record must not be lost to one.
void leave_out_broken_terms(Expectation& expectation) {
  for (std::size_t i = expectation.terms.size(); i-- > 0;) {
    if (std::isfinite(expectation.terms[i].gbit_per_s)) continue;
    expectation.notes.push_back(expectation.terms[i].name + ": left out, its rate is not a finite number");
    if (expectation.limiting && *expectation.limiting == i) expectation.limiting.reset();
    if (expectation.limiting && *expectation.limiting > i) --*expectation.limiting;
    expectation.terms.erase(expectation.terms.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

void describe(results::Io& io, Expectation& expectation) {
  if (!io.reading()) leave_out_broken_terms(expectation);
  io.field("terms", expectation.terms);
  std::optional<std::uint64_t> limiting;
  if (expectation.limiting) limiting = *expectation.limiting;
  io.field("limiting", limiting);
  io.field("reason", expectation.reason);
  io.field("wire_limit_only", expectation.wire_limit_only);
  io.field("notes", expectation.notes);
  if (!io.reading()) return;
  if (limiting && *limiting >= expectation.terms.size()) io.fail("limiting to be the index of a term");
  expectation.limiting.reset();
  if (limiting) expectation.limiting = static_cast<std::size_t>(*limiting);
}

}  // namespace railgauge::rates

namespace railgauge::results {
namespace {

std::vector<std::pair<Outcome, std::string>> outcomes() {
  std::vector<std::pair<Outcome, std::string>> out;
  for (auto value : {Outcome::done, Outcome::partial, Outcome::failed, Outcome::skipped}) out.emplace_back(value, name_of(value));
  return out;
}

std::vector<std::pair<VerdictWord, std::string>> verdict_words() {
  std::vector<std::pair<VerdictWord, std::string>> out;
  for (auto value : {VerdictWord::met, VerdictWord::marginal, VerdictWord::below, VerdictWord::failed, VerdictWord::no_criterion,
                     VerdictWord::inconclusive, VerdictWord::skipped})
    out.emplace_back(value, name_of(value));
  return out;
}

}  // namespace

void describe(Io& io, Verdict& verdict) {
  io.word("word", verdict.word, verdict_words());
  io.field("criterion", verdict.criterion);
  io.field("observed", verdict.observed);
  io.field("expected", verdict.expected);
  io.field("unit", verdict.unit);
  io.field("fraction", verdict.fraction);
  io.field("limiting_term", verdict.limiting_term);
  io.field("cause", verdict.cause);
  io.field("remedies", verdict.remedies);
}

void describe(Io& io, Measurement& measurement) {
  io.field("plan", measurement.plan);
  io.field("started_utc", measurement.started_utc);
  io.field("wall_ns", measurement.wall);
  io.word("outcome", measurement.outcome, outcomes());
  io.field("reason", measurement.reason);
  io.field("sides", measurement.sides);
  io.field("throughput", measurement.throughput);
  io.field("throughput_reverse", measurement.throughput_reverse);
  io.field("latency", measurement.latency);
  io.field("latency_meaning", measurement.latency_meaning);
  io.field("expectation", measurement.expectation);
  io.field("verdict", measurement.verdict);
  io.field("error", measurement.error);
}

void describe(Io& io, Provenance& provenance) {
  io.field("version", provenance.version);
  io.field("commit", provenance.commit);
  io.field("compiler", provenance.compiler);
  io.field("flags", provenance.flags);
  io.field("build_type", provenance.build_type);
  io.field("libraries", provenance.libraries);
}

void describe(Io& io, Node& node) {
  io.field("role", node.role);
  io.field("tool", node.tool);
  io.field("command_line", node.command_line);
  std::map<std::string, std::string> environment(node.environment.begin(), node.environment.end());
  io.field("environment", environment);
  if (io.reading()) node.environment.assign(environment.begin(), environment.end());
  io.field("facts", node.facts);
  io.field("clock_read_cost_ns", node.clock_read_cost);
}

void describe(Io& io, Record& record) {
  io.field("schema", record.schema);
  io.field("run_id", record.run_id);
  io.field("subcommand", record.subcommand);
  io.field("started_utc", record.started_utc);
  io.field("wall_ns", record.wall);
  io.word("outcome", record.outcome, outcomes());
  io.field("simulated", record.simulated);
  io.field("software_device", record.software_device);
  io.field("same_host", record.same_host);
  io.field("peer", record.peer);
  io.field("verdict", record.verdict);
  io.field("exit_code", record.exit_code, 0, 255);
  io.field("warnings", record.warnings);
  io.field("error", record.error);
  io.field("nodes", record.nodes);
  io.field("differences", record.differences);
  io.field("measurements", record.measurements);
}

}  // namespace railgauge::results
