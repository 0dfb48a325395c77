#include "stats/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace railgauge::stats {
namespace {

constexpr double kUncorrelated = 0.1;

/// Weighted means of consecutive groups of `batch` values; a last, incomplete group is left out.
std::vector<double> batch_means(std::span<const double> values, std::span<const double> weights, std::size_t batch) {
  std::vector<double> means;
  for (std::size_t first = 0; first + batch <= values.size(); first += batch) {
    double sum = 0, weight = 0;
    for (std::size_t i = first; i < first + batch; ++i) {
      sum += values[i] * weights[i];
      weight += weights[i];
    }
    means.push_back(sum / weight);
  }
  return means;
}

}  // namespace

double mean_of(std::span<const double> values) {
  double mean = 0, n = 0;
  for (double value : values) mean += (value - mean) / ++n;
  return mean;
}

double variance_of(std::span<const double> values) {
  double mean = 0, squares = 0, n = 0;
  for (double value : values) {
    const double delta = value - mean;
    mean += delta / ++n;
    squares += delta * (value - mean);
  }
  return squares / (n - 1);
}

double nearest_rank_of(std::span<const double> sorted, double percent) {
  // In integers of 10⁻⁴ percent: floating point would put 5 % of 100 at rank 6 on a bad day.
  const auto per_million = static_cast<std::size_t>(std::llround(percent * 1e4));
  const std::size_t rank = (sorted.size() * per_million + 999'999) / 1'000'000;
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double median_of(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::optional<double> lag1_autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double here = values[i] - mean;
    squares += here * here;
    if (i + 1 < values.size()) products += here * (values[i + 1] - mean);
  }
  if (squares <= 0) return std::nullopt;
  return products / squares;
}

double slope_of(std::span<const double> x, std::span<const double> y) {
  const double mean_x = mean_of(x), mean_y = mean_of(y);
  double xy = 0, xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return xy / xx;
}

double student_t_95(std::size_t degrees) {
  // Any statistics table, two-sided 95 %.
  constexpr std::array<double, 30> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= kTable.size()) return kTable[std::max<std::size_t>(degrees, 1) - 1];
  // Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5); below 10⁻⁴ off from 31 on.
  const double z = 1.959964, v = static_cast<double>(degrees);
  return z + (std::pow(z, 3) + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * v * v);
}

BatchInterval batch_means_interval(std::span<const double> values, std::span<const double> weights) {
  BatchInterval out;
  std::optional<double> correlation;
  for (std::size_t batch = 1; values.size() / batch >= kFewestBatches; ++batch) {
    const std::vector<double> means = batch_means(values, weights, batch);
    out.batch = batch;
    out.batches = means.size();
    correlation = lag1_autocorrelation(means);
    // Absent here means that all batches are equal: the interval has no width.
    if (!correlation || std::fabs(*correlation) <= kUncorrelated) {
      const double n = static_cast<double>(means.size());
      out.half_width = Value::of(student_t_95(means.size() - 1) * std::sqrt(variance_of(means) / n));
      return out;
    }
  }
  out.half_width = correlation
      ? Value::missing(fmt::format("intervals stay correlated (lag-1 {:.2f} in {} batches); measure longer", *correlation, out.batches))
      : Value::missing(fmt::format("{} whole intervals, at least {} are needed", values.size(), kFewestBatches));
  return out;
}

}  // namespace railgauge::stats
