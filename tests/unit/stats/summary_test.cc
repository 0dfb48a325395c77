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
  EXPECT_EQ(summary.p1_gbit_per_s.reason, "4 whole intervals; p1 needs 100");
  EXPECT_EQ(summary.p5_gbit_per_s.reason, "4 whole intervals; p5 needs 20");
  EXPECT_FALSE(summary.ci95_half_width_gbit_per_s.value);
  EXPECT_FALSE(summary.steady);
  EXPECT_EQ(summary.steady_reason, "4 whole intervals, 10 are needed");
  const ThroughputSummary nothing = throughput_summary({}, milliseconds(100));
  EXPECT_FALSE(nothing.mean_gbit_per_s.value);
  EXPECT_FALSE(nothing.min_gbit_per_s.value);
  EXPECT_FALSE(nothing.mean_gbit_per_s.reason.empty());
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

TEST(SumIntervals, AlignsSeriesOfDifferentPace) {
  // A: 100 B in each 10 ms. B starts 5 ms later and moves 40 B in each 20 ms: 10 B by 10 ms, 20 B a step after that.
  const std::vector<std::vector<Interval>> series = {
      {{milliseconds(0), milliseconds(10), 100, 10, false}, {milliseconds(10), milliseconds(10), 100, 10, false}},
      {{milliseconds(5), milliseconds(20), 40, 4, false}}};
  const std::vector<Interval> wanted = {{milliseconds(0), milliseconds(10), 110, 11, false},
                                        {milliseconds(10), milliseconds(10), 120, 12, false},
                                        {milliseconds(20), milliseconds(5), 10, 1, false}};
  EXPECT_EQ(sum_intervals(series, milliseconds(10)), wanted);
}

TEST(SumIntervals, KeepsWarmUpApartAndTotalsExact) {
  std::vector<std::vector<Interval>> series(3);
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < series.size(); ++k) {
    const auto length = milliseconds(7 + 4 * static_cast<int>(k));
    series[k].push_back({-length, length, 1'000'003, 11, true});
    for (int i = 0; i < 23; ++i) {
      series[k].push_back({length * i, length, 777'777 + static_cast<std::uint64_t>(i), 13, false});
      bytes += 777'777 + static_cast<std::uint64_t>(i);
    }
  }
  std::uint64_t warm = 0, measured = 0;
  for (const Interval& interval : sum_intervals(series, milliseconds(10))) {
    EXPECT_EQ(interval.warm_up, interval.begin < nanoseconds(0));
    (interval.warm_up ? warm : measured) += interval.bytes;
  }
  EXPECT_EQ(warm, 3'000'009U);
  EXPECT_EQ(measured, bytes);
}

TEST(Combine, AddsBothDirections) {
  const std::vector<std::vector<Interval>> both = {series_of({30, 31, 30}), series_of({20, 10, 20})};
  const ThroughputSummary summary = combine(both, milliseconds(100));
  EXPECT_DOUBLE_EQ(*summary.min_gbit_per_s.value, 41);
  EXPECT_DOUBLE_EQ(*summary.max_gbit_per_s.value, 50);
  EXPECT_NEAR(*summary.mean_gbit_per_s.value, 47, 1e-9);
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
