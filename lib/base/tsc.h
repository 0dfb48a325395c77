#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"

namespace railgauge {

/// A cheaper clock for measuring loops: the CPU's time-stamp counter where it is constant and never stops (CPUID leaf
/// 80000007H, EDX bit 8, "invariant TSC"), calibrated against Clock; else Clock itself, one tick a nanosecond.
/// Nothing depends on the CPU's advertised frequency. Copies are cheap; any thread.
class TickClock {
 public:
  /// Calibrates over `span` (blocks that long when the counter is usable, else not at all). An end point is uncertain by
  /// about 50 ns, so 20 ms give 5 ppm.
  static TickClock calibrate(std::chrono::nanoseconds span = std::chrono::milliseconds(20));
  /// The system clock, for tests and for comparison.
  static TickClock plain() { return TickClock(); }

  /// Ticks now. May be executed a few nanoseconds early by an out-of-order CPU: for interval edges.
  std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (counter_) return __rdtsc();
#endif
    return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }
  /// Ticks now, not before the loads that precede it are done: for latency samples.
  std::uint64_t now_ordered() const noexcept {
#if defined(__x86_64__)
    if (counter_) {
      _mm_lfence();
      return __rdtsc();
    }
#endif
    return now();
  }
  /// Length of a span of ticks in nanoseconds, rounded down. Spans up to 2^63 ns.
  std::uint64_t nanoseconds_of(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>((static_cast<Wide>(ticks) * ns_per_tick_q32_) >> 32);
  }
  std::chrono::nanoseconds duration_of(std::uint64_t ticks) const noexcept {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds_of(ticks)));
  }
  /// Ticks in a span; a negative span counts as none.
  std::uint64_t ticks_of(std::chrono::nanoseconds span) const noexcept {
    if (span.count() <= 0) return 0;
    return static_cast<std::uint64_t>((static_cast<Wide>(span.count()) << 32) / ns_per_tick_q32_);
  }
  /// One instant on both clocks.
  struct Instant {
    std::uint64_t ticks = 0;
    Clock::time_point at{};
    std::uint64_t gap_ticks = 0;          ///< between the tick before and the one after; ±half of it is the error
  };
  /// The tightest of a few tries, so that a preemption in between does not spoil it; some microseconds. For the ends of a run.
  Instant read_both() const noexcept;
  /// By how much the ticks between two instants are fast (slow: negative) of Clock, in parts per million; nothing where that is
  /// no more than 100 and the error of the readings.
  std::optional<double> drift_ppm(const Instant& begin, const Instant& end) const noexcept;
  bool uses_counter() const noexcept { return counter_; }
  /// Ticks per nanosecond as calibrated; 1 for the system clock.
  double ticks_per_ns() const noexcept { return 4294967296.0 / static_cast<double>(ns_per_tick_q32_); }

 private:
  __extension__ typedef unsigned __int128 Wide;
  TickClock() = default;
  bool counter_ = false;
  std::uint64_t ns_per_tick_q32_ = 1ULL << 32;  ///< fixed point, 32 fractional bits
};

}  // namespace railgauge
