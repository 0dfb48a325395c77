#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <span>

namespace railgauge::transport {

/// One end of a connected byte stream, as the byte-stream and round-trip loops see it. One call moves a whole block, so
/// the virtual call is paid per block and not per byte. One thread sends, one thread receives; no call throws.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Hands over at most `bytes.size()` bytes (≥ 1). Returns how many were taken (≥ 1), or −errno: −EAGAIN when none could
  /// be taken now (a blocking stream: within its own short limit), −EPIPE or −ECONNRESET when the peer is gone.
  virtual ssize_t send_some(std::span<const std::byte> bytes) noexcept = 0;
  /// Fetches at most `room.size()` bytes (≥ 1). Returns how many came (≥ 1), 0 when the peer has ended the stream, or
  /// −errno: −EAGAIN when none were there (a blocking stream: within its own short limit).
  virtual ssize_t receive_some(std::span<std::byte> room) noexcept = 0;
};

/// Waits for a set of non-blocking streams served by one thread. A loop calls it only after a whole round without progress.
class Readiness {
 public:
  virtual ~Readiness() = default;
  /// Returns when at least one stream can go on, or after `limit`, whichever is first. No result: the loop tries them all.
  virtual void wait(std::chrono::milliseconds limit) noexcept = 0;
};

}  // namespace railgauge::transport
