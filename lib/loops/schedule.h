#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/tsc.h"
#include "loops/outcome.h"
#include "stats/interval_recorder.h"

namespace railgauge::loops {

using std::chrono::nanoseconds;

/// When warm-up, intervals and the window end.
struct Times {
  nanoseconds warm_up{};
  nanoseconds duration{};               ///< of the window; 0: until finish()
  nanoseconds interval = std::chrono::milliseconds(100);
  bool by_count = false;                ///< the loop opens the window itself, once nothing of the warm-up is in flight, and ends it
};

/// Counts one direction of one thread: warm-up by snapshot, then the window in intervals. The loop compares one tick
/// reading a batch against `due`; everything else happens at interval ends. One thread. Series of threads that were started
/// with one begin_tick can be combined: each holds all that its thread moved since then.
class Schedule {
 public:
  /// settling: by count only, from the warm-up's end until open().
  enum class Phase { idle, warm_up, settling, window, over };

  Schedule(const Times& times, const TickClock& clock, Live live);

  /// First post or first arrival. `begin_tick` may lie a little in the past (another thread saw the first arrival).
  void start(std::uint64_t begin_tick, stats::Counters counters) noexcept;
  bool due(std::uint64_t tick) const noexcept { return tick >= next_tick_; }
  /// To be called when due; returns the phase now in force. Counters are cumulative since the loop began.
  Phase on_due(std::uint64_t tick, stats::Counters counters) noexcept;
  /// By count, when settling: the window begins here and now.
  void open(stats::Counters counters) noexcept { open_window(clock_.now(), Clock::now(), counters); }
  /// Ends the window here and now, if it has begun.
  void finish(stats::Counters counters) noexcept;

  Phase phase() const noexcept { return phase_; }
  /// The window was opened, so that there is something to report.
  bool measured() const noexcept { return measured_; }
  std::uint64_t window_tick() const noexcept { return window_tick_; }
  const stats::IntervalRecorder& recorder() const noexcept { return recorder_; }

 private:
  void open_window(std::uint64_t tick, Clock::time_point at, stats::Counters counters) noexcept;
  void publish(stats::Counters counters) noexcept;

  const TickClock& clock_;
  Live live_;
  const bool by_count_;
  std::uint64_t warm_up_ticks_;
  std::uint64_t duration_ticks_;
  std::uint64_t interval_ticks_;
  std::uint64_t next_tick_ = ~0ULL;
  std::uint64_t warm_end_tick_ = 0;
  std::uint64_t window_tick_ = 0;
  std::uint64_t end_tick_ = ~0ULL;
  Phase phase_ = Phase::idle;
  bool measured_ = false;
  stats::Counters published_;
  stats::IntervalRecorder recorder_;
};

}  // namespace railgauge::loops
