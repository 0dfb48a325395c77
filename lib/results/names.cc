#include <fmt/format.h>

#include "results/record.h"

namespace railgauge::results {

const char* name_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::done: return "done";
    case Outcome::partial: return "partial";
    case Outcome::failed: return "failed";
    case Outcome::skipped: return "skipped";
  }
  return "failed";
}

const char* name_of(VerdictWord word) noexcept {
  switch (word) {
    case VerdictWord::met: return "met";
    case VerdictWord::marginal: return "marginal";
    case VerdictWord::below: return "below";
    case VerdictWord::failed: return "failed";
    case VerdictWord::no_criterion: return "no_criterion";
    case VerdictWord::inconclusive: return "inconclusive";
    case VerdictWord::skipped: return "skipped";
  }
  return "inconclusive";
}

const SideResult* side_of(const Measurement& measurement, std::string_view role) noexcept {
  for (const SideResult& side : measurement.sides)
    if (side.role == role) return &side;
  return nullptr;
}

std::string mismatch_text(const Verification& found) {
  std::string text = fmt::format("{} of {} bytes checked differ", found.mismatched_bytes, found.checked_bytes);
  if (found.first_offset) text += fmt::format(", first at offset {}", *found.first_offset);
  if (found.expected && found.found) text += fmt::format(": expected 0x{:02x}, found 0x{:02x}", *found.expected, *found.found);
  return text;
}

}  // namespace railgauge::results
