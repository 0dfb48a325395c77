#include "rates/expectation.h"

#include <algorithm>

namespace railgauge::rates {

const Term* Expectation::slowest_link() const {
  const Term* slowest = nullptr;
  for (const Term& term : terms)
    if (!term.informational && term.kind == TermKind::link && (!slowest || term.gbit_per_s < slowest->gbit_per_s)) slowest = &term;
  return slowest;
}

std::optional<double> Expectation::at_most_gbit_per_s() const {
  std::optional<double> least;
  if (!limiting) return least;
  for (const Term& term : terms) {
    const double best = term.at_most_gbit_per_s.value_or(term.gbit_per_s);
    if (!term.informational) least = std::min(least.value_or(best), best);
  }
  return least;
}

}  // namespace railgauge::rates
