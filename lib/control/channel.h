#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "control/frame.h"
#include "control/handshake.h"

namespace railgauge::control {

/// Both ends of a connection, numeric. IPv4 addresses stay IPv4 also on dual-stack sockets.
struct Endpoints {
  std::string local_address;  ///< "10.0.0.1", "fe80::1%eth0"; empty on a socket pair
  std::string peer_address;
  std::uint16_t peer_port = 0;
};
/// Reads both ends of a connected socket. Never throws: what cannot be read stays empty.
Endpoints endpoints_of(int fd);

/// An authenticated connection to the other host: whole messages in and out, each sealed and in order. Owns the socket and
/// closes it. One thread at a time (also not one sending while another receives).
///
/// Every wait sends a heartbeat each second, so that a peer in Heartbeat::wait sees that this side lives; heartbeats of the
/// peer are absorbed. Errors name the peer and the step: Error{peer} (closed, reset, forged or malformed frame) or
/// Error{timeout}; the channel is of no use after either.
class Channel {
 public:
  /// For connect_client, Acceptor and tests; `peer` is how messages call the other side ("10.0.0.2:18650").
  Channel(UniqueFd fd, std::string peer, const Session& session);
  Channel(Channel&&) = default;
  Channel& operator=(Channel&&) = default;

  /// Hands the whole message to the kernel. Throws Error{usage} if the body is beyond its type's limits.
  void send(MessageType type, std::string_view body, Deadline deadline);

  /// The next message that is no heartbeat. `step` completes "… while <step>" in errors.
  Message receive(Deadline deadline, std::string_view step = "waiting for a message");

  /// The body of the next message, which has to be of type `wanted`. A failure is thrown as the Error it describes (kind
  /// and code kept, "<peer>: <text>"), stop as Error{peer, "<peer> stopped: <reason>"}, bye and busy as Error{peer}, any
  /// other type as Error{peer} naming both types.
  std::string expect(MessageType wanted, Deadline deadline);

  /// A message if one has arrived whole; never waits, never sends.
  std::optional<Message> try_receive();

  /// For poll(2): POLLIN means that try_receive may have something. Also true of what was read ahead: call try_receive
  /// until it gives nothing before polling.
  int fd() const noexcept { return fd_.get(); }
  const std::string& peer() const noexcept { return peer_; }
  const Endpoints& endpoints() const noexcept { return endpoints_; }
  Version version_in_force() const noexcept { return in_force_; }
  /// When the last byte of the peer arrived (at first: when the channel was made).
  Clock::time_point last_heard() const noexcept { return last_heard_; }

  /// Sends a heartbeat if none was sent for kHeartbeatInterval. Called by every wait.
  void beat_if_due();
  /// When the next one is due.
  Clock::time_point next_beat() const noexcept { return last_beat_ + kHeartbeatInterval; }

 private:
  std::optional<Message> next_message();
  bool read_some(std::string_view step);
  void flush(std::string_view step);
  void read_ahead(std::string_view step);
  [[noreturn]] void explain_broken_send(std::string_view step, int error);
  [[noreturn]] void fail(ErrorKind kind, std::string_view step, std::string_view what, std::string_view more = {}) const;

  UniqueFd fd_;
  std::string peer_;
  Endpoints endpoints_;
  Version in_force_;
  FrameWriter writer_;
  FrameReader reader_;
  std::string unsent_;  // sealed bytes that the kernel has not taken yet
  Clock::time_point last_heard_;
  Clock::time_point last_beat_;
};

/// True for stop, failure, busy and bye.
bool ends_conversation(MessageType type) noexcept;
/// Throws the Error that such a message of `peer` stands for (see Channel::expect); for sessions that call receive
/// themselves. Returns for other types.
void throw_if_ended(const Message& message, const std::string& peer);

/// Runs one side's handshake on a connected socket and makes the channel. Throws Error{peer} saying why the two do not
/// talk (with an errno as code if the connection ended, without if the peer was refused), or Error{timeout}; Error{peer} with code ECANCELED once `cancel_fd` is readable.
Channel authenticate(UniqueFd fd, const std::string& peer, Role role, const HandshakeOptions& options, Deadline deadline, int cancel_fd = -1);

}  // namespace railgauge::control
