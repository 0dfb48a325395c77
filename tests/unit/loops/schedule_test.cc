#include "loops/schedule.h"

#include <gtest/gtest.h>

namespace railgauge::loops {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Phase = Schedule::Phase;

// Plain ticks are nanoseconds, so instants can be chosen freely.
constexpr std::uint64_t kMs = 1'000'000;

TEST(Schedule, GoesThroughWarmUpWindowAndEnd) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = milliseconds(25), .duration = milliseconds(30), .interval = milliseconds(10)}, clock, {});
  EXPECT_FALSE(s.due(1ULL << 62));  // not before it has started
  s.start(1000 * kMs, {});
  EXPECT_FALSE(s.due(1009 * kMs));
  EXPECT_TRUE(s.due(1010 * kMs));
  EXPECT_EQ(s.on_due(1010 * kMs, {100, 1}), Phase::warm_up);
  EXPECT_EQ(s.on_due(1020 * kMs, {200, 2}), Phase::warm_up);
  EXPECT_FALSE(s.due(1024 * kMs));
  EXPECT_EQ(s.on_due(1026 * kMs, {300, 3}), Phase::window);
  EXPECT_EQ(s.window_tick(), 1026 * kMs);
  EXPECT_EQ(s.on_due(1036 * kMs, {400, 4}), Phase::window);
  EXPECT_FALSE(s.due(1055 * kMs) && !s.due(1046 * kMs));
  EXPECT_EQ(s.on_due(1056 * kMs, {900, 9}), Phase::over);
  EXPECT_FALSE(s.due(1ULL << 62));
  EXPECT_EQ(s.recorder().totals().messages, 6U);  // 9 at the end, 3 at the begin
  EXPECT_EQ(s.recorder().totals().bytes, 600U);
}

TEST(Schedule, WithoutWarmUpTheWindowOpensAtOnce) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = {}, .duration = milliseconds(30), .interval = milliseconds(10)}, clock, {});
  s.start(77 * kMs, {50, 5});
  EXPECT_EQ(s.phase(), Phase::window);
  EXPECT_TRUE(s.measured());
}

TEST(Schedule, WithoutDurationItLastsUntilFinished) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = {}, .duration = {}, .interval = milliseconds(10)}, clock, {});
  s.start(0, {});
  EXPECT_EQ(s.on_due(3'600'000 * kMs, {1, 1}), Phase::window);
  s.finish({7, 7});
  EXPECT_EQ(s.phase(), Phase::over);
  EXPECT_EQ(s.recorder().totals().messages, 7U);
}

TEST(Schedule, ByCountTheLoopOpensTheWindow) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = milliseconds(25), .duration = milliseconds(30), .interval = milliseconds(10), .by_count = true}, clock, {});
  s.start(1000 * kMs, {});
  EXPECT_EQ(s.on_due(1026 * kMs, {300, 3}), Phase::settling);
  EXPECT_FALSE(s.due(1ULL << 62));
  EXPECT_FALSE(s.measured());
  s.open({500, 5});
  EXPECT_EQ(s.phase(), Phase::window);
  EXPECT_EQ(s.on_due(clock.now() + 3'600'000 * kMs, {600, 6}), Phase::window);  // no duration ends it
  s.finish({700, 7});
  EXPECT_EQ(s.recorder().totals().messages, 2U);
  Schedule at_once({.warm_up = {}, .duration = {}, .interval = milliseconds(10), .by_count = true}, clock, {});
  at_once.start(clock.now(), {});
  EXPECT_EQ(at_once.phase(), Phase::settling);
}

TEST(Schedule, TheSeriesBeginsAtTheCommonTickHoweverLateTheThread) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = milliseconds(25), .duration = milliseconds(30), .interval = milliseconds(10)}, clock, {});
  const std::uint64_t tick = clock.now() - 40 * kMs;  // this thread was off the CPU for 40 ms
  s.start(tick, {});
  s.on_due(clock.now(), {900, 9});
  s.finish({1000, 10});
  const stats::Series series = s.recorder().series();
  ASSERT_FALSE(series.intervals.empty());
  const auto begin = series.window_begin + series.intervals.front().begin;
  EXPECT_NEAR(static_cast<double>(begin.count()), static_cast<double>(tick), 1e6);  // plain ticks are nanoseconds of Clock
  EXPECT_EQ(series.intervals.front().bytes, 900U);
}

TEST(Schedule, AStopInTheWarmUpLeavesNothingMeasured) {
  TickClock clock = TickClock::plain();
  Schedule s({.warm_up = milliseconds(25), .duration = milliseconds(30), .interval = milliseconds(10)}, clock, {});
  s.start(0, {});
  s.finish({7, 7});
  EXPECT_FALSE(s.measured());
}

TEST(Schedule, TellsTheLiveLineEachIncrementOnce) {
  TickClock clock = TickClock::plain();
  std::atomic<std::uint64_t> bytes{1000};
  std::atomic<std::uint64_t> messages{10};
  Schedule s({.warm_up = {}, .duration = milliseconds(30), .interval = milliseconds(10)}, clock, {&bytes, &messages});
  s.start(0, {});
  s.on_due(10 * kMs, {300, 3});
  s.on_due(20 * kMs, {500, 5});
  s.finish({700, 7});
  EXPECT_EQ(bytes.load(), 1700U);
  EXPECT_EQ(messages.load(), 17U);
}

}  // namespace
}  // namespace railgauge::loops
