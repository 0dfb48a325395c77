#include "stats/interval_recorder.h"

#include <gtest/gtest.h>

namespace railgauge::stats {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const Clock::time_point kOrigin = Clock::time_point(hours(37));

TEST(IntervalRecorder, SubtractsTheWarmUpAndKeepsItFlagged) {
  IntervalRecorder recorder(milliseconds(100));
  recorder.start(kOrigin, {500, 5});
  recorder.sample(kOrigin + milliseconds(100), {1'500, 15});
  recorder.begin_window(kOrigin + milliseconds(130), {1'700, 17});
  recorder.sample(kOrigin + milliseconds(230), {2'900, 29});
  recorder.sample(kOrigin + milliseconds(335), {4'100, 41});
  recorder.end_window(kOrigin + milliseconds(360), {4'400, 44});
  const std::vector<Interval> wanted = {{milliseconds(-130), milliseconds(100), 1'000, 10, true},
                                        {milliseconds(-30), milliseconds(30), 200, 2, true},
                                        {milliseconds(0), milliseconds(100), 1'200, 12, false},
                                        {milliseconds(100), milliseconds(105), 1'200, 12, false},
                                        {milliseconds(205), milliseconds(25), 300, 3, false}};
  EXPECT_EQ(recorder.intervals(), wanted);
  EXPECT_EQ(recorder.totals(), (Totals{2'700, 27, milliseconds(230)}));
  EXPECT_EQ(recorder.window_begin(), kOrigin + milliseconds(130));
}

TEST(IntervalRecorder, WorksWithoutWarmUp) {
  IntervalRecorder recorder(milliseconds(10));
  recorder.begin_window(kOrigin, {77, 7});
  recorder.end_window(kOrigin + milliseconds(4), {99, 9});
  ASSERT_EQ(recorder.intervals().size(), 1U);
  EXPECT_EQ(recorder.intervals()[0], (Interval{milliseconds(0), milliseconds(4), 22, 2, false}));
}

TEST(IntervalRecorder, LeavesTheIntervalOpenWhenASampleComesEarly) {
  IntervalRecorder recorder(milliseconds(100));
  recorder.begin_window(kOrigin, {});
  recorder.sample(kOrigin + milliseconds(74), {7, 1});   // more than a quarter early
  EXPECT_TRUE(recorder.intervals().empty());
  recorder.sample(kOrigin + milliseconds(76), {8, 2});
  ASSERT_EQ(recorder.intervals().size(), 1U);
  EXPECT_EQ(recorder.intervals()[0].bytes, 8U);
  EXPECT_EQ(recorder.next_due(), kOrigin + milliseconds(176));
}

TEST(IntervalRecorder, DoublesTheIntervalInsteadOfGrowing) {
  // 3,001 samples of 100 ms, each moving 1,000 bytes in 3 messages, into room for 16; the caller keeps its own pace.
  IntervalRecorder recorder(milliseconds(100), 16);
  recorder.start(kOrigin, {50, 1});
  std::uint64_t n = 0;
  auto counters = [&] { return Counters{50 + n * 1'000, 1 + n * 3}; };
  auto now = [&] { return kOrigin + milliseconds(100 * static_cast<int>(n)); };
  for (n = 1; n <= 5; ++n) recorder.sample(now(), counters());
  n = 5;
  recorder.begin_window(now(), counters());
  for (n = 6; n <= 3'006; ++n) {
    recorder.sample(now(), counters());
    ASSERT_LE(recorder.intervals().size(), 16U);
  }
  n = 3'006;
  recorder.end_window(now(), counters());
  EXPECT_EQ(recorder.totals(), (Totals{3'001'000, 9'003, milliseconds(300'100)}));
  std::uint64_t bytes = 0;
  nanoseconds end{};
  std::size_t short_ones = 0, measured = 0;
  for (const Interval& interval : recorder.intervals()) {
    if (interval.warm_up) continue;
    ASSERT_EQ(interval.begin, end) << "no gap, no overlap";
    end = interval.begin + interval.length;
    bytes += interval.bytes;
    ++measured;
    if (interval.length != recorder.nominal()) ++short_ones;
    ASSERT_EQ(interval.bytes, static_cast<std::uint64_t>(interval.length / milliseconds(1)) * 10);
  }
  EXPECT_EQ(bytes, 3'001'000U);
  EXPECT_EQ(end, milliseconds(300'100));
  EXPECT_LE(short_ones, 1U) << "only the last may be short";
  EXPECT_GE(measured, 8U);
  EXPECT_EQ(recorder.nominal(), milliseconds(25'600));
  EXPECT_EQ(recorder.summary().interval, milliseconds(25'600));
}

TEST(IntervalRecorder, SummaryComesFromTheSnapshotsNotFromTheIntervals) {
  IntervalRecorder recorder(milliseconds(10));
  recorder.begin_window(kOrigin, {1'000, 10});
  for (int i = 1; i <= 12; ++i) recorder.sample(kOrigin + milliseconds(10 * i), {1'000 + 125'000ULL * static_cast<unsigned>(i), 10});
  recorder.end_window(kOrigin + milliseconds(121), {1'512'500, 12});
  const ThroughputSummary summary = recorder.summary();
  EXPECT_EQ(summary.bytes, 1'511'500U);
  EXPECT_EQ(summary.whole_intervals, 12U);
  EXPECT_DOUBLE_EQ(*summary.median_gbit_per_s.value, 0.1);            // 125,000 B in 10 ms
  EXPECT_DOUBLE_EQ(*summary.mean_gbit_per_s.value, 1'511'500.0 * 8 / 121e6);
}

}  // namespace
}  // namespace railgauge::stats
