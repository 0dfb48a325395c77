/// Time of the stand-in device.
#pragma once
#include <time.h>

#include <cstdint>

#include "lock.h"

namespace railgauge::simverbs {

/// CLOCK_MONOTONIC, ns: the same in every process of the machine.
inline std::uint64_t now_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// A cheap counter that only moves forward; its rate is `ticks_per_ns()`.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

/// Measured against CLOCK_MONOTONIC once per process (about 0.3 ms); does not rely on the advertised frequency.
double ticks_per_ns() noexcept;

/// Spends time as a posted write to a device register would: the CPU is busy and gets nothing done.
/// Returns the counter at the end.
inline std::uint64_t spend_ticks(std::uint64_t count) noexcept {
  const std::uint64_t begin = ticks();
  std::uint64_t now = begin;
  while (now - begin < count) now = ticks();
  return now;
}

}  // namespace railgauge::simverbs
