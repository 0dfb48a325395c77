#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::report {

/// `text` safe for a terminal: control characters of either kind (C0, C1), marks that turn the direction of writing, and
/// bytes that are not UTF-8 are shown as \xNN or \u{N}. For whatever a peer or a file said.
std::string shown(std::string_view text);

/// Columns that `text` (UTF-8, without control characters) takes on a terminal: 2 for East Asian wide ones, 0 for marks.
std::size_t display_width(std::string_view text);

/// `text` in exactly `width` columns, cut with "…" where it is longer.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at blanks (inside a word only when it is longer than a line).
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace railgauge::report
