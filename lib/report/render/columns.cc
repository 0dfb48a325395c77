#include "report/render/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace railgauge::report {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

/// The character at the front of `text`, or nothing if its bytes are no UTF-8 (overlong forms and surrogates included).
std::optional<Character> decode(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  std::uint32_t first = byte(0);
  if (first < 0x80) return Character{first, 1};
  std::size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf5 || text.size() < length) return std::nullopt;
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return std::nullopt;
  return Character{code, length};
}

using Range = std::pair<std::uint32_t, std::uint32_t>;

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) { return code >= range.first && code <= range.second; });
}

/// Controls, and marks that could make a terminal show another text than the bytes say.
constexpr std::array<Range, 5> kUnsafe = {{{0x00, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}}};
constexpr std::array<Range, 4> kNoWidth = {{{0x300, 0x36f}, {0x200b, 0x200d}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}}};
// Unicode East Asian Width W and F, by blocks.
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115f},
                                          {0x2e80, 0xa4cf},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff00, 0xff60},
                                          {0xffe0, 0xffe6},
                                          {0x1f300, 0x1f64f},
                                          {0x1f900, 0x1f9ff},
                                          {0x20000, 0x3fffd}}};

std::size_t width_of(std::uint32_t code) { return in(kNoWidth, code) ? 0 : in(kWide, code) ? 2 : 1; }

/// The longest front of `text` that fits.
std::string_view front(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    Character next = decode(text.substr(at)).value_or(Character{'?', 1});
    if (used + width_of(next.code) > width) break;
    used += width_of(next.code);
    at += next.bytes;
  }
  return text.substr(0, at);
}

std::string cut(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(front(text, width - 1)) + "…";
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    auto next = decode(text.substr(at));
    if (!next || in(kUnsafe, next->code)) {
      std::uint32_t code = next ? next->code : static_cast<unsigned char>(text[at]);
      out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:x}}}", code);
    } else {
      out += text.substr(at, next->bytes);
    }
    at += next ? next->bytes : 1;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    Character next = decode(text.substr(at)).value_or(Character{'?', 1});
    width += width_of(next.code);
    at += next.bytes;
  }
  return width;
}

std::string left(std::string_view text, std::size_t width) {
  std::string out = cut(text, width);
  out.append(width - std::min(width, display_width(out)), ' ');
  return out;
}

std::string right(std::string_view text, std::size_t width) {
  std::string out = cut(text, width);
  return std::string(width - std::min(width, display_width(out)), ' ') + out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  auto end_line = [&] {
    lines.push_back(line);
    line.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t blank = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, blank - at);
    at = blank + 1;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) end_line();
    if (!line.empty()) line += ' ';
    for (;;) {
      std::string_view part = front(word, width);
      if (part.empty() || part.size() == word.size()) break;
      line += part;
      word.remove_prefix(part.size());
      end_line();
    }
    line += word;
  }
  if (!line.empty()) end_line();
  return lines;
}

}  // namespace railgauge::report
