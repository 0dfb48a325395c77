#include "base/tsc.h"

#include <cmath>
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
#endif

}  // namespace

TickClock TickClock::calibrate(std::chrono::nanoseconds span) {
  TickClock clock;
#if defined(__x86_64__)
  if (!has_invariant_counter()) return clock;
  clock.counter_ = true;
  const Instant begin = clock.read_both();
  std::this_thread::sleep_for(span);
  const Instant end = clock.read_both();
  if (end.ticks <= begin.ticks || end.at <= begin.at) return plain();
  const auto ns = static_cast<Wide>((end.at - begin.at).count()) << 32;
  clock.ns_per_tick_q32_ = static_cast<std::uint64_t>(ns / (end.ticks - begin.ticks));
  if (clock.ns_per_tick_q32_ == 0) return plain();
#endif
  return clock;
}

TickClock::Instant TickClock::read_both() const noexcept {
  Instant best{.ticks = 0, .at = {}, .gap_ticks = ~0ULL};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = now();
    const auto at = Clock::now();
    const std::uint64_t gap = now() - before;
    if (gap < best.gap_ticks) best = {.ticks = before + gap / 2, .at = at, .gap_ticks = gap};
  }
  return best;
}

std::optional<double> TickClock::drift_ppm(const Instant& begin, const Instant& end) const noexcept {
  constexpr double kTolerated = 100e-6;
  const auto by_clock = static_cast<double>((end.at - begin.at).count());
  // Signed: after a virtual machine has moved to another host the counter may stand lower than before.
  const double by_ticks = static_cast<double>(static_cast<std::int64_t>(end.ticks - begin.ticks)) / ticks_per_ns();
  const double error = static_cast<double>(begin.gap_ticks + end.gap_ticks) / 2 / ticks_per_ns();
  if (by_clock <= 0 || std::abs(by_ticks - by_clock) <= kTolerated * by_clock + error) return std::nullopt;
  return (by_ticks - by_clock) / by_clock * 1e6;
}

}  // namespace railgauge
