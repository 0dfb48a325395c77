#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "stats/series.h"
#include "stats/summary.h"

namespace railgauge::stats {

/// Cumulative counters of what has been moved since the connection came up; they never fall.
struct Counters {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

/// Turns snapshots of cumulative counters into intervals, in memory fixed at construction: when it is full, neighbours
/// are merged and the nominal interval doubles, so a run of a day costs no more than one of a second.
/// Life: start → sample … → begin_window → sample … → end_window → intervals(), summary(). What lies before begin_window
/// is warm-up: subtracted by snapshot, kept in the series, flagged. Without warm-up begin_window alone starts.
/// One thread at a time (the loop at interval ends, or a sampling thread that reads the loops' counters).
class IntervalRecorder {
 public:
  static constexpr std::size_t kDefaultCapacity = 4096;

  /// `nominal` > 0; `capacity` is rounded up to 8 at least. Allocates here and never again.
  explicit IntervalRecorder(nanoseconds nominal, std::size_t capacity = kDefaultCapacity);

  /// First snapshot: warm-up begins.
  void start(Clock::time_point at, Counters counters) noexcept;
  /// A snapshot at about every nominal interval. One that comes earlier than due (more than a quarter of the first
  /// nominal interval) only extends the open interval, so a caller may keep its own pace after coarsening.
  void sample(Clock::time_point at, Counters counters) noexcept;
  /// Warm-up ends, the measured window begins.
  void begin_window(Clock::time_point at, Counters counters) noexcept;
  /// The measured window ends; the last interval keeps its true, perhaps short, length.
  void end_window(Clock::time_point at, Counters counters) noexcept;

  /// When the next sample is due. For loops: one comparison a batch.
  Clock::time_point next_due() const noexcept { return open_at_ + nominal_; }
  /// The nominal interval now in force (doubled on each coarsening).
  nanoseconds nominal() const noexcept { return nominal_; }
  /// Begin of the measured window; meaningful after begin_window.
  Clock::time_point window_begin() const noexcept { return window_at_; }

  /// Rising; begin counted from the begin of the measured window. Allocates: not for the loop.
  std::vector<Interval> intervals() const;
  /// The same with the instant they count from, to be summed with those of other threads.
  Series series() const { return {window_at_.time_since_epoch(), intervals()}; }
  /// What the two snapshots at the ends of the measured window say.
  Totals totals() const noexcept;
  /// throughput_summary(intervals(), nominal(), totals()).
  ThroughputSummary summary() const { return throughput_summary(intervals(), nominal_, totals()); }

 private:
  void close(Clock::time_point at, Counters counters) noexcept;
  void coarsen() noexcept;

  nanoseconds nominal_;
  nanoseconds early_;               // how much before its due time a sample still closes an interval
  std::vector<Interval> items_;     // begin counted from the clock's origin until intervals() shifts it
  std::size_t capacity_;
  bool warm_up_ = true;
  Clock::time_point open_at_{};     // begin of the interval that is not closed yet
  Counters open_{};
  Clock::time_point window_at_{};
  Counters window_{};
  Clock::time_point end_at_{};
  Counters end_{};
};

}  // namespace railgauge::stats
