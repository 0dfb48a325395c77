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

TEST(TickClock, SaysWhenItsTicksLeaveTheSystemClock) {
  const TickClock clock = TickClock::plain();  // a tick is a nanosecond
  auto at = [](std::uint64_t ticks, std::int64_t ns, std::uint64_t gap) {
    return TickClock::Instant{.ticks = ticks, .at = Clock::time_point(nanoseconds(ns)), .gap_ticks = gap};
  };
  const auto begin = at(5'000'000'000, 700, 60);
  // 2 s: 100 ppm are 200 us, the readings' error (60 + 40) / 2 = 50 ns.
  EXPECT_FALSE(clock.drift_ppm(begin, at(7'000'200'050, 2'000'000'700, 40)));
  EXPECT_NEAR(clock.drift_ppm(begin, at(7'000'200'051, 2'000'000'700, 40)).value_or(0), 100.0255, 0.0001);
  EXPECT_NEAR(clock.drift_ppm(begin, at(6'999'000'000, 2'000'000'700, 40)).value_or(0), -500, 0.0001);
  EXPECT_LT(clock.drift_ppm(begin, at(4'000'000'000, 2'000'000'700, 40)).value_or(0), -1e6);  // backwards
  // 50 us: 5 ns, beside 530 ns of two slow readings.
  EXPECT_FALSE(clock.drift_ppm(begin, at(5'000'050'500, 50'700, 1000)));
}

TEST(TickClock, DoesNotDriftWithinAMoment) {
  const TickClock clock = TickClock::calibrate();
  const auto begin = clock.read_both();
  std::this_thread::sleep_for(milliseconds(37));
  EXPECT_EQ(clock.drift_ppm(begin, clock.read_both()).value_or(0), 0);
}

TEST(TickClock, PlainTicksAreNanoseconds) {
  TickClock clock = TickClock::plain();
  EXPECT_FALSE(clock.uses_counter());
  EXPECT_EQ(clock.nanoseconds_of(123'457), 123'457U);
  EXPECT_EQ(clock.ticks_of(nanoseconds(-5)), 0U);
}

}  // namespace
}  // namespace railgauge
