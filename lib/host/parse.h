#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::host {

/// Without spaces, tabs, newlines and NULs at both ends.
std::string_view trim(std::string_view text) noexcept;

/// Pieces between runs of white space.
std::vector<std::string_view> split_words(std::string_view text);

/// "6,0-2" → {6,0,1,2}: as written, one CPU for each thread in turn. "" → {}. Nothing for what parse_cpulist does not take.
std::optional<std::vector<int>> parse_cpu_sequence(std::string_view text);

/// "0-3,8" → {0,1,2,3,8}, ascending, without doubles; "" → {} (a node without CPUs). Nothing for malformed text, a falling
/// range, or a CPU beyond 65535.
std::optional<std::vector<int>> parse_cpulist(std::string_view text);

/// {0,1,2,3,8} → "0-3,8". `cpus` ascending.
std::string format_cpulist(const std::vector<int>& cpus);

/// The value of the first line "key<spaces><separator><spaces>value": /proc/cpuinfo, /proc/meminfo, /proc/self/status.
std::optional<std::string> value_of_key(std::string_view text, std::string_view key, char separator = ':');

/// A whole number and nothing else: "42", "-1", "0x1a".
std::optional<std::int64_t> parse_integer(std::string_view text);

/// "32768K" → 33554432: the size files of the CPU caches (K, M, G binary; bare bytes), and "16384 kB" of /proc/meminfo.
std::optional<std::uint64_t> parse_kernel_size(std::string_view text);

/// "always [madvise] never" → "madvise": the word in brackets, else the whole text.
std::string chosen_word(std::string_view text);

}  // namespace railgauge::host
