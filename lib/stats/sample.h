#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "stats/series.h"

namespace railgauge::stats {

/// Pure arithmetic on a handful of numbers (interval rates, batch means). No state, any thread.

/// Mean; `values` must not be empty.
double mean_of(std::span<const double> values);

/// Sample variance (n − 1) by Welford's recurrence; `values` needs two at least.
double variance_of(std::span<const double> values);

/// Nearest rank of the rising `sorted` (not empty): element ceil(percent/100 · n), percent in (0, 100].
double nearest_rank_of(std::span<const double> sorted, double percent);

/// Middle of the rising `sorted` (not empty); the mean of the two middle ones where their number is even.
double median_of(std::span<const double> sorted);

/// Lag-1 autocorrelation Σ(x_i−m)(x_{i+1}−m) / Σ(x_i−m)²; absent for fewer than three values or where all are equal.
std::optional<double> lag1_autocorrelation(std::span<const double> values);

/// Slope of the least-squares line through (x_i, y_i); spans of equal length ≥ 2, the x not all equal.
double slope_of(std::span<const double> x, std::span<const double> y);

/// Two-sided 95 % point of Student's t: 12.706 for 1 degree of freedom, 1.960 for infinitely many. `degrees` ≥ 1.
double student_t_95(std::size_t degrees);

/// A batch-means interval: half width around the mean, and how it came about.
struct BatchInterval {
  Value half_width;
  std::size_t batch = 0;      ///< values a batch
  std::size_t batches = 0;
};

/// Half width of the 95 % confidence interval of the mean of an autocorrelated series: batches are widened until the
/// lag-1 autocorrelation of their means is within ±0.1 (tcp-facts, section 3, after Ferrari 1978); Student's t for
/// their number. `weights` (durations) weigh values within a batch. Missing when fewer than kFewestBatches would remain.
BatchInterval batch_means_interval(std::span<const double> values, std::span<const double> weights);

/// Fewer batches than this say little about their own correlation.
inline constexpr std::size_t kFewestBatches = 8;

}  // namespace railgauge::stats
