#include "stats/histogram.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace railgauge::stats {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 63;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::data, fmt::format("latency histogram: {}", what));
}

/// ceil(samples · per_million / 10⁶), in integers: 99.9 % of 10,000 is 9990, which floating point turns into 9991.
std::uint64_t nearest_rank(std::uint64_t samples, std::uint64_t per_million) {
  const Uint128 product = static_cast<Uint128>(samples) * per_million;
  return static_cast<std::uint64_t>((product + kMillion - 1) / kMillion);
}

}  // namespace

std::uint64_t Histogram::edge_of(std::size_t index) noexcept {
  if (index < 2 * kHalf) return index;
  const std::size_t shift = index / kHalf - 1;
  const std::uint64_t mantissa = index - shift * kHalf;
  // The bucket of 60 s ends there: what lies above is in the overflow bucket.
  return std::min(((mantissa + 1) << shift) - 1, kHighestNs);
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kCounters; ++i) counts_[i] += other.counts_[i];
  samples_ += other.samples_;
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  samples_ = 0;
  sum_ = 0;
  sum_of_squares_ = 0;
  min_ = UINT64_MAX;
  max_ = 0;
}

void Histogram::add(std::uint64_t ns, std::uint64_t count) noexcept {
  counts_[index_of(ns)] += count;
  samples_ += count;
  sum_ += ns * count;
  sum_of_squares_ += static_cast<Uint128>(ns) * ns * count;
  min_ = std::min(min_, ns);
  max_ = std::max(max_, ns);
}

Value Histogram::min_ns() const {
  return samples_ == 0 ? Value::missing("no samples") : Value::of(static_cast<double>(min_));
}

Value Histogram::max_ns() const {
  return samples_ == 0 ? Value::missing("no samples") : Value::of(static_cast<double>(max_));
}

Value Histogram::mean_ns() const {
  if (samples_ == 0) return Value::missing("no samples");
  return Value::of(static_cast<double>(sum_) / static_cast<double>(samples_));
}

Value Histogram::stddev_ns() const {
  if (samples_ < 2) return Value::missing("fewer than 2 samples");
  // Around the whole part q of the mean, in integers modulo 2^128, so that 10⁹ ± 1 loses nothing:
  // Σ(v−q)² = Σv² − 2qΣv + nq², and with r = Σv − nq < n: Σ(v−mean)² = Σ(v−q)² − r²/n.
  const Uint128 q = sum_ / samples_;
  const std::uint64_t r = sum_ % samples_;
  const Uint128 around_q = sum_of_squares_ - 2 * q * sum_ + static_cast<Uint128>(samples_) * q * q;
  const double n = static_cast<double>(samples_);
  const double squares = static_cast<double>(around_q) - static_cast<double>(r) * static_cast<double>(r) / n;
  return Value::of(std::sqrt(std::max(0.0, squares) / (n - 1)));
}

Value Histogram::percentile_ns(double percent) const {
  const auto per_million = static_cast<std::uint64_t>(std::llround(percent * 1e4));
  const std::uint64_t rank = std::max<std::uint64_t>(1, nearest_rank(samples_, per_million));
  if (rank > samples_ || samples_ - rank < kSamplesBeyond) {
    // beyond = floor(n·(10⁶−ppm)/10⁶) must reach kSamplesBeyond.
    const std::uint64_t above = kMillion - per_million;
    const std::uint64_t needed = (kSamplesBeyond * kMillion + above - 1) / above;
    return Value::missing(fmt::format("{} samples; p{:g} needs {}", samples_, percent, needed));
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kOverflow; ++i) {
    seen += counts_[i];
    if (seen >= rank) return Value::of(static_cast<double>(std::min(edge_of(i), max_)));
  }
  return Value::of(static_cast<double>(max_));
}

HistogramData Histogram::to_data() const {
  HistogramData data;
  for (std::size_t i = 0; i < kOverflow; ++i) {
    if (counts_[i] != 0) data.buckets_ns.emplace_back(edge_of(i), counts_[i]);
  }
  if (counts_[kOverflow] != 0) data.buckets_ns.emplace_back(max_, counts_[kOverflow]);
  return data;
}

Histogram Histogram::from_data(const HistogramData& data) {
  if (data.significant_digits != 3) refuse(fmt::format("{} significant digits, only 3 are known", data.significant_digits));
  Histogram histogram;
  const std::pair<std::uint64_t, std::uint64_t>* previous = nullptr;
  for (const auto& bucket : data.buckets_ns) {
    const auto [edge, count] = bucket;
    if (previous != nullptr && edge <= previous->first) refuse(fmt::format("edge {} ns does not rise", edge));
    if (count == 0) refuse(fmt::format("the bucket up to {} ns is empty", edge));
    if (count > kMostSamples - histogram.samples_) refuse("more than 2^63 samples");
    histogram.add(edge, count);
    previous = &bucket;
  }
  return histogram;
}

void WorstList::insert(nanoseconds at, nanoseconds value) noexcept {
  std::size_t place = size_ < kCapacity ? size_++ : kCapacity - 1;
  for (; place > 0 && items_[place - 1].value < value; --place) items_[place] = items_[place - 1];
  items_[place] = Outlier{at, value};
  if (size_ == kCapacity) threshold_ = items_.back().value;
}

void WorstList::merge(const WorstList& other) noexcept {
  for (std::size_t i = 0; i < other.size_; ++i) offer(other.items_[i].at, other.items_[i].value);
}

}  // namespace railgauge::stats
