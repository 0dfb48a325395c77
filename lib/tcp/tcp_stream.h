#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <poll.h>

#include "base/fd.h"
#include "transport/stream.h"

namespace railgauge::tcp {

/// Whether a send or receive may sleep.
enum class Blocking {
  yes,  ///< up to the limit that limit_blocking has set on the socket
  no,   ///< never (MSG_DONTWAIT)
};

/// What MSG_ZEROCOPY sends came to: the kernel says for each whether it copied after all (always on loopback).
struct ZerocopyCount {
  std::uint64_t completions = 0;
  std::uint64_t copied = 0;
};

/// A connected TCP socket as a transport::Stream. Owns the socket. One thread sends, one thread receives.
class TcpStream final : public transport::Stream {
 public:
  TcpStream(UniqueFd fd, Blocking blocking, bool zerocopy = false) noexcept;
  ssize_t send_some(std::span<const std::byte> bytes) noexcept override;
  ssize_t receive_some(std::span<std::byte> room) noexcept override;
  /// Whether a send or receive may sleep.
  bool blocking() const noexcept { return flags_ == 0; }
  int descriptor() const noexcept { return fd_.get(); }
  /// Ends both directions: wakes whoever sleeps in a send or receive. Any thread, any number of times.
  void shut_down() noexcept;
  /// Closes the socket; unread data makes the kernel reset the connection, which ends the peer's sends at once (after a
  /// mere shut_down they would go on until the buffers are full). Only when no thread uses the stream any more.
  void close() noexcept { fd_.reset(); }
  /// Collects what zero-copy completions there are, without waiting. By the sending thread, or after it has ended.
  void collect_completions() noexcept;
  /// Zero-copy sends accepted so far, and how they came back.
  std::uint64_t zerocopy_sends() const noexcept { return zerocopy_sends_; }
  ZerocopyCount zerocopy() const noexcept { return zerocopy_count_; }

 private:
  UniqueFd fd_;
  int flags_;
  bool zerocopy_;
  std::uint64_t zerocopy_sends_ = 0;
  ZerocopyCount zerocopy_count_;
};

/// poll(2) over the sockets of one thread.
class PollReadiness final : public transport::Readiness {
 public:
  enum class For { sending, receiving };
  PollReadiness(const std::vector<TcpStream*>& streams, For what);
  void wait(std::chrono::milliseconds limit) noexcept override;

 private:
  std::vector<pollfd> entries_;
};

}  // namespace railgauge::tcp
