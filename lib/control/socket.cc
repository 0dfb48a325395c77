#include "control/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"

namespace railgauge::control {
namespace {

// Heartbeats that are not acknowledged for so long end the connection also where nobody sits in Heartbeat::wait; a little
// above kSilenceLimit, whose message says more.
constexpr unsigned kUserTimeoutMs = 5000;

IoResult result_of(ssize_t n) noexcept {
  if (n > 0) return {IoEnd::some, static_cast<std::size_t>(n), 0};
  if (n == 0) return {IoEnd::closed, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {IoEnd::would_block, 0, 0};
  return {IoEnd::failed, 0, errno};
}

}  // namespace

IoResult receive_some(int fd, std::span<std::uint8_t> room) noexcept {
  return result_of(::recv(fd, room.data(), room.size(), MSG_DONTWAIT));
}

IoResult send_some(int fd, std::string_view bytes) noexcept {
  return result_of(::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

void set_channel_options(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) throw system_error("fcntl of the control socket", errno);
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
}

bool poll_until(std::span<pollfd> fds, Deadline deadline) {
  while (true) {
    int n = ::poll(fds.data(), fds.size(), deadline.poll_timeout_ms());
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) throw system_error("poll", errno);
    if (deadline.passed()) return false;
  }
}

bool poll_unless_cancelled(pollfd ready, int cancel_fd, Deadline deadline) {
  std::array<pollfd, 2> both{ready, pollfd{cancel_fd, POLLIN, 0}};  // poll(2) passes over a negative descriptor
  bool any = poll_until(both, deadline);
  if (both[1].revents != 0) throw Error(ErrorKind::peer, "stopped on this host (Ctrl-C, SIGTERM or SIGHUP)", ECANCELED);
  return any;
}

}  // namespace railgauge::control
