#pragma once
#include <poll.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace railgauge::control {

/// What a non-blocking read or write did.
enum class IoEnd { some, would_block, closed, failed };
struct IoResult {
  IoEnd end = IoEnd::would_block;
  std::size_t bytes = 0;
  int error = 0;  ///< errno with IoEnd::failed
};

/// One recv of at most `room.size()` bytes; never waits, never throws.
IoResult receive_some(int fd, std::span<std::uint8_t> room) noexcept;
/// One send without SIGPIPE; never waits, never throws.
IoResult send_some(int fd, std::string_view bytes) noexcept;

/// Non-blocking, close-on-exec, no Nagle delay, and unacknowledged data give up after kUserTimeout. What the socket does not
/// know (a socket pair has no TCP options) is left; throws Error{system} only if it cannot be made non-blocking.
void set_channel_options(int fd);

/// poll(2) until one of `fds` has events or the deadline passes; restarts after signals. Returns whether any has. Throws
/// Error{system}.
bool poll_until(std::span<pollfd> fds, Deadline deadline);

/// The same for one descriptor, given up when `cancel_fd` (-1: none) turns readable. Throws Error{peer}, code ECANCELED, then.
bool poll_unless_cancelled(pollfd ready, int cancel_fd, Deadline deadline);

}  // namespace railgauge::control
