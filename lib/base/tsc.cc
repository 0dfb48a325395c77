#include "base/tsc.h"

#include <thread>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace railgauge {
namespace {

#if defined(__x86_64__)
bool has_invariant_counter() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (1U << 8)) != 0;
}

struct Pair {
  std::uint64_t ticks;
  std::int64_t ns;
};

/// Both clocks at one instant: the tightest of a few tries, so that a preemption in between does not spoil it.
Pair read_both() {
  Pair best{};
  std::uint64_t best_gap = ~0ULL;
  for (int i = 0; i < 16; ++i) {
    std::uint64_t before = __rdtsc();
    auto ns = Clock::now().time_since_epoch().count();
    std::uint64_t after = __rdtsc();
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}
#endif

}  // namespace

TickClock TickClock::calibrate(std::chrono::nanoseconds span) {
  TickClock clock;
#if defined(__x86_64__)
  if (!has_invariant_counter()) return clock;
  Pair begin = read_both();
  std::this_thread::sleep_for(span);
  Pair end = read_both();
  if (end.ticks <= begin.ticks || end.ns <= begin.ns) return clock;
  auto ns = static_cast<Wide>(end.ns - begin.ns) << 32;
  clock.ns_per_tick_q32_ = static_cast<std::uint64_t>(ns / (end.ticks - begin.ticks));
  clock.counter_ = clock.ns_per_tick_q32_ != 0;
  if (!clock.counter_) clock.ns_per_tick_q32_ = 1ULL << 32;
#endif
  return clock;
}

}  // namespace railgauge
