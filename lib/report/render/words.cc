#include "report/render/words.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "plan/label.h"
#include "report/render/columns.h"

namespace railgauge::report {

using results::VerdictWord;

Look look_of(VerdictWord word) noexcept {
  constexpr const char* kGreen = "\x1b[32m";
  constexpr const char* kYellow = "\x1b[33m";
  constexpr const char* kRed = "\x1b[31m";
  constexpr const char* kDim = "\x1b[2m";
  switch (word) {
    case VerdictWord::met: return {"✓", "met", kGreen};
    case VerdictWord::marginal: return {"~", "marginal", kYellow};
    case VerdictWord::below: return {"✗", "below", kRed};
    case VerdictWord::failed: return {"✗", "FAILED", kRed};
    case VerdictWord::no_criterion: return {"·", "no criterion", kDim};
    case VerdictWord::inconclusive: return {"?", "inconclusive", kYellow};
    case VerdictWord::skipped: return {"-", "skipped", kDim};
  }
  return {"?", "inconclusive", kYellow};
}

std::string verdict_text(const results::Verdict& verdict) {
  Look look = look_of(verdict.word);
  std::string text = fmt::format("{} {}", look.glyph, look.word);
  return verdict.criterion == "simulated" ? "(" + text + ")" : text;
}

std::string short_name(const plan::Plan& plan, const std::string& after, std::size_t width) {
  std::string whole = plan::short_label_of(plan) + after;
  if (display_width(whole) <= width) return left(whole, width);
  // From the size on: "8 B A↔B →".
  std::string tail = whole.substr(whole.find(fmt::format(" {} {}", format_size(plan.message_bytes), plan::arrow_of(plan.direction))));
  std::size_t rest = width - std::min(width, display_width(tail));
  return left(left(whole.substr(0, whole.size() - tail.size()), rest) + tail, width);
}

std::string figure(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "–";
  double size = std::fabs(*value);
  if (size >= 1e8) return fmt::format("{:.1f}M", *value / 1e6);
  if (size >= 1e7) return fmt::format("{:.2f}M", *value / 1e6);
  if (size >= 99999.95) return fmt::format("{:.0f}", *value);
  if (size >= 100) return fmt::format("{:.1f}", *value);
  if (size >= 10) return fmt::format("{:.2f}", *value);
  if (size >= 0.1 || size == 0) return fmt::format("{:.3f}", *value);
  return fmt::format("{:.2g}", *value);
}

std::string short_count(std::uint64_t count) {
  auto number = static_cast<double>(count);
  if (count >= 10'000'000'000) return fmt::format("{:.0f}G", number / 1e9);
  if (count >= 1'000'000'000) return fmt::format("{:.1f}G", number / 1e9);
  if (count >= 10'000'000) return fmt::format("{:.0f}M", number / 1e6);
  if (count >= 1'000'000) return fmt::format("{:.1f}M", number / 1e6);
  if (count >= 10'000) return fmt::format("{:.0f}k", number / 1e3);
  return fmt::format("{}", count);
}

}  // namespace railgauge::report
