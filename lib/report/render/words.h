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

/// "write 8 QPs 64 KiB A→B": from the plan, A being the client.
std::string short_name(const plan::Plan& plan);
/// "A→B", "B→A", "A↔B".
const char* arrow_of(plan::Direction direction) noexcept;

/// At most seven columns: 392.14 → "392.1", 1.6234 → "1.623"; "–" when missing.
std::string figure(const std::optional<double>& value);
/// 1234567 → "1.2M".
std::string short_count(std::uint64_t count);

/// The command line that measures this again: "railgauge rdma node-12 --op write …". Values are quoted for a shell.
std::string rerun_command(const plan::Plan& plan, const std::string& peer);
/// Quotes `word` for a POSIX shell where needed.
std::string shell_word(const std::string& word);

}  // namespace railgauge::report
