#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "results/record.h"

namespace railgauge::bench {

/// The CPU time of one measuring thread from begin() to end(), and the time it waited for a CPU. Both read /proc: they are
/// called outside the measured window, never in it (record.h, ThreadUsage: which span that is). All calls by that thread; read
/// after it was joined.
class ThreadWatch {
 public:
  /// Binds the calling thread to `cpu`, if that is one. 0, or the errno with which the kernel refuses (the CPU is offline or
  /// not allowed).
  int bind(std::optional<int> cpu) noexcept;
  void begin() noexcept;
  void end() noexcept;
  bool bound() const noexcept { return cpu_.has_value(); }
  results::ThreadUsage usage() const;
  /// CPU time over elapsed time, 0…1; 0 before end().
  double cpu_share() const noexcept;
  /// Time ready to run without a CPU over elapsed time, 0…1; 0 where the kernel does not say.
  double queue_share() const noexcept;

 private:
  std::optional<int> cpu_;
  std::optional<std::chrono::nanoseconds> queued_at_begin_;
  std::optional<std::chrono::nanoseconds> queued_;
  Clock::time_point begin_at_{};
  results::ThreadUsage at_begin_;
  results::ThreadUsage usage_;
};

}  // namespace railgauge::bench
