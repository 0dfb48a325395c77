#include "control/heartbeat.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "control/socket.h"

namespace railgauge::control {

WakeEvent::WakeEvent() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw system_error("eventfd", errno);
}

void WakeEvent::set() noexcept {
  int saved = errno;  // may run in a signal handler
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(fd_.get(), &one, sizeof one);
  errno = saved;
}

bool WakeEvent::is_set() const noexcept {
  pollfd ready{fd_.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

void WakeEvent::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t n = ::read(fd_.get(), &count, sizeof count);
}

Heartbeat::Heartbeat(Channel& channel, Clock::duration silence_limit)
    : channel_(channel), silence_limit_(silence_limit), begin_(Clock::now()) {}

WaitOutcome Heartbeat::wait(std::span<const int> wake_fds, Deadline deadline) {
  std::vector<pollfd> fds{{channel_.fd(), POLLIN, 0}};
  for (int fd : wake_fds) fds.push_back({fd, POLLIN, 0});
  while (true) {
    if (auto message = channel_.try_receive()) return {WaitEnd::message, std::move(message)};
    if (std::any_of(fds.begin() + 1, fds.end(), [](const pollfd& p) { return p.revents != 0; })) return {WaitEnd::woken, {}};
    Deadline silence(std::max(begin_, channel_.last_heard()) + silence_limit_);
    if (silence.passed()) {
      throw Error(ErrorKind::peer, fmt::format("no sign of life from {} for {:.1f} s", channel_.peer(),
                                               std::chrono::duration<double>(silence_limit_).count()));
    }
    if (deadline.passed()) return {WaitEnd::deadline, {}};
    channel_.beat_if_due();
    (void)poll_until(fds, deadline.sooner(silence).sooner(Deadline(channel_.next_beat())));
  }
}

}  // namespace railgauge::control
