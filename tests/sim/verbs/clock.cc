#include "clock.h"

namespace railgauge::simverbs {

namespace {

double calibrate() noexcept {
#if defined(__x86_64__)
  constexpr std::uint64_t kWindowNs = 300'000;  // 20 ns of error in reading the clock is then below 0.01 %
  const std::uint64_t t0 = now_ns();
  const std::uint64_t c0 = ticks();
  std::uint64_t t1 = t0;
  while (t1 - t0 < kWindowNs) t1 = now_ns();
  return static_cast<double>(ticks() - c0) / static_cast<double>(t1 - t0);
#else
  return 1.0;
#endif
}

}  // namespace

double ticks_per_ns() noexcept {
  static const double rate = calibrate();
  return rate;
}

}  // namespace railgauge::simverbs
