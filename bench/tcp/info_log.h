#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "results/record.h"
#include "tcp/tcp_info.h"

namespace railgauge::bench {

/// TCP_INFO of every stream at interval ends, in memory fixed at construction: when it is full, every second instant is
/// dropped and only every second one is kept from then on. The first and the latest reading are always kept besides.
/// One thread.
class TcpInfoLog {
 public:
  static constexpr std::size_t kMaxInstants = 100;      ///< ten seconds of 100 ms intervals: a longer run takes no more memory
  static constexpr std::size_t kMaxReadings = 800;      ///< under 1 MB in a record

  explicit TcpInfoLog(std::vector<int> descriptors);
  /// Reads every stream now.
  void take(Clock::time_point at) noexcept;
  /// What was kept and the latest reading, times from `window_begin`. Allocates.
  std::vector<results::TcpInfoSample> samples(Clock::time_point window_begin) const;
  /// One in so many instants is kept: 1, doubled each time that the log was full.
  std::size_t every() const noexcept { return stride_; }
  /// Most instants that are kept, the latest besides.
  std::size_t limit() const noexcept { return capacity_; }
  /// Increase of a field between the first and the latest reading, summed over the streams; empty when it is in neither.
  std::optional<std::uint64_t> increase(std::string_view key) const noexcept;

 private:
  struct Instant {
    Clock::time_point at;
    std::vector<tcp::TcpInfoReading> readings;  // one a stream; length 0: could not be read
  };
  void read_all(Instant& into, Clock::time_point at) noexcept;
  static void append(std::vector<results::TcpInfoSample>& out, const Instant& instant, Clock::time_point window_begin);

  std::vector<int> descriptors_;
  std::size_t capacity_;
  std::size_t stride_ = 1;
  std::size_t taken_ = 0;
  std::size_t kept_ = 0;
  std::vector<Instant> instants_;       // capacity_ of them, the first kept_ in use
  Instant first_;
  Instant latest_;
};

}  // namespace railgauge::bench
