#include "host/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace railgauge::host {
namespace {

constexpr std::string_view kBlank(" \t\n\r\v\f\0", 7);
/// Kernels are built for at most 8192 CPUs; the limit keeps a mangled file from asking for gigabytes.
constexpr int kMaxCpu = 65535;

template <typename Integer>
std::optional<Integer> parse_whole(std::string_view text, int base) {
  Integer value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// One element of a list: "8" or "0-3".
bool append_range(std::string_view element, std::vector<int>& cpus) {
  std::size_t dash = element.find('-');
  std::optional<int> first = parse_whole<int>(element.substr(0, dash), 10);
  std::optional<int> last = dash == std::string_view::npos ? first : parse_whole<int>(element.substr(dash + 1), 10);
  if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu) return false;
  for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  return true;
}

}  // namespace

std::string_view trim(std::string_view text) noexcept {
  std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = text.find_first_not_of(kBlank);
  while (at != std::string_view::npos) {
    std::size_t end = text.find_first_of(kBlank, at);
    words.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::optional<std::vector<int>> parse_cpu_sequence(std::string_view text) {
  std::vector<int> cpus;
  text = trim(text);
  while (!text.empty()) {
    std::size_t comma = text.find(',');
    if (!append_range(trim(text.substr(0, comma)), cpus)) return std::nullopt;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return cpus;
}

std::optional<std::vector<int>> parse_cpulist(std::string_view text) {
  auto cpus = parse_cpu_sequence(text);
  if (!cpus) return std::nullopt;
  std::sort(cpus->begin(), cpus->end());
  cpus->erase(std::unique(cpus->begin(), cpus->end()), cpus->end());
  return cpus;
}

std::string format_cpulist(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

std::optional<std::string> value_of_key(std::string_view text, std::string_view key, char separator) {
  while (!text.empty()) {
    std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    std::size_t at = line.find(separator);
    if (at != std::string_view::npos && trim(line.substr(0, at)) == key) return std::string(trim(line.substr(at + 1)));
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.substr(0, 2) == "0x") return parse_whole<std::int64_t>(text.substr(2), 16);
  return parse_whole<std::int64_t>(text, 10);
}

std::optional<std::uint64_t> parse_kernel_size(std::string_view text) {
  std::size_t digits = text.find_first_not_of("0123456789");
  std::optional<std::uint64_t> number = parse_whole<std::uint64_t>(text.substr(0, digits), 10);
  if (!number) return std::nullopt;
  std::string_view unit = digits == std::string_view::npos ? std::string_view() : trim(text.substr(digits));
  if (unit.empty()) return number;
  std::uint64_t factor = 0;
  if (unit == "K" || unit == "kB") factor = 1ULL << 10;
  if (unit == "M") factor = 1ULL << 20;
  if (unit == "G") factor = 1ULL << 30;
  if (factor == 0 || *number > UINT64_MAX / factor) return std::nullopt;
  return *number * factor;
}

std::string chosen_word(std::string_view text) {
  std::size_t open = text.find('[');
  std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(trim(text));
  return std::string(text.substr(open + 1, close - open - 1));
}

}  // namespace railgauge::host
