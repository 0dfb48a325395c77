#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/series.h"

namespace railgauge::stats {

/// Exact 128-bit sums; a compiler extension of g++ and clang on every 64-bit target.
__extension__ using Uint128 = unsigned __int128;

/// Log-linear histogram of durations: every sample is kept, memory is constant (27,649 counters, 216 KiB), the relative
/// error of a bucket's edge is below 1/1024 (three significant digits). Values up to 2047 ns have a bucket of their own.
/// What lies above 60 s is counted in one overflow bucket; minimum, maximum, sum and sum of squares are exact for all.
/// One thread at a time; merge() after the threads have ended.
class Histogram {
 public:
  /// Largest value with a bucket of its own, in ns.
  static constexpr std::uint64_t kHighestNs = 60'000'000'000ULL;

  /// Allocates and touches the counters, so that record() never faults a page in.
  Histogram() : counts_(kCounters, 0) {}

  /// Adds one sample of `ns` nanoseconds (0 is legal and stays 0). A few ns; no allocation, no branch on the value.
  void record(std::uint64_t ns) noexcept {
    ++counts_[index_of(ns)];
    ++samples_;
    sum_ += ns;
    sum_of_squares_ += static_cast<Uint128>(ns) * ns;
    min_ = std::min(min_, ns);
    max_ = std::max(max_, ns);
  }

  /// Adds all samples of `other`: the same as if they had been recorded here.
  void merge(const Histogram& other) noexcept;
  /// Forgets every sample (end of warm-up); keeps the memory.
  void clear() noexcept;

  std::uint64_t samples() const noexcept { return samples_; }
  /// Samples above 60 s.
  std::uint64_t overflow() const noexcept { return counts_[kOverflow]; }
  /// Exact; missing without samples.
  Value min_ns() const;
  Value max_ns() const;
  Value mean_ns() const;
  /// Sample standard deviation (n − 1); missing below two samples.
  Value stddev_ns() const;
  /// Nearest rank, upper edge of the bucket (never above the true maximum). `percent` in (0, 100), resolved to 10⁻⁴.
  /// Missing where fewer than kSamplesBeyond samples lie above the rank: p99.9 needs 10,000 samples.
  Value percentile_ns(double percent) const;

  /// The non-empty buckets for a record. The overflow bucket's edge is the exact maximum.
  HistogramData to_data() const;
  /// The histogram with these bucket counts. Minimum, maximum, mean and deviation are then those of the bucket edges.
  /// Throws Error{data} for other than three digits, edges that do not rise, empty buckets, or more than 2^63 samples.
  static Histogram from_data(const HistogramData& data);

  /// Largest value that shares the bucket of `ns` (ns ≤ kHighestNs).
  static std::uint64_t upper_edge_ns(std::uint64_t ns) noexcept { return edge_of(index_of(ns)); }

 private:
  // 2^11 linear values, then 2^10 buckets an octave: width/value ≤ 2^−10. 60 s needs 36 bits, hence 25 octaves.
  static constexpr int kLinearBits = 11;
  static constexpr int kOctaves = 25;
  static constexpr std::size_t kHalf = std::size_t{1} << (kLinearBits - 1);
  static constexpr std::size_t kOverflow = 2 * kHalf + kOctaves * kHalf;
  static constexpr std::size_t kCounters = kOverflow + 1;

  static std::size_t index_of(std::uint64_t ns) noexcept {
    const int shift = 64 - kLinearBits - std::countl_zero(ns | (2 * kHalf - 1));
    const std::size_t index = (static_cast<std::size_t>(shift) << (kLinearBits - 1)) + static_cast<std::size_t>(ns >> shift);
    return ns <= kHighestNs ? index : kOverflow;
  }
  static std::uint64_t edge_of(std::size_t index) noexcept;
  void add(std::uint64_t ns, std::uint64_t count) noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t samples_ = 0;
  std::uint64_t sum_ = 0;
  Uint128 sum_of_squares_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
};

/// A percentile is withheld where fewer samples than this lie beyond it.
inline constexpr std::uint64_t kSamplesBeyond = 10;

/// The ten worst samples with their times. One comparison for a sample that is not among them. One thread at a time.
class WorstList {
 public:
  static constexpr std::size_t kCapacity = 10;

  /// `at` counts from the begin of the measured window. Of equal values the earlier one stays.
  void offer(nanoseconds at, nanoseconds value) noexcept {
    if (value > threshold_) insert(at, value);
  }
  void merge(const WorstList& other) noexcept;
  void clear() noexcept { *this = WorstList(); }
  /// Worst first.
  std::vector<Outlier> list() const { return {items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(size_)}; }

 private:
  void insert(nanoseconds at, nanoseconds value) noexcept;

  std::array<Outlier, kCapacity> items_{};  // falling
  std::size_t size_ = 0;
  nanoseconds threshold_{-1};               // a sample must exceed it to enter; rises once the list is full
};

/// What a latency loop writes into: the histogram and the ten worst. One per thread; merge afterwards.
struct LatencyRecorder {
  Histogram histogram;
  WorstList worst;

  /// `at` from the begin of the measured window, `value` ≥ 0. A few ns, no allocation.
  void record(nanoseconds at, nanoseconds value) noexcept {
    histogram.record(static_cast<std::uint64_t>(value.count()));
    worst.offer(at, value);
  }
  void merge(const LatencyRecorder& other) noexcept {
    histogram.merge(other.histogram);
    worst.merge(other.worst);
  }
  void clear() noexcept {
    histogram.clear();
    worst.clear();
  }
};

}  // namespace railgauge::stats
