#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/tsc.h"

namespace railgauge::loops {

/// Spreads messages evenly over time: a token bucket. What falls due while the sender is held up is made up for by `burst`
/// messages at most; the rest of it is never sent, since a catch-up at line rate is what a pace is there to prevent.
/// One thread; no system call.
class Pace {
 public:
  /// Not paced.
  Pace() = default;
  /// `batch`: messages per post, the least that can be sent at once.
  Pace(double messages_per_s, std::uint64_t batch, const TickClock& clock)
      : per_tick_(messages_per_s / (clock.ticks_per_ns() * 1e9)),
        burst_(batch + static_cast<std::uint64_t>(messages_per_s * std::chrono::duration<double>(kMostDebt).count())) {}

  explicit operator bool() const noexcept { return per_tick_ > 0; }
  /// The pace begins at `tick`, `posted` messages having been posted before; one batch is due at once.
  std::uint64_t start(std::uint64_t tick, std::uint64_t posted, std::uint64_t batch) noexcept {
    start_tick_ = tick;
    before_ = posted;
    return posted + batch;
  }
  /// Messages that may have been posted by `tick`, those before the start included; `posted` have been.
  std::uint64_t budget(std::uint64_t tick, std::uint64_t posted) noexcept {
    const std::uint64_t due = before_ + static_cast<std::uint64_t>(static_cast<double>(tick - start_tick_) * per_tick_);
    if (due <= posted + burst_) return due;
    start_tick_ = tick;
    before_ = posted + burst_;
    return before_;
  }

 private:
  // Longer than a spinning thread is seldom held up (interrupts, an SMI); 313 kB at 25 Gbit/s, which any switch holds.
  static constexpr std::chrono::microseconds kMostDebt{100};
  double per_tick_ = 0;
  std::uint64_t burst_ = 0;
  std::uint64_t start_tick_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace railgauge::loops
