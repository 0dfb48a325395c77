#pragma once
#include <optional>
#include <span>
#include <vector>

#include "stats/histogram.h"
#include "stats/series.h"

namespace railgauge::stats {

/// Whole intervals that the steady-state test looks at, and the fewest for it (tcp-facts, section 3: "over the last 10 samples").
inline constexpr std::size_t kSteadyIntervals = 10;

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
/// p1 needs 101 whole intervals and p5 needs 21: with fewer the nearest rank is the first, which is the minimum.
ThroughputSummary throughput_summary(std::span<const Interval> intervals, nanoseconds nominal,
                                     const std::optional<Totals>& totals = std::nullopt);

/// The stretch of time over which several series are one measurement.
enum class Extent {
  common,   ///< by time: from the first window's begin, or from when the last thread began if that is later, to the first window's end
  whole,    ///< by count: from the first window's begin to the last one's end
};

/// What several threads or directions moved together.
struct Combined {
  ThroughputSummary summary;
  std::vector<Interval> intervals;      ///< on one grid of nominal steps, counted from the common begin; warm-up before it
  bool apart = false;                   ///< there was no common stretch: all bytes from the first begin to the last end instead
};

/// Sums series over one begin and one end. Each series is taken as even within its own intervals. Extent::common counts all
/// that was moved between the two, also what a thread that was late to notice the begin holds for warm-up; what others
/// moved after the end is left out. Extent::whole counts each window's bytes and messages exactly. At least one series.
Combined combine(std::span<const Series> series, nanoseconds nominal, Extent extent);

}  // namespace railgauge::stats
