#include "loops/schedule.h"

#include <algorithm>

namespace railgauge::loops {

Schedule::Schedule(const Times& times, const TickClock& clock, Live live)
    : clock_(clock),
      live_(live),
      by_count_(times.by_count),
      warm_up_ticks_(clock.ticks_of(times.warm_up)),
      duration_ticks_(times.by_count ? 0 : clock.ticks_of(times.duration)),
      interval_ticks_(std::max<std::uint64_t>(1, clock.ticks_of(times.interval))),
      recorder_(times.interval) {}

void Schedule::start(std::uint64_t begin_tick, stats::Counters counters) noexcept {
  const std::uint64_t now = clock_.now();
  const Clock::time_point at = Clock::now() - clock_.duration_of(now > begin_tick ? now - begin_tick : 0);
  if (warm_up_ticks_ == 0 && !by_count_) return open_window(begin_tick, at, counters);
  recorder_.start(at, counters);
  phase_ = warm_up_ticks_ == 0 ? Phase::settling : Phase::warm_up;
  warm_end_tick_ = begin_tick + warm_up_ticks_;
  if (phase_ == Phase::warm_up) next_tick_ = std::min(begin_tick + interval_ticks_, warm_end_tick_);
}

Schedule::Phase Schedule::on_due(std::uint64_t tick, stats::Counters counters) noexcept {
  publish(counters);
  if (phase_ == Phase::warm_up) {
    if (tick >= warm_end_tick_ && by_count_) {
      phase_ = Phase::settling;
      next_tick_ = ~0ULL;
    } else if (tick >= warm_end_tick_) {
      open_window(tick, Clock::now(), counters);
    } else {
      recorder_.sample(Clock::now(), counters);
      next_tick_ = std::min(tick + interval_ticks_, warm_end_tick_);
    }
  } else if (phase_ == Phase::window) {
    if (tick >= end_tick_) {
      finish(counters);
    } else {
      recorder_.sample(Clock::now(), counters);
      // From the last due time and not from now, or a slow loop would drift; a stall skips what it slept through.
      while (next_tick_ <= tick) next_tick_ += interval_ticks_;
      next_tick_ = std::min(next_tick_, end_tick_);
    }
  }
  return phase_;
}

void Schedule::finish(stats::Counters counters) noexcept {
  if (phase_ == Phase::window) recorder_.end_window(Clock::now(), counters);
  publish(counters);
  phase_ = Phase::over;
  next_tick_ = ~0ULL;
}

void Schedule::open_window(std::uint64_t tick, Clock::time_point at, stats::Counters counters) noexcept {
  recorder_.begin_window(at, counters);
  measured_ = true;
  phase_ = Phase::window;
  window_tick_ = tick;
  end_tick_ = duration_ticks_ == 0 ? ~0ULL : tick + duration_ticks_;
  next_tick_ = std::min(tick + interval_ticks_, end_tick_);
}

void Schedule::publish(stats::Counters counters) noexcept {
  if (live_.bytes != nullptr) live_.bytes->fetch_add(counters.bytes - published_.bytes, std::memory_order_relaxed);
  if (live_.messages != nullptr) live_.messages->fetch_add(counters.messages - published_.messages, std::memory_order_relaxed);
  published_ = counters;
}

}  // namespace railgauge::loops
