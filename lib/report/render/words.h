#pragma once
#include <optional>
#include <string>

#include "results/record.h"

namespace railgauge::report {

/// How a verdict looks: glyph and word say it, colour only repeats it.
struct Look {
  const char* glyph;
  const char* word;
  const char* color;  ///< ANSI sequence
};
Look look_of(results::VerdictWord word) noexcept;

/// "✓ met"; in parentheses for a rehearsal on a simulated device.
std::string verdict_text(const results::Verdict& verdict);

/// plan::short_label_of and `after` it in `width` columns; what is too long loses its middle, never the direction.
std::string short_name(const plan::Plan& plan, const std::string& after, std::size_t width);

/// At most seven columns below 1e11: 392.14 → "392.1", 1.6234 → "1.623", 85899345.9 → "85.90M"; "–" when missing.
std::string figure(const std::optional<double>& value);
/// 1234567 → "1.2M".
std::string short_count(std::uint64_t count);

}  // namespace railgauge::report
