#include "base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace railgauge {
namespace {

constexpr std::size_t kMaxSizes = 256;

/// What is being read: the text, whose it is, and what may stand there.
struct Wanted {
  std::string_view text;
  std::string_view what;
  std::string_view wanted;
};

[[noreturn]] void refuse(const Wanted& w) {
  throw Error(ErrorKind::usage, fmt::format("{}{}\"{}\" is not {}", w.what, w.what.empty() ? "" : ": ", w.text, w.wanted));
}

/// Splits a leading number (digits, optional fraction) from its suffix. Returns false if there is no number.
bool split_number(std::string_view text, std::string_view& number, std::string_view& suffix) {
  std::size_t n = 0;
  while (n < text.size() && (std::isdigit(static_cast<unsigned char>(text[n])) || text[n] == '.')) ++n;
  number = text.substr(0, n);
  suffix = text.substr(n);
  return n > 0;
}

double to_double(std::string_view number, const Wanted& w) {
  std::string copy(number);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) refuse(w);
  return value;
}

int size_shift(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  std::string_view rest = suffix.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB") return -1;
  switch (suffix[0]) {
    case 'k': case 'K': return 10;
    case 'm': case 'M': return 20;
    case 'g': case 'G': return 30;
    case 't': case 'T': return 40;
    default: return -1;
  }
}

void append_sweep(std::vector<std::uint64_t>& out, std::string_view item, std::size_t dots, std::string_view what) {
  std::uint64_t first = parse_size(item.substr(0, dots), what);
  std::uint64_t last = parse_size(item.substr(dots + 2), what);
  if (first == 0 || first > last) refuse({item, what, "a sweep of sizes such as 2..8M (from a size above 0 up to a larger one)"});
  for (std::uint64_t size = first; size <= last; size *= 2) {
    out.push_back(size);
    if (size > last / 2) break;
  }
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view what) {
  const Wanted wanted{text, what, "a size such as 65536, 64K or 8M (whole number, binary suffix K, M, G, T)"};
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) refuse(wanted);
  int shift = size_shift(text.substr(static_cast<std::size_t>(end - text.data())));
  if (shift < 0 || (value << shift) >> shift != value) refuse(wanted);
  return value << shift;
}

std::vector<std::uint64_t> parse_size_list(std::string_view text, std::string_view what) {
  std::vector<std::uint64_t> out;
  std::string_view rest = text;
  while (true) {
    auto comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    auto dots = item.find("..");
    if (dots == std::string_view::npos) {
      out.push_back(parse_size(item, what));
    } else {
      append_sweep(out, item, dots, what);
    }
    if (out.size() > kMaxSizes) refuse({text, what, fmt::format("a list of at most {} sizes", kMaxSizes)});
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

std::chrono::nanoseconds parse_duration(std::string_view text, std::string_view what) {
  const Wanted wanted{text, what, "a duration such as 10s, 250ms or 5m"};
  std::string_view number, suffix;
  if (!split_number(text, number, suffix)) refuse(wanted);
  double scale = 0;
  if (suffix.empty() || suffix == "s") scale = 1e9;
  else if (suffix == "ms") scale = 1e6;
  else if (suffix == "us") scale = 1e3;
  else if (suffix == "ns") scale = 1;
  else if (suffix == "m" || suffix == "min") scale = 60e9;
  else if (suffix == "h") scale = 3600e9;
  else refuse(wanted);
  double ns = to_double(number, wanted) * scale;
  if (ns > 9e18) refuse(wanted);
  return std::chrono::nanoseconds(std::llround(ns));
}

double parse_rate_gbit_per_s(std::string_view text, std::string_view what) {
  const Wanted wanted{text, what, "a rate above 0 such as 25G or 500M (bit/s, decimal suffix K, M, G, T, at most 1000T; a bare number is Gbit/s)"};
  std::string_view number, suffix;
  if (!split_number(text, number, suffix)) refuse(wanted);
  double scale = 0;
  if (suffix.empty() || suffix == "G" || suffix == "g") scale = 1;
  else if (suffix == "K" || suffix == "k") scale = 1e-6;
  else if (suffix == "M" || suffix == "m") scale = 1e-3;
  else if (suffix == "T" || suffix == "t") scale = 1e3;
  else refuse(wanted);
  double rate = to_double(number, wanted) * scale;
  // A thousand times the fastest link there is: beyond it sits a slip of the hand, and integers overflow.
  constexpr double kMaxGbitPerS = 1e6;
  if (rate <= 0 || rate > kMaxGbitPerS) refuse(wanted);
  return rate;
}

std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a whole number from {} to {}", what, text, low, high));
  return value;
}

std::string format_size(std::uint64_t bytes) {
  struct Unit { int shift; const char* name; };
  for (Unit unit : {Unit{40, "TiB"}, Unit{30, "GiB"}, Unit{20, "MiB"}, Unit{10, "KiB"}}) {
    std::uint64_t one = 1ULL << unit.shift;
    if (bytes < one) continue;
    if (bytes % one == 0) return fmt::format("{} {}", bytes >> unit.shift, unit.name);
    if (bytes * 2 % one == 0) return fmt::format("{}.5 {}", bytes >> unit.shift, unit.name);
    break;
  }
  return fmt::format("{} B", bytes);
}

namespace {

/// Three significant digits without an exponent: 1.23, 12.3, 123, 1234.
std::string three_digits(double value) {
  double magnitude = std::fabs(value);
  if (magnitude < 9.995) return fmt::format("{:.2f}", value);
  if (magnitude < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string format_gbit_per_s(double rate) {
  if (rate >= 1 || rate == 0) return three_digits(rate) + " Gbit/s";
  if (rate >= 1e-3) return three_digits(rate * 1e3) + " Mbit/s";
  return three_digits(rate * 1e6) + " kbit/s";
}

std::string format_duration(std::chrono::nanoseconds duration) {
  auto ns = static_cast<double>(duration.count());
  double magnitude = std::fabs(ns);
  if (magnitude < 1e3) return fmt::format("{} ns", duration.count());
  if (magnitude < 1e6) return three_digits(ns / 1e3) + " us";
  if (magnitude < 1e9) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

double gbit_per_s(std::uint64_t bytes, std::chrono::nanoseconds elapsed) {
  return static_cast<double>(bytes) * 8.0 / static_cast<double>(elapsed.count());
}

}  // namespace railgauge
