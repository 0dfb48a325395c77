#pragma once
#include <ctime>

#include <chrono>
#include <cstdint>
#include <string>

namespace railgauge {

/// CLOCK_MONOTONIC_RAW as a std::chrono clock: nanoseconds, not slewed, independent of the CPU's frequency.
/// Read through the vDSO (no system call) on x86-64 and aarch64 kernels since 5.3. Any thread.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
};

/// The median cost of one Clock::now() over a few thousand reads; stands in every record.
std::chrono::nanoseconds measure_clock_cost();

/// UTC now as RFC 3339 with milliseconds, "2026-11-30T09:32:17.123Z".
std::string utc_now_text();

/// A point in time by which something must have happened. Copies are cheap; hand it down unchanged.
class Deadline {
 public:
  /// Passes `budget` from now.
  static Deadline after(Clock::duration budget) { return Deadline(Clock::now() + budget); }
  explicit Deadline(Clock::time_point at) : at_(at) {}
  bool passed() const noexcept { return Clock::now() >= at_; }
  Clock::time_point at() const noexcept { return at_; }
  /// Never negative.
  Clock::duration remaining() const noexcept {
    auto left = at_ - Clock::now();
    return left.count() > 0 ? left : Clock::duration::zero();
  }
  /// Remaining time in whole milliseconds, rounded up, for poll(2); 0 when passed; at most 24 h.
  int poll_timeout_ms() const noexcept;
  /// The earlier of the two.
  Deadline sooner(Deadline other) const noexcept { return other.at_ < at_ ? other : *this; }

 private:
  Clock::time_point at_;
};

}  // namespace railgauge
