#include "stats/summary.h"

#include <gtest/gtest.h>

#include <vector>

namespace railgauge::stats {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Consecutive intervals of 100 ms with these rates in Gbit/s (1 Gbit/s is 12,500,000 B in 100 ms).
std::vector<Interval> series_of(const std::vector<double>& gbit_per_s) {
  std::vector<Interval> out;
  for (double rate : gbit_per_s) {
    const auto bytes = static_cast<std::uint64_t>(rate * 12'500'000);
    out.push_back({milliseconds(100) * static_cast<int>(out.size()), milliseconds(100), bytes, bytes / 1'000, false});
  }
  return out;
}

TEST(ThroughputSummary, FindsTheDipThatTheMeanHides) {
  std::vector<double> rates(120, 40);
  rates[57] = 4;
  rates[91] = 12;
  const ThroughputSummary summary = throughput_summary(series_of(rates), milliseconds(100));
  EXPECT_DOUBLE_EQ(*summary.min_gbit_per_s.value, 4);
  EXPECT_DOUBLE_EQ(*summary.p1_gbit_per_s.value, 12);     // ceil(1.2) = 2nd of 120
  EXPECT_DOUBLE_EQ(*summary.p5_gbit_per_s.value, 40);     // 6th
  EXPECT_DOUBLE_EQ(*summary.median_gbit_per_s.value, 40);
  EXPECT_NEAR(*summary.mean_gbit_per_s.value, (118 * 40 + 16) / 120.0, 1e-9);
  EXPECT_NEAR(*summary.messages_per_s.value, (118 * 40 + 16) * 12'500 / 12.0, 1e-6);
}

TEST(ThroughputSummary, LeavesOutWarmUpAndShortIntervalsButNotTheirBytes) {
  std::vector<Interval> intervals = {{milliseconds(-100), milliseconds(100), 999'000'000, 9, true},
                                     {milliseconds(0), milliseconds(100), 25'000'000, 25, false},
                                     {milliseconds(100), milliseconds(50), 25'000'000, 25, false},   // just whole: 4 Gbit/s
                                     {milliseconds(150), milliseconds(49), 1, 1, false}};            // too short
  const ThroughputSummary summary = throughput_summary(intervals, milliseconds(100));
  EXPECT_EQ(summary.whole_intervals, 2U);
  EXPECT_DOUBLE_EQ(*summary.min_gbit_per_s.value, 2);
  EXPECT_DOUBLE_EQ(*summary.max_gbit_per_s.value, 4);
  EXPECT_EQ(summary.bytes, 50'000'001U);
  EXPECT_EQ(summary.elapsed, milliseconds(199));
  EXPECT_DOUBLE_EQ(*summary.mean_gbit_per_s.value, 50'000'001 * 8.0 / 199e6);
}

TEST(ThroughputSummary, SaysWhatIsMissingAndWhy) {
  const ThroughputSummary summary = throughput_summary(series_of({3, 3, 3, 4}), milliseconds(100));
  EXPECT_EQ(summary.p1_gbit_per_s.reason, "4 whole intervals; p1 needs 101");
  EXPECT_EQ(summary.p5_gbit_per_s.reason, "4 whole intervals; p5 needs 21");
  EXPECT_FALSE(summary.ci95_half_width_gbit_per_s.value);
  EXPECT_FALSE(summary.steady);
  EXPECT_EQ(summary.steady_reason, "4 whole intervals, 10 are needed");
  const ThroughputSummary nothing = throughput_summary({}, milliseconds(100));
  EXPECT_FALSE(nothing.mean_gbit_per_s.value);
  EXPECT_FALSE(nothing.min_gbit_per_s.value);
  EXPECT_FALSE(nothing.mean_gbit_per_s.reason.empty());
}

TEST(ThroughputSummary, HasPercentilesOnlyWhereTheyAreNotTheMinimum) {
  // Nearest rank: ceil(0.05 x 20) = 1 is the minimum, ceil(0.05 x 21) = 2 the one above it; likewise 100 and 101 for p1.
  auto rising = [](int n) {
    std::vector<double> rates;
    for (int i = 0; i < n; ++i) rates.push_back(40 + i);
    return throughput_summary(series_of(rates), milliseconds(100));
  };
  EXPECT_EQ(rising(20).p5_gbit_per_s.reason, "20 whole intervals; p5 needs 21");
  EXPECT_DOUBLE_EQ(*rising(21).p5_gbit_per_s.value, 41);
  EXPECT_EQ(rising(100).p1_gbit_per_s.reason, "100 whole intervals; p1 needs 101");
  EXPECT_DOUBLE_EQ(*rising(101).p1_gbit_per_s.value, 41);
}

TEST(ThroughputSummary, TakesTheMeanFromTheTotals) {
  const Totals totals{1'000'000'000, 70, milliseconds(500)};
  const ThroughputSummary summary = throughput_summary(series_of({3, 3, 3}), milliseconds(100), totals);
  EXPECT_DOUBLE_EQ(*summary.mean_gbit_per_s.value, 16);
  EXPECT_DOUBLE_EQ(*summary.messages_per_s.value, 140);
  EXPECT_DOUBLE_EQ(*summary.min_gbit_per_s.value, 3);
}

TEST(Steadiness, JudgesOnlyTheLastTen) {
  std::vector<double> rates = {5, 90, 3};
  rates.insert(rates.end(), 10, 40);
  EXPECT_EQ(throughput_summary(series_of(rates), milliseconds(100)).steady, true);
}

TEST(Steadiness, SeesADriftOfOnePercentAWindow) {
  // 100, 100.2, … 101.8: slope 0.2 an interval, ten intervals 2 of a mean of 100.9 → 1.98 %.
  std::vector<double> drifting, slow;
  for (int i = 0; i < 10; ++i) drifting.push_back(100 + 0.2 * i);
  // 0.05 an interval: 0.5 of 100.2 → 0.50 %.
  for (int i = 0; i < 10; ++i) slow.push_back(100 + 0.05 * i);
  const ThroughputSummary summary = throughput_summary(series_of(drifting), milliseconds(100));
  EXPECT_EQ(summary.steady, false);
  EXPECT_NE(summary.steady_reason.find("drift +1.98 %"), std::string::npos) << summary.steady_reason;
  EXPECT_EQ(throughput_summary(series_of(slow), milliseconds(100)).steady, true);
}

TEST(Steadiness, SeesAVariationOfThreePercent) {
  // ±4 in the pattern + − − + + − − + (no drift to speak of): deviation √(16·10/9) = 4.2 of 100.
  const std::vector<double> rates = {104, 96, 96, 104, 104, 96, 96, 104, 96, 104};
  const ThroughputSummary summary = throughput_summary(series_of(rates), milliseconds(100));
  EXPECT_EQ(summary.steady, false);
  EXPECT_NE(summary.steady_reason.find("variation 4.22 %"), std::string::npos) << summary.steady_reason;
}

TEST(Steadiness, IsNotGivenToSilence) {
  const ThroughputSummary summary = throughput_summary(series_of(std::vector<double>(11, 0)), milliseconds(100));
  EXPECT_EQ(summary.steady, false);
  EXPECT_DOUBLE_EQ(*summary.mean_gbit_per_s.value, 0);
}

/// `bytes` in each of `n` intervals of `length`, as many messages as there are hundreds; the first `warm` are warm-up.
Series steps(milliseconds window_begin, milliseconds length, std::vector<std::uint64_t> bytes, int warm = 0) {
  Series series{window_begin, {}};
  nanoseconds at = -length * warm;
  for (std::uint64_t b : bytes) {
    series.intervals.push_back({at, length, b, b / 100, at < nanoseconds(0)});
    at += length;
  }
  return series;
}

TEST(Combine, AddsWhatRanSideBySide) {
  const std::vector<Series> both = {{milliseconds(7), series_of({30, 31, 30})}, {milliseconds(7), series_of({20, 10, 20})}};
  const Combined sum = combine(both, milliseconds(100), Extent::common);
  EXPECT_FALSE(sum.apart);
  EXPECT_DOUBLE_EQ(*sum.summary.min_gbit_per_s.value, 41);
  EXPECT_DOUBLE_EQ(*sum.summary.max_gbit_per_s.value, 50);
  EXPECT_NEAR(*sum.summary.mean_gbit_per_s.value, 47, 1e-9);
}

TEST(Combine, CountsOnlyTheTimeInWhichAllRan) {
  // A from 1000 to 1300 ms, B from 1050 to 1350 ms: common are 1050 … 1300. Of A that is half of its first hundred, then 200
  // and 300; of B 2000 twice and half of 4000.
  const std::vector<Series> series = {steps(milliseconds(1000), milliseconds(100), {100, 200, 300}),
                                      steps(milliseconds(1050), milliseconds(100), {2000, 2000, 4000})};
  const Combined sum = combine(series, milliseconds(100), Extent::common);
  EXPECT_FALSE(sum.apart);
  EXPECT_EQ(sum.summary.elapsed, milliseconds(250));
  EXPECT_EQ(sum.summary.bytes, 50U + 200 + 300 + 2000 + 2000 + 2000);
  const std::vector<Interval> wanted = {{milliseconds(0), milliseconds(100), 50 + 100 + 2000, 0, false},
                                        {milliseconds(100), milliseconds(100), 100 + 150 + 2000, 0, false},
                                        {milliseconds(200), milliseconds(50), 150 + 2000, 0, false}};
  ASSERT_EQ(sum.intervals.size(), 1 + wanted.size());
  EXPECT_EQ(sum.intervals[0], (Interval{milliseconds(-50), milliseconds(50), 50, 0, true}));  // before all ran: for the picture only
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(sum.intervals[i + 1].begin, wanted[i].begin);
    EXPECT_EQ(sum.intervals[i + 1].length, wanted[i].length);
    EXPECT_EQ(sum.intervals[i + 1].bytes, wanted[i].bytes);
    EXPECT_FALSE(sum.intervals[i + 1].warm_up);
  }
}

TEST(Combine, AThreadThatNoticedTheWindowLateGivesWhatItMovedInIt) {
  // Both began at 900 ms. A's window is 1000 … 1200. B was off the CPU and saw the warm-up's end at 1150 only: three of its
  // intervals of 50 ms lie in A's window although they are its warm-up. B's own window goes on to 1350, uncounted.
  const std::vector<Series> series = {steps(milliseconds(1000), milliseconds(100), {500, 1000, 1000}, 1),
                                      steps(milliseconds(1150), milliseconds(50), {1, 2, 300, 300, 300, 600, 7000, 7000, 7000}, 5)};
  const Combined sum = combine(series, milliseconds(100), Extent::common);
  EXPECT_EQ(sum.summary.elapsed, milliseconds(200));
  EXPECT_EQ(sum.summary.bytes, 2000U + 300 + 300 + 300 + 600);
  EXPECT_EQ(sum.summary.messages, 20U + 3 + 3 + 3 + 6);
  EXPECT_TRUE(sum.intervals.front().warm_up);
  EXPECT_EQ(sum.intervals.front().begin, milliseconds(-100));
  EXPECT_EQ(sum.intervals.front().bytes, 503U);
}

TEST(Combine, TurnsTakenOneAfterTheOtherAreNoSum) {
  // The fault that this is for: four threads that ran one after the other, 10 Gbit/s each, are 10 Gbit/s and not 40.
  std::vector<Series> series;
  for (int k = 0; k < 4; ++k) series.push_back(steps(milliseconds(100 * k), milliseconds(100), {125'000'000}));
  const Combined sum = combine(series, milliseconds(100), Extent::common);
  EXPECT_TRUE(sum.apart);
  EXPECT_EQ(sum.summary.elapsed, milliseconds(400));
  EXPECT_NEAR(*sum.summary.mean_gbit_per_s.value, 10, 1e-9);
  EXPECT_NEAR(*sum.summary.max_gbit_per_s.value, 10, 1e-6);
}

TEST(Combine, ByCountTakesEveryMessageFromTheFirstBeginToTheLastEnd) {
  const std::vector<Series> series = {steps(milliseconds(1000), milliseconds(7), {9900, 1'000'100, 3000}, 1),
                                      steps(milliseconds(1005), milliseconds(11), {8800, 2'000'000}, 1)};
  const Combined sum = combine(series, milliseconds(4), Extent::whole);
  EXPECT_FALSE(sum.apart);
  EXPECT_EQ(sum.summary.elapsed, milliseconds(16));  // 1000 … 1016
  EXPECT_EQ(sum.summary.bytes, 3'003'100U);
  EXPECT_EQ(sum.summary.messages, 10'001U + 30 + 20'000);
}

TEST(Combine, KeepsTotalsOfUnevenSeriesExact) {
  std::vector<Series> series(3);
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < series.size(); ++k) {
    const auto length = milliseconds(7 + 4 * static_cast<int>(k));
    series[k].window_begin = milliseconds(1'000'000'007);
    for (int i = 0; i < 23; ++i) {
      series[k].intervals.push_back({length * i, length, 777'777 + static_cast<std::uint64_t>(i), 13, false});
      bytes += 777'777 + static_cast<std::uint64_t>(i);
    }
  }
  EXPECT_EQ(combine(series, milliseconds(10), Extent::whole).summary.bytes, bytes);
  EXPECT_EQ(combine(series, milliseconds(10), Extent::whole).summary.messages, 3U * 23 * 13);
}

TEST(LatencySummary, FillsWhatTheSamplesCarry) {
  LatencyRecorder recorder;
  for (int i = 1; i <= 1'500; ++i) recorder.record(microseconds(i), nanoseconds(1'000 + i % 7));
  recorder.record(microseconds(1'501), milliseconds(3));
  const LatencySummary summary = latency_summary(recorder);
  EXPECT_EQ(summary.samples, 1'501U);
  EXPECT_DOUBLE_EQ(*summary.min_ns.value, 1'000);
  EXPECT_DOUBLE_EQ(*summary.p50_ns.value, 1'003);
  EXPECT_DOUBLE_EQ(*summary.p99_ns.value, 1'006);
  EXPECT_EQ(summary.p99_9_ns.reason, "1501 samples; p99.9 needs 10000");
  EXPECT_DOUBLE_EQ(*summary.max_ns.value, 3'000'000);
  ASSERT_EQ(summary.worst.size(), 10U);
  EXPECT_EQ(summary.worst[0], (Outlier{microseconds(1'501), milliseconds(3)}));
}

}  // namespace
}  // namespace railgauge::stats
