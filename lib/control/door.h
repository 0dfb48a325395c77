#pragma once
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "control/acceptor.h"
#include "control/handshake.h"
#include "control/listener.h"

namespace railgauge::control {

/// Complaints about strangers, said at most once a second however many there are. One thread.
class DoorLog {
 public:
  void note(const std::string& text);
  /// Writes what is due; called each round.
  void flush_if_due();
  /// When the next line is due; far away when there is none.
  Clock::time_point next() const noexcept;

 private:
  std::uint64_t pending_ = 0;
  std::string latest_;
  Clock::time_point last_line_{};
};

/// The acceptor thread's work: accepts, and drives every half-open peer's handshake by poll, none waiting for another.
/// Internal to lib/control; one thread, except counts().
class Door {
 public:
  using OnAuthenticated = std::function<void(Channel)>;
  Door(const AcceptorOptions& options, Listeners listeners, OnAuthenticated on_authenticated);

  /// One round: waits until something happens or `wake_fd` is readable, and deals with it. Never throws for what a peer
  /// does.
  void round(int wake_fd);
  /// The same for a thread that has more to look at: waits until `latest` at most, and fills in the revents of `others`.
  void round(std::span<pollfd> others, Deadline latest);
  AcceptorCounts counts() const;
  const Listeners& listeners() const noexcept { return listeners_; }

 private:
  struct Peer {
    UniqueFd fd;
    std::string name;
    Handshake handshake;
    Deadline deadline;
    bool gone = false;
  };

  void accept_some(int listener);
  bool make_room(int error);
  void admit(UniqueFd fd);
  void serve_peer(Peer& peer);
  void read_from(Peer& peer);
  void finish(Peer& peer);
  void expire();
  void drop_oldest();
  Clock::time_point next_instant() const;
  void count(std::uint64_t AcceptorCounts::*which);

  AcceptorOptions options_;
  HandshakeOptions handshake_;
  Listeners listeners_;
  OnAuthenticated on_authenticated_;
  std::vector<Peer> peers_;  // oldest first
  UniqueFd reserve_;         // given up to take and close a connection when descriptors run out
  Clock::time_point accept_again_{};
  DoorLog log_;
  mutable std::mutex mutex_;  // guards counts_
  AcceptorCounts counts_;
};

}  // namespace railgauge::control
