#pragma once
#include <string>

#include "results/record.h"

namespace railgauge::report {

struct TextOptions {
  bool color = false;          ///< ANSI colour beside glyph and word; never instead of them
  std::size_t width = 80;      ///< columns; at least 80 are used
  std::string record_path;     ///< where the record lies, for the last line; empty: not said
};

/// The report that a person reads: verdict first, both hosts, what was chosen and why, each measurement beside what the link
/// should carry, causes and remedies, warnings, how to run it again. A pure function of the record; strings from the peer
/// are escaped. Ends with a newline.
std::string render_text(const results::Record& record, const TextOptions& options = {});

}  // namespace railgauge::report
