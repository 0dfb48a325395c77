#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/channel.h"
#include "control/protocol.h"

namespace railgauge::control {

/// Where and how a server listens.
struct AcceptorOptions {
  /// An address or name; "localhost": both loopback addresses; "*": all. Empty: all when a token is in force, else loopback.
  std::string bind{};
  std::uint16_t port = kDefaultPort;   ///< 0: the kernel chooses; see Acceptor::port
  std::string token{};                 ///< empty: open mode
  bool open = false;                   ///< must be set to listen beyond loopback without a token
  int max_half_open = 64;              ///< unauthenticated peers at a time; above it the oldest is dropped
  Clock::duration handshake_budget = kHandshakeBudget;
  Version version = kProtocolVersion;  ///< tests pretend to be another
};

/// What happened at the door; for the server's log and tests.
struct AcceptorCounts {
  std::uint64_t accepted = 0;        ///< TCP connections
  std::uint64_t authenticated = 0;
  std::uint64_t wrong_proofs = 0;
  std::uint64_t refused = 0;         ///< garbage, other versions, closed during the handshake (wrong proofs not included)
  std::uint64_t too_slow = 0;        ///< handshake deadline passed
  std::uint64_t crowded_out = 0;     ///< dropped as the oldest of too many, or for want of descriptors
  std::uint64_t told_busy = 0;
};

/// "for about 7 s more", or "about to end": what those who must wait are told.
std::string time_left_text(Clock::time_point until);

/// Listens and runs every handshake in one thread of its own, so that neither half-open peers nor a running measurement
/// hold up the next client. Serves one client at a time: while one is served, others that prove the token are told
/// "busy with <what> for <whom>, for about N s more" and closed. No peer's behaviour ends the thread.
class Acceptor {
 public:
  /// Listens; the thread runs when this returns. Throws Error{system} (port in use, no such address: the message says how
  /// to choose another) or Error{usage} (open mode beyond loopback not asked for).
  explicit Acceptor(const AcceptorOptions& options);
  /// Stops the thread and closes what it holds, within milliseconds; channels handed out live on.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// The port in use.
  std::uint16_t port() const noexcept;
  /// What it listens on, "127.0.0.1:18650", "[::1]:18650".
  const std::vector<std::string>& addresses() const noexcept;

  /// The next client that has proved the token and been welcomed; from then on the acceptor is busy until set_idle. Nothing
  /// at the deadline or when one of `wake_fds` is readable. Any thread, one at a time.
  std::optional<Channel> next(Deadline deadline, std::span<const int> wake_fds = {});
  /// What the present client is served with, and about until when; told to others. Any thread.
  void set_busy(const std::string& what, Clock::time_point until);
  /// The present client is finished with; the next may come. Any thread.
  void set_idle();
  AcceptorCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace railgauge::control
