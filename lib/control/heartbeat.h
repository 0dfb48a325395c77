#pragma once
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/fd.h"
#include "control/channel.h"

namespace railgauge::control {

/// A flag that wakes a poll: set from any thread or from a signal handler, seen by Heartbeat::wait and Acceptor::next.
class WakeEvent {
 public:
  /// Throws Error{system}.
  WakeEvent();
  /// Async-signal-safe, any thread.
  void set() noexcept;
  /// Any thread.
  bool is_set() const noexcept;
  void clear() noexcept;
  int fd() const noexcept { return fd_.get(); }

 private:
  UniqueFd fd_;
};

enum class WaitEnd {
  message,   ///< one arrived
  woken,     ///< one of the wake descriptors is readable
  deadline,  ///< nothing happened until the deadline
};
struct WaitOutcome {
  WaitEnd end = WaitEnd::deadline;
  std::optional<Message> message;  ///< set with WaitEnd::message
};

/// Watches a peer while both sides are busy elsewhere (preparing, connecting, measuring in other threads). Both sides sit in
/// wait during these phases; each sends a heartbeat every second, and a peer that has sent no byte for kSilenceLimit is
/// gone. Make one at the begin of each such phase: silence counts from then at the earliest. One thread, the channel's.
class Heartbeat {
 public:
  /// The channel must outlive it. Tests shorten the limit.
  explicit Heartbeat(Channel& channel, Clock::duration silence_limit = kSilenceLimit);
  /// Until a message that is no heartbeat arrives, or one of `wake_fds` is readable (not read here), or the deadline.
  /// Messages come first when both are there. Throws Error{peer, "no sign of life from … for 4.0 s"} and what
  /// Channel::receive throws, but never for the deadline.
  WaitOutcome wait(std::span<const int> wake_fds, Deadline deadline);

 private:
  Channel& channel_;
  Clock::duration silence_limit_;
  Clock::time_point begin_;
};

}  // namespace railgauge::control
