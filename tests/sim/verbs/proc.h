/// The few facts about processes that are read from /proc.
#pragma once
#include <cstdint>

namespace railgauge::simverbs {

/// Clock ticks since boot at which the process started; 0 when there is no such process (or only its remains).
std::uint64_t process_start_time(std::uint32_t pid) noexcept;

/// Threads of this process.
int thread_count() noexcept;

}  // namespace railgauge::simverbs
