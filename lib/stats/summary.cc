#include "stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "stats/sample.h"

namespace railgauge::stats {
namespace {

constexpr double kSteadyDrift = 0.01;           // of the mean, over the window
constexpr double kSteadyVariation = 0.03;       // coefficient of variation

/// The whole, measured intervals as plain numbers.
struct Rates {
  std::vector<double> gbit_per_s;
  std::vector<double> length_ns;
  std::vector<double> middle_ns;
};

double as_double(nanoseconds time) { return static_cast<double>(time.count()); }

Rates whole_rates(std::span<const Interval> intervals, nanoseconds nominal) {
  Rates rates;
  for (const Interval& interval : intervals) {
    if (interval.warm_up || interval.length.count() <= 0 || interval.length * 2 < nominal) continue;
    rates.gbit_per_s.push_back(gbit_per_s(interval.bytes, interval.length));
    rates.length_ns.push_back(as_double(interval.length));
    rates.middle_ns.push_back(as_double(interval.begin) + as_double(interval.length) / 2);
  }
  return rates;
}

Totals totals_of(std::span<const Interval> intervals) {
  Totals totals;
  const Interval* first = nullptr;
  for (const Interval& interval : intervals) {
    if (interval.warm_up) continue;
    if (first == nullptr) first = &interval;
    totals.bytes += interval.bytes;
    totals.messages += interval.messages;
    totals.elapsed = interval.begin + interval.length - first->begin;
  }
  return totals;
}

void fill_order_statistics(ThroughputSummary& out, std::vector<double> sorted) {
  if (sorted.empty()) {
    const Value none = Value::missing("no whole interval was measured");
    out.min_gbit_per_s = out.p1_gbit_per_s = out.p5_gbit_per_s = out.median_gbit_per_s = out.max_gbit_per_s = none;
    return;
  }
  std::sort(sorted.begin(), sorted.end());
  auto low_percentile = [&](double percent, std::size_t needed) {
    if (sorted.size() >= needed) return Value::of(nearest_rank_of(sorted, percent));
    return Value::missing(fmt::format("{} whole intervals; p{:g} needs {}", sorted.size(), percent, needed));
  };
  out.min_gbit_per_s = Value::of(sorted.front());
  out.p1_gbit_per_s = low_percentile(1, 101);
  out.p5_gbit_per_s = low_percentile(5, 21);
  out.median_gbit_per_s = Value::of(median_of(sorted));
  out.max_gbit_per_s = Value::of(sorted.back());
}

void judge_steadiness(ThroughputSummary& out, const Rates& rates) {
  const std::size_t n = rates.gbit_per_s.size();
  if (n < kSteadyIntervals) {
    out.steady_reason = fmt::format("{} whole intervals, {} are needed", n, kSteadyIntervals);
    return;
  }
  const auto last = [](const std::vector<double>& v) { return std::span(v).last(kSteadyIntervals); };
  const double mean = mean_of(last(rates.gbit_per_s));
  if (mean <= 0) {
    out.steady = false;
    out.steady_reason = fmt::format("nothing moved in the last {} intervals", kSteadyIntervals);
    return;
  }
  double window_ns = 0;
  for (double length : last(rates.length_ns)) window_ns += length;
  const double drift = slope_of(last(rates.middle_ns), last(rates.gbit_per_s)) * window_ns / mean;
  const double variation = std::sqrt(variance_of(last(rates.gbit_per_s))) / mean;
  out.steady = std::fabs(drift) < kSteadyDrift && variation < kSteadyVariation;
  out.steady_reason = fmt::format("last {} intervals: drift {:+.2f} % (limit 1 %), variation {:.2f} % (limit 3 %)",
                                  kSteadyIntervals, drift * 100, variation * 100);
}

/// Walks along one series and says what it has moved up to a rising point in time, even within each interval.
class Walk {
 public:
  explicit Walk(nanoseconds origin) : origin_(origin) {}
  void add(const Interval* interval) { intervals_.push_back(interval); }

  /// `at` on Clock.
  Totals until(nanoseconds at) {
    at -= origin_;
    while (next_ < intervals_.size() && intervals_[next_]->begin + intervals_[next_]->length <= at) {
      done_.bytes += intervals_[next_]->bytes;
      done_.messages += intervals_[next_++]->messages;
    }
    Totals moved = done_;
    if (next_ == intervals_.size() || intervals_[next_]->begin >= at) return moved;
    const Interval& open = *intervals_[next_];
    const double share = as_double(at - open.begin) / as_double(open.length);
    moved.bytes += static_cast<std::uint64_t>(share * static_cast<double>(open.bytes));
    moved.messages += static_cast<std::uint64_t>(share * static_cast<double>(open.messages));
    return moved;
  }

 private:
  nanoseconds origin_;
  std::vector<const Interval*> intervals_;
  std::size_t next_ = 0;
  Totals done_;
};

/// The begin and end of the sum, on Clock.
struct Span {
  nanoseconds known = nanoseconds::max();   ///< first begin of any warm-up, for the intervals before `begin`
  nanoseconds begin{};
  nanoseconds end{};
};

Span span_of(std::span<const Series> series, Extent extent) {
  constexpr nanoseconds kFirst = nanoseconds::min(), kLast = nanoseconds::max();
  nanoseconds first_window = kLast, last_start = kFirst, first_end = kLast, last_end = kFirst;
  Span span;
  for (const Series& one : series) {
    if (one.intervals.empty()) continue;
    const nanoseconds start = one.window_begin + one.intervals.front().begin;
    const nanoseconds end = one.window_begin + one.intervals.back().begin + one.intervals.back().length;
    span.known = std::min(span.known, start);
    first_window = std::min(first_window, one.window_begin);
    last_start = std::max(last_start, start);
    first_end = std::min(first_end, end);
    last_end = std::max(last_end, end);
  }
  const bool common = extent == Extent::common;
  span.begin = common ? std::max(first_window, last_start) : first_window;
  span.end = common ? first_end : last_end;
  return span;
}

/// Steps of `nominal` from `from` to `to`; the last may be shorter.
void append_sum(std::vector<Interval>& out, std::span<Walk> walks, const Span& span, nanoseconds nominal, bool warm_up) {
  const auto moved_until = [&](nanoseconds at) {
    Totals sum;
    for (Walk& walk : walks) {
      const Totals moved = walk.until(at);
      sum.bytes += moved.bytes;
      sum.messages += moved.messages;
    }
    return sum;
  };
  const nanoseconds end = warm_up ? span.begin : span.end;
  nanoseconds from = warm_up ? span.known : span.begin;
  for (Totals before = moved_until(from); from < end;) {
    const nanoseconds to = std::min(end, from + nominal);
    const Totals sum = moved_until(to);
    out.push_back({from - span.begin, to - from, sum.bytes - before.bytes, sum.messages - before.messages, warm_up});
    before = sum;
    from = to;
  }
}

/// `warm_up`: whether what a thread moved in its warm-up takes part.
std::vector<Walk> walks_of(std::span<const Series> series, bool warm_up) {
  std::vector<Walk> walks;
  for (const Series& one : series) {
    Walk& walk = walks.emplace_back(one.window_begin);
    for (const Interval& interval : one.intervals)
      if (warm_up || !interval.warm_up) walk.add(&interval);
  }
  return walks;
}

}  // namespace

LatencySummary latency_summary(const Histogram& histogram, const WorstList& worst) {
  LatencySummary out;
  out.samples = histogram.samples();
  out.min_ns = histogram.min_ns();
  out.mean_ns = histogram.mean_ns();
  out.stddev_ns = histogram.stddev_ns();
  out.p50_ns = histogram.percentile_ns(50);
  out.p90_ns = histogram.percentile_ns(90);
  out.p99_ns = histogram.percentile_ns(99);
  out.p99_9_ns = histogram.percentile_ns(99.9);
  out.p99_99_ns = histogram.percentile_ns(99.99);
  out.max_ns = histogram.max_ns();
  out.worst = worst.list();
  return out;
}

ThroughputSummary throughput_summary(std::span<const Interval> intervals, nanoseconds nominal,
                                     const std::optional<Totals>& totals) {
  const Totals whole = totals ? *totals : totals_of(intervals);
  const Rates rates = whole_rates(intervals, nominal);
  ThroughputSummary out;
  out.bytes = whole.bytes;
  out.messages = whole.messages;
  out.elapsed = whole.elapsed;
  out.interval = nominal;
  out.whole_intervals = rates.gbit_per_s.size();
  if (whole.elapsed.count() > 0) {
    out.mean_gbit_per_s = Value::of(gbit_per_s(whole.bytes, whole.elapsed));
    out.messages_per_s = Value::of(static_cast<double>(whole.messages) / (as_double(whole.elapsed) / 1e9));
  } else {
    out.mean_gbit_per_s = out.messages_per_s = Value::missing("the measured window has no length");
  }
  fill_order_statistics(out, rates.gbit_per_s);
  out.ci95_half_width_gbit_per_s = batch_means_interval(rates.gbit_per_s, rates.length_ns).half_width;
  judge_steadiness(out, rates);
  return out;
}

Combined combine(std::span<const Series> series, nanoseconds nominal, Extent extent) {
  Combined out;
  Span span = span_of(series, extent);
  if (span.end <= span.begin) {
    out.apart = true;
    extent = Extent::whole;
    span = span_of(series, extent);
  }
  std::vector<Walk> all = walks_of(series, true);
  append_sum(out.intervals, all, span, nominal, true);
  std::vector<Walk> counted = walks_of(series, extent == Extent::common);
  append_sum(out.intervals, counted, span, nominal, false);
  out.summary = throughput_summary(out.intervals, nominal);
  return out;
}

}  // namespace railgauge::stats
