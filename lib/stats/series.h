#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace railgauge::stats {

using std::chrono::nanoseconds;

/// A number that may be missing: absent carries the reason, so that a record can say null and why.
struct Value {
  std::optional<double> value;
  std::string reason;                   ///< empty when present
  static Value of(double v) { return {v, {}}; }
  static Value missing(std::string why) { return {std::nullopt, std::move(why)}; }
  bool operator==(const Value&) const = default;
};

/// Payload moved in one slice of time, as counted by the receiver or by completions.
struct Interval {
  nanoseconds begin{};                  ///< from the begin of the measured window (negative: warm-up)
  nanoseconds length{};
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  bool warm_up = false;
  bool operator==(const Interval&) const = default;
};

/// What one thread or direction counted: its intervals, warm-up included, and the instant that they count from.
struct Series {
  nanoseconds window_begin{};           ///< on Clock, which all threads of a host read alike
  std::vector<Interval> intervals;      ///< rising, without gaps; begin counted from window_begin
};

/// What a bandwidth or rate measurement says.
struct ThroughputSummary {
  std::uint64_t bytes = 0;              ///< payload in the measured window
  std::uint64_t messages = 0;
  nanoseconds elapsed{};                ///< of the measured window
  Value mean_gbit_per_s;                ///< bytes·8/elapsed
  Value min_gbit_per_s;                 ///< over whole intervals (length ≥ half of nominal)
  Value p1_gbit_per_s;
  Value p5_gbit_per_s;
  Value median_gbit_per_s;
  Value max_gbit_per_s;
  Value ci95_half_width_gbit_per_s;     ///< batch means, batches widened until lag-1 autocorrelation is within ±0.1
  Value messages_per_s;
  nanoseconds interval{};               ///< nominal length of the intervals that min … max rest on; grows where a long run was coarsened
  std::uint64_t whole_intervals = 0;    ///< how many
  std::optional<bool> steady;           ///< drift < 1 % and CoV < 3 % over the last 10 intervals; absent when fewer than 10
  std::string steady_reason;
};

/// A histogram as it stands in a record: (upper edge of the bucket, count) for the non-empty buckets, rising.
struct HistogramData {
  int significant_digits = 3;           ///< relative error ≤ 10^−digits
  std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets_ns;
  bool operator==(const HistogramData&) const = default;
};

/// One of the worst samples with its time.
struct Outlier {
  nanoseconds at{};                     ///< from the begin of the measured window
  nanoseconds value{};
  bool operator==(const Outlier&) const = default;
};

/// What a latency measurement says. Percentiles are nearest rank, upper bucket edge, absent where fewer than 10 samples lie beyond.
struct LatencySummary {
  std::uint64_t samples = 0;
  Value min_ns;
  Value mean_ns;
  Value stddev_ns;
  Value p50_ns;
  Value p90_ns;
  Value p99_ns;
  Value p99_9_ns;
  Value p99_99_ns;
  Value max_ns;
  std::vector<Outlier> worst;           ///< at most ten, worst first
};

}  // namespace railgauge::stats
