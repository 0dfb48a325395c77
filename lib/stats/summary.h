#pragma once
#include <optional>
#include <span>
#include <vector>

#include "stats/histogram.h"
#include "stats/series.h"

namespace railgauge::stats {

/// What was moved in the measured window as a whole, by counter snapshots at its two ends.
struct Totals {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  nanoseconds elapsed{};
  bool operator==(const Totals&) const = default;
};

/// Summary of a latency measurement; every field is missing with its reason where the samples cannot carry it.
LatencySummary latency_summary(const Histogram& histogram, const WorstList& worst);
inline LatencySummary latency_summary(const LatencyRecorder& recorder) {
  return latency_summary(recorder.histogram, recorder.worst);
}

/// Summary of a bandwidth or rate measurement. Warm-up intervals are ignored. Minimum, percentiles, median, confidence
/// and steadiness rest on whole intervals only (true length at least half of `nominal`); the mean is bytes over time of
/// `totals`, or without them of all measured intervals from the begin of the first to the end of the last.
/// p1 needs 100 whole intervals and p5 needs 20: below, they would only repeat the minimum.
ThroughputSummary throughput_summary(std::span<const Interval> intervals, nanoseconds nominal,
                                     const std::optional<Totals>& totals = std::nullopt);

/// The sum of several series (threads, directions) on one grid of `nominal` steps from the begin of the measured window.
/// Each series is taken as even within its own intervals; bytes and messages are preserved exactly.
/// Before and after its own time a series adds nothing. Warm-up and measured intervals stay apart.
std::vector<Interval> sum_intervals(std::span<const std::vector<Interval>> series, nanoseconds nominal);

/// throughput_summary of sum_intervals: what all threads or both directions moved together.
ThroughputSummary combine(std::span<const std::vector<Interval>> series, nanoseconds nominal);

}  // namespace railgauge::stats
