#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge {

// Each parser throws Error{usage} naming the value found and the values wanted, after `what` (the option) if one is given.

/// "64K" → 65536. A whole number with an optional binary suffix k, m, g, t (either case, optionally followed by "iB" or
/// "B"). Throws Error{usage} for anything else: "12abc", "", "-1", "1.5K", overflow.
std::uint64_t parse_size(std::string_view text, std::string_view what = {});

/// One size ("64K"), a doubling sweep ("2..8M": 2, 4, 8, … up to and including 8M) or a list ("1K,3000,1M"); elements of a
/// list may be sweeps. Order is kept. Throws Error{usage}; an empty or falling sweep is one; at most 256 sizes.
std::vector<std::uint64_t> parse_size_list(std::string_view text, std::string_view what = {});

/// "10", "10s", "250ms", "1.5s", "100us", "5m" → nanoseconds; a bare number is seconds. Throws Error{usage}.
std::chrono::nanoseconds parse_duration(std::string_view text, std::string_view what = {});

/// "25G" → 25 (Gbit/s, decimal). Suffix K, M, G, T (bit/s ×10³…10¹²), fractions allowed ("2.5G"); a bare number is Gbit/s.
/// Throws Error{usage}; must be > 0.
double parse_rate_gbit_per_s(std::string_view text, std::string_view what = {});

/// A whole number in [low, high]. Throws Error{usage} naming `what`, the value found and the range.
std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// 65536 → "64 KiB", 3000 → "3000 B", 1572864 → "1.5 MiB". Exact: a size that is no short multiple stays in bytes.
std::string format_size(std::uint64_t bytes);

/// 93.456 → "93.5 Gbit/s", 0.0123 → "12.3 Mbit/s": three significant digits, decimal.
std::string format_gbit_per_s(double gbit_per_s);

/// 1234 ns → "1.23 us": three significant digits in ns, us, ms or s.
std::string format_duration(std::chrono::nanoseconds duration);

/// Payload bits over time, decimal Gbit/s: bytes · 8 / ns. `elapsed` must be > 0.
double gbit_per_s(std::uint64_t bytes, std::chrono::nanoseconds elapsed);

}  // namespace railgauge
