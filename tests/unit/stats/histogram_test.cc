#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"

namespace railgauge::stats {
namespace {

using std::chrono::microseconds;

Histogram histogram_of(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (std::uint64_t value : values) histogram.record(value);
  return histogram;
}

TEST(Histogram, EveryValueLiesWithinAThousandthOfItsUpperEdge) {
  // The edge is never below the value and the next value above the edge has another edge: buckets tile the range.
  std::uint64_t previous_edge = Histogram::upper_edge_ns(0);
  EXPECT_EQ(previous_edge, 0U);
  for (std::uint64_t value = 1; value < Histogram::kHighestNs; value = previous_edge + 1) {
    const std::uint64_t edge = Histogram::upper_edge_ns(value);
    ASSERT_GE(edge, value);
    ASSERT_LE(static_cast<double>(edge - value), 1e-3 * static_cast<double>(value)) << value;
    ASSERT_EQ(Histogram::upper_edge_ns(edge), edge);
    previous_edge = edge;
  }
}

TEST(Histogram, HasExactBucketsUpTo2047AndPairsAbove) {
  // 2^11 linear values, then 2^10 buckets an octave: 2048 and 2049 share one, 4096…4099 share one.
  EXPECT_EQ(Histogram::upper_edge_ns(2047), 2047U);
  EXPECT_EQ(Histogram::upper_edge_ns(2048), 2049U);
  EXPECT_EQ(Histogram::upper_edge_ns(4095), 4095U);
  EXPECT_EQ(Histogram::upper_edge_ns(4096), 4099U);
  EXPECT_EQ(Histogram::upper_edge_ns(1'000'000), 1'000'447U);  // 2^19 ≤ v < 2^20: width 512; 1953·512 + 511 + … = 1000447
}

TEST(Histogram, SaysWhyItHasNothingWhenEmpty) {
  const Histogram empty;
  EXPECT_FALSE(empty.mean_ns().value);
  EXPECT_EQ(empty.max_ns().reason, "no samples");
  EXPECT_FALSE(empty.stddev_ns().value);
  EXPECT_FALSE(empty.percentile_ns(50).value);
}

TEST(Histogram, KeepsTheDeviationOfABillionPlusMinusOne) {
  // {10⁹−1, 10⁹, 10⁹+1}: mean 10⁹, Σd² = 2, n−1 = 2 → deviation 1.
  const Histogram histogram = histogram_of({1'000'000'001, 999'999'999, 1'000'000'000});
  EXPECT_DOUBLE_EQ(*histogram.mean_ns().value, 1e9);
  EXPECT_DOUBLE_EQ(*histogram.stddev_ns().value, 1.0);
}

TEST(Histogram, KeepsADeviationBelowAMicrosecondOverManySamples) {
  // 500,000 pairs of 3,000,000,007 ± 5: Σd² = 25·10⁶ over 10⁶ − 1.
  Histogram histogram;
  for (int i = 0; i < 500'000; ++i) {
    histogram.record(3'000'000'002);
    histogram.record(3'000'000'012);
  }
  EXPECT_DOUBLE_EQ(*histogram.mean_ns().value, 3'000'000'007.0);
  EXPECT_NEAR(*histogram.stddev_ns().value, std::sqrt(25e6 / (1e6 - 1)), 1e-9);
}

TEST(Histogram, KeepsTheStallsInMeanDeviationAndMaximum) {
  // The case that perftest 4.5 hides: 998 samples of 2 us with stalls of 3 ms and 5 ms.
  // Mean (998·2 + 3000 + 5000)/1000 = 9.996 us; Σd² = 998·(7.996)² + 2990.004² + 4990.004² = 33,904,071.98…;
  // /999 = 33,938.01, root 184.22 us.
  Histogram histogram = histogram_of({3'000'000, 5'000'000});
  for (int i = 0; i < 998; ++i) histogram.record(2'000);
  EXPECT_DOUBLE_EQ(*histogram.mean_ns().value, 9'996.0);
  EXPECT_NEAR(*histogram.stddev_ns().value, 184'223, 1);
  EXPECT_DOUBLE_EQ(*histogram.max_ns().value, 5'000'000.0);
  EXPECT_DOUBLE_EQ(*histogram.min_ns().value, 2'000.0);
}

TEST(Histogram, TakesNearestRanks) {
  // 1…1000 ns in falling order: p50 is the 500th, p90 the 900th, p99 the 990th (ten beyond).
  Histogram histogram;
  for (std::uint64_t value = 1000; value >= 1; --value) histogram.record(value);
  EXPECT_DOUBLE_EQ(*histogram.percentile_ns(50).value, 500);
  EXPECT_DOUBLE_EQ(*histogram.percentile_ns(90).value, 900);
  EXPECT_DOUBLE_EQ(*histogram.percentile_ns(99).value, 990);
}

TEST(Histogram, WithholdsAPercentileWithFewerThanTenSamplesBeyond) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 9'999; ++value) histogram.record(value);
  const Value withheld = histogram.percentile_ns(99.9);
  EXPECT_FALSE(withheld.value);
  EXPECT_EQ(withheld.reason, "9999 samples; p99.9 needs 10000");
  histogram.record(10'000);
  // Rank 9990 lies in the bucket 9984…9991 (octave 2^13, width 8).
  EXPECT_DOUBLE_EQ(*histogram.percentile_ns(99.9).value, 9'991);
  EXPECT_EQ(histogram.percentile_ns(99.99).reason, "10000 samples; p99.99 needs 100000");
}

TEST(Histogram, NeverPutsAPercentileAboveTheMaximum) {
  Histogram histogram;
  for (int i = 0; i < 40; ++i) histogram.record(1'000'000);  // edge 1,000,447
  EXPECT_DOUBLE_EQ(*histogram.percentile_ns(50).value, 1'000'000);
}

TEST(Histogram, CountsWhatLiesAboveSixtySecondsWithItsExactMaximum) {
  Histogram histogram = histogram_of({60'000'000'000, 60'000'000'001, 7'200'000'000'003});
  EXPECT_EQ(histogram.overflow(), 2U);
  EXPECT_DOUBLE_EQ(*histogram.max_ns().value, 7'200'000'000'003.0);
  const HistogramData data = histogram.to_data();
  ASSERT_EQ(data.buckets_ns.size(), 2U);
  EXPECT_EQ(data.buckets_ns.back(), (std::pair<std::uint64_t, std::uint64_t>(7'200'000'000'003, 2)));
}

TEST(Histogram, MergesAsIfRecordedTogether) {
  const std::vector<std::uint64_t> left = {17, 4'711, 90'000'000'000}, right = {3, 4'710, 23, 1'000'000'000};
  Histogram merged = histogram_of(left);
  merged.merge(histogram_of(right));
  std::vector<std::uint64_t> all = left;
  all.insert(all.end(), right.begin(), right.end());
  const Histogram together = histogram_of(all);
  EXPECT_EQ(merged.to_data(), together.to_data());
  EXPECT_EQ(merged.samples(), 7U);
  EXPECT_EQ(merged.mean_ns(), together.mean_ns());
  EXPECT_EQ(merged.stddev_ns(), together.stddev_ns());
  EXPECT_EQ(merged.min_ns(), Value::of(3));
  EXPECT_EQ(merged.max_ns(), Value::of(90'000'000'000.0));
}

TEST(Histogram, ForgetsEverythingOnClear) {
  Histogram histogram = histogram_of({5, 80'000'000'000});
  histogram.clear();
  EXPECT_EQ(histogram.samples(), 0U);
  EXPECT_TRUE(histogram.to_data().buckets_ns.empty());
  histogram.record(42);
  EXPECT_EQ(histogram.max_ns(), Value::of(42));
  EXPECT_EQ(histogram.min_ns(), Value::of(42));
}

TEST(Histogram, ComesBackFromItsData) {
  const Histogram histogram = histogram_of({12, 12, 5'000, 123'456'789, 70'000'000'000});
  const Histogram back = Histogram::from_data(histogram.to_data());
  EXPECT_EQ(back.to_data(), histogram.to_data());
  EXPECT_EQ(back.samples(), 5U);
  EXPECT_EQ(back.max_ns(), histogram.max_ns());
}

TEST(Histogram, RefusesDataThatNoHistogramWrites) {
  EXPECT_THROW(Histogram::from_data({2, {{5, 1}}}), Error);
  EXPECT_THROW(Histogram::from_data({3, {{5, 0}}}), Error);
  EXPECT_THROW(Histogram::from_data({3, {{9, 1}, {9, 1}}}), Error);
  EXPECT_THROW(Histogram::from_data({3, {{5, 1ULL << 63}, {6, 1}}}), Error);
}

TEST(WorstList, KeepsTheTenWorstWorstFirst) {
  WorstList worst;
  // 25 values 13·i mod 25 are a permutation of 0…24; the ten worst are 24…15.
  for (int i = 0; i < 25; ++i) worst.offer(microseconds(100 + i), nanoseconds(13 * i % 25));
  const auto list = worst.list();
  ASSERT_EQ(list.size(), 10U);
  for (int k = 0; k < 10; ++k) {
    const Outlier& outlier = list[static_cast<std::size_t>(k)];
    EXPECT_EQ(outlier.value, nanoseconds(24 - k));
    const auto i = outlier.at - microseconds(100);
    EXPECT_EQ(13 * (i / microseconds(1)) % 25, 24 - k) << "the time belongs to the value";
  }
}

TEST(WorstList, HoldsFewerThanTenAndKeepsTheEarlierOfEquals) {
  WorstList worst;
  worst.offer(microseconds(7), nanoseconds(0));
  worst.offer(microseconds(8), nanoseconds(5));
  worst.offer(microseconds(9), nanoseconds(5));
  const std::vector<Outlier> wanted = {{microseconds(8), nanoseconds(5)}, {microseconds(9), nanoseconds(5)}, {microseconds(7), nanoseconds(0)}};
  EXPECT_EQ(worst.list(), wanted);
}

TEST(LatencyRecorder, MergesHistogramAndWorst) {
  LatencyRecorder one, two;
  for (int i = 1; i <= 12; ++i) one.record(microseconds(i), nanoseconds(100 + i));
  two.record(microseconds(3), nanoseconds(9'000));
  one.merge(two);
  EXPECT_EQ(one.histogram.samples(), 13U);
  ASSERT_EQ(one.worst.list().size(), 10U);
  EXPECT_EQ(one.worst.list().front(), (Outlier{microseconds(3), nanoseconds(9'000)}));
  EXPECT_EQ(one.worst.list().back().value, nanoseconds(104));
}

}  // namespace
}  // namespace railgauge::stats
