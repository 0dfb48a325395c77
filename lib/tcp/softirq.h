#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::tcp {

/// CPU → time spent in soft interrupts since boot. Resolution of the kernel's tick (10 ms as reported).
using SoftirqTimes = std::map<int, std::chrono::nanoseconds>;

/// The softirq column of the text of /proc/stat (proc(5): seventh column, in USER_HZ). Malformed lines are left out. Pure.
SoftirqTimes parse_softirq(std::string_view proc_stat, long ticks_per_second);

/// Reads /proc/stat; empty when unreadable.
std::optional<SoftirqTimes> read_softirq();

/// The increase over `cpus` (all when empty). A CPU that is missing before or after counts nothing.
std::chrono::nanoseconds softirq_increase(const SoftirqTimes& before, const SoftirqTimes& after, const std::vector<int>& cpus);

}  // namespace railgauge::tcp
