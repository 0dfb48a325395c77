#include "tcp/softirq.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"

namespace railgauge::tcp {
namespace {

constexpr int kSoftirqColumn = 7;  // user nice system idle iowait irq softirq

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

void parse_line(std::string_view line, long ticks_per_second, SoftirqTimes& out) {
  auto word = next_word(line);
  if (word.substr(0, 3) != "cpu") return;
  const auto cpu = number<int>(word.substr(3));
  for (int column = 1; column <= kSoftirqColumn; ++column) word = next_word(line);
  const auto ticks = number<std::int64_t>(word);
  if (!cpu || !ticks) return;  // also the line of all CPUs together
  out[*cpu] = std::chrono::nanoseconds(*ticks * (1'000'000'000 / ticks_per_second));
}

}  // namespace

SoftirqTimes parse_softirq(std::string_view proc_stat, long ticks_per_second) {
  SoftirqTimes out;
  while (!proc_stat.empty()) {
    const auto end = std::min(proc_stat.find('\n'), proc_stat.size());
    parse_line(proc_stat.substr(0, end), ticks_per_second, out);
    proc_stat.remove_prefix(std::min(end + 1, proc_stat.size()));
  }
  return out;
}

std::optional<SoftirqTimes> read_softirq() {
  const auto file = read_text_file("/proc/stat");
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (!file.text || ticks <= 0) return std::nullopt;
  return parse_softirq(*file.text, ticks);
}

std::chrono::nanoseconds softirq_increase(const SoftirqTimes& before, const SoftirqTimes& after, const std::vector<int>& cpus) {
  std::chrono::nanoseconds sum{};
  for (const auto& [cpu, then] : before) {
    const auto now = after.find(cpu);
    if (now == after.end()) continue;
    if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) continue;
    sum += std::max(now->second - then, std::chrono::nanoseconds{});
  }
  return sum;
}

}  // namespace railgauge::tcp
