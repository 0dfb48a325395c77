#include "stats/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace railgauge::stats {
namespace {

TEST(Sample, MeanAndVarianceSurviveLargeOffsets) {
  // {4, 7, 13, 16} has mean 10 and variance 30; so have the same numbers plus 10⁹.
  const std::vector<double> values = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  EXPECT_DOUBLE_EQ(mean_of(values), 1e9 + 10);
  EXPECT_DOUBLE_EQ(variance_of(values), 30);
}

TEST(Sample, NearestRankAgreesWithTheTextbook) {
  // Wikipedia, "Percentile", nearest rank: {15, 20, 35, 40, 50}: p5 15, p30 20, p40 20, p50 35, p100 50.
  const std::vector<double> sorted = {15, 20, 35, 40, 50};
  EXPECT_EQ(nearest_rank_of(sorted, 5), 15);
  EXPECT_EQ(nearest_rank_of(sorted, 30), 20);
  EXPECT_EQ(nearest_rank_of(sorted, 40), 20);
  EXPECT_EQ(nearest_rank_of(sorted, 50), 35);
  EXPECT_EQ(nearest_rank_of(sorted, 100), 50);
}

TEST(Sample, MedianOfAnEvenNumberIsTheMiddle) {
  EXPECT_EQ(median_of(std::vector<double>{3, 5, 9, 40}), 7);
  EXPECT_EQ(median_of(std::vector<double>{3, 5, 9}), 5);
}

TEST(Sample, Lag1AutocorrelationAgreesWithHandArithmetic) {
  // {1, 2, 3, 4, 5}: deviations −2 −1 0 1 2; products 2 + 0 + 0 + 2 = 4; squares 10 → 0.4.
  EXPECT_DOUBLE_EQ(*lag1_autocorrelation(std::vector<double>{1, 2, 3, 4, 5}), 0.4);
  // {2, 8, 2, 8}: deviations −3 3 −3 3; products −27; squares 36 → −0.75.
  EXPECT_DOUBLE_EQ(*lag1_autocorrelation(std::vector<double>{2, 8, 2, 8}), -0.75);
  EXPECT_FALSE(lag1_autocorrelation(std::vector<double>{7, 7, 7, 7}));
  EXPECT_FALSE(lag1_autocorrelation(std::vector<double>{7, 8}));
}

TEST(Sample, SlopeAgreesWithHandArithmetic) {
  // x {1, 2, 4}, y {3, 4, 11}: means 7/3 and 6; Σxy = 38/3 + …: Σ(x−m)(y−6) = 4+2/3+25/3 = 13; Σ(x−m)² = 14/3 → 39/14.
  EXPECT_NEAR(slope_of(std::vector<double>{1, 2, 4}, std::vector<double>{3, 4, 11}), 39.0 / 14, 1e-12);
}

TEST(Sample, StudentsTAgreesWithTables) {
  EXPECT_DOUBLE_EQ(student_t_95(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t_95(7), 2.365);
  EXPECT_NEAR(student_t_95(40), 2.0211, 2e-4);    // NIST/SEMATECH e-Handbook, table 1.3.6.7.2: 2.021
  EXPECT_NEAR(student_t_95(100), 1.9840, 2e-4);   // same: 1.984
  EXPECT_NEAR(student_t_95(1'000'000), 1.95996, 1e-4);
  EXPECT_GT(student_t_95(30), student_t_95(31));
}

TEST(BatchMeans, UsesSingleValuesWhereTheyAreUncorrelated) {
  // Deviations from 10: +1 +1 −1 −1 +1 −1 −1 +1 … chosen so that neighbours' products cancel:
  // {11,11,9,9,11,9,9,11,11}: mean 91/9; computed by hand below.
  const std::vector<double> values = {11, 11, 9, 9, 11, 11, 9, 9, 11};
  const std::vector<double> weights(values.size(), 3);
  // mean 91/9 = 10.111; deviations a = 0.8889 (five), b = −1.1111 (four). Neighbours: aa ab bb ba aa ab bb ba =
  // 2a² + 2b² + 4ab = 2(a+b)² = 2·0.0494 = 0.0988; squares 5a² + 4b² = 8.8889; lag-1 = 0.0111.
  const BatchInterval interval = batch_means_interval(values, weights);
  EXPECT_EQ(interval.batch, 1U);
  EXPECT_EQ(interval.batches, 9U);
  // variance 8.8889/8 = 1.1111; half width t(8) 2.306 · √(1.1111/9) = 2.306 · 0.351364.
  EXPECT_NEAR(*interval.half_width.value, 2.306 * 0.351364, 1e-5);
}

TEST(BatchMeans, WidensUntilBatchesAreUncorrelated) {
  // The series above with each value three times: lag-1 of single values is about 0.66; in batches of two it mixes
  // neighbours and stays high; in batches of three it is the series above. The nine batches are the fewest but one.
  std::vector<double> values;
  for (double value : {11, 11, 9, 9, 11, 11, 9, 9, 11}) values.insert(values.end(), 3, value);
  const BatchInterval interval = batch_means_interval(values, std::vector<double>(values.size(), 1));
  EXPECT_EQ(interval.batch, 3U);
  EXPECT_EQ(interval.batches, 9U);
  EXPECT_NEAR(*interval.half_width.value, 2.306 * 0.351364, 1e-5);
}

TEST(BatchMeans, SaysSoWhereTheSeriesStaysCorrelated) {
  std::vector<double> rising;
  for (int i = 0; i < 16; ++i) rising.push_back(50 + i);
  const BatchInterval interval = batch_means_interval(rising, std::vector<double>(16, 1));
  EXPECT_FALSE(interval.half_width.value);
  EXPECT_NE(interval.half_width.reason.find("stay correlated"), std::string::npos);
  EXPECT_EQ(interval.batches, 8U);
}

TEST(BatchMeans, NeedsEightValues) {
  const BatchInterval interval = batch_means_interval(std::vector<double>{5, 6, 5, 7}, std::vector<double>(4, 1));
  EXPECT_EQ(interval.half_width.reason, "4 whole intervals, at least 8 are needed");
}

TEST(BatchMeans, HasNoWidthWhereAllAreEqual) {
  EXPECT_DOUBLE_EQ(*batch_means_interval(std::vector<double>(12, 93.5), std::vector<double>(12, 1)).half_width.value, 0);
}

}  // namespace
}  // namespace railgauge::stats
