#include "base/tsc.h"

#include <gtest/gtest.h>

#include <thread>

namespace railgauge {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(TickClock, AgreesWithTheSystemClock) {
  TickClock clock = TickClock::calibrate();
  auto begin = Clock::now();
  std::uint64_t ticks = clock.now_ordered();
  std::this_thread::sleep_for(milliseconds(37));
  std::uint64_t span = clock.now_ordered() - ticks;
  auto elapsed = Clock::now() - begin;
  // The outer pair of readings encloses the inner one; 1 ms allows for a preemption between them.
  EXPECT_LE(clock.duration_of(span), elapsed + nanoseconds(elapsed.count() / 1000));
  EXPECT_GE(clock.duration_of(span), elapsed - milliseconds(1));
}

TEST(TickClock, ConvertsThereAndBack) {
  TickClock clock = TickClock::calibrate(milliseconds(3));
  for (std::int64_t ns : {17LL, 999'983LL, 24LL * 3600 * 1'000'000'007LL}) {
    auto back = clock.nanoseconds_of(clock.ticks_of(nanoseconds(ns)));
    EXPECT_NEAR(static_cast<double>(back), static_cast<double>(ns), 2.0 + static_cast<double>(ns) * 1e-9);
  }
}

TEST(TickClock, PlainTicksAreNanoseconds) {
  TickClock clock = TickClock::plain();
  EXPECT_FALSE(clock.uses_counter());
  EXPECT_EQ(clock.nanoseconds_of(123'457), 123'457U);
  EXPECT_EQ(clock.ticks_of(nanoseconds(-5)), 0U);
}

}  // namespace
}  // namespace railgauge
