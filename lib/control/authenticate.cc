#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>

#include "control/channel.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

void push(int fd, std::string& unsent, const std::string& peer) {
  if (unsent.empty()) return;
  IoResult put = send_some(fd, unsent);
  if (put.end == IoEnd::some) unsent.erase(0, put.bytes);
  if (put.end == IoEnd::failed) {
    throw Error(ErrorKind::peer, fmt::format("{} closed the connection during the handshake", peer), put.error);
  }
}

/// Reads no further than the block that is due: what follows the handshake belongs to the channel.
bool pull(int fd, Handshake& handshake, const std::string& peer) {
  std::array<std::uint8_t, kHelloBytes> room{};
  IoResult got = receive_some(fd, std::span(room).first(handshake.missing_bytes()));
  if (got.end == IoEnd::would_block) return false;
  if (got.end != IoEnd::some) {
    throw Error(ErrorKind::peer, fmt::format("{} closed the connection instead of sending {}", peer, handshake.awaited()),
                got.error != 0 ? got.error : ECONNRESET);
  }
  (void)handshake.feed(std::span(room).first(got.bytes));
  return true;
}

}  // namespace

Channel authenticate(UniqueFd fd, const std::string& peer, Role role, const HandshakeOptions& options, Deadline deadline, int cancel_fd) {
  set_channel_options(fd.get());
  Handshake handshake(role, options);
  std::string unsent = handshake.take_output();
  while (true) {
    push(fd.get(), unsent, peer);
    bool running = handshake.state() == Handshake::State::running;
    if (!running && unsent.empty()) break;
    if (running && pull(fd.get(), handshake, peer)) {
      unsent += handshake.take_output();
      continue;
    }
    pollfd ready{fd.get(), static_cast<short>((running ? POLLIN : 0) | (unsent.empty() ? 0 : POLLOUT)), 0};
    if (!poll_unless_cancelled(ready, cancel_fd, deadline)) {
      throw Error(ErrorKind::timeout,
                  fmt::format("{} accepted the connection but did not send {} in the time allowed{}", peer, handshake.awaited(),
                              role == Role::client ? ": is it `railgauge serve` that listens there?" : ""));
    }
  }
  if (handshake.state() == Handshake::State::refused) throw Error(ErrorKind::peer, fmt::format("{} {}", peer, handshake.refusal()));
  return Channel(std::move(fd), peer, handshake.session());
}

}  // namespace railgauge::control
