#include "control/connect.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <vector>

#include "control/resolve.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

// The server gives a handshake kHandshakeBudget; a little more here, so that its word arrives before this side gives up.
constexpr std::chrono::seconds kAnswerBudget = kHandshakeBudget + std::chrono::seconds(2);
// How long a closed port is left alone before the next try.

/// One failed attempt at one address.
struct Attempt {
  std::string address;
  int error = 0;  // ETIMEDOUT: no answer in this address's share of the time
};

/// Connects or says with which errno it failed.
int connect_one(const SocketAddress& address, int cancel_fd, Deadline deadline, UniqueFd& out) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  if (::connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS) return errno;
  if (!poll_unless_cancelled(pollfd{fd.get(), POLLOUT, 0}, cancel_fd, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error == 0) out = std::move(fd);
  return error;
}

std::string advice(const Attempt& attempt, std::uint16_t port) {
  switch (attempt.error) {
    case ECONNREFUSED:
      return fmt::format("nothing listens on {}; start `railgauge serve` there or name its --port", attempt.address);
    case ETIMEDOUT:
      return fmt::format("no answer from {} in the time allowed: the host may be down, or a firewall may drop TCP port {}", attempt.address, port);
    case EHOSTUNREACH:
    case ENETUNREACH:
      return fmt::format("{} cannot be reached ({}): look at the route, or a firewall may reject TCP port {}", attempt.address,
                         errno_text(attempt.error), port);
    default: return fmt::format("connect {}: {}", attempt.address, errno_text(attempt.error));
  }
}

[[noreturn]] void give_up(const std::vector<Attempt>& attempts, const ClientOptions& options) {
  std::string text;
  bool timed_out = false;
  for (const Attempt& attempt : attempts) {
    if (!text.empty()) text += "; ";
    text += advice(attempt, options.port);
    timed_out = timed_out || attempt.error == ETIMEDOUT;
  }
  throw Error(timed_out ? ErrorKind::timeout : ErrorKind::peer, text, attempts.front().error);
}

UniqueFd connect_any(const ClientOptions& options, Deadline deadline) {
  auto addresses = resolve(options.host, options.port, deadline, options.cancel_fd);
  std::vector<Attempt> attempts;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // An address that does not answer leaves the others their share.
    auto share = deadline.remaining() / static_cast<std::int64_t>(addresses.size() - i);
    UniqueFd fd;
    int error = connect_one(addresses[i], options.cancel_fd, Deadline::after(share), fd);
    if (error == 0) return fd;
    attempts.push_back({addresses[i].text, error});
  }
  give_up(attempts, options);
}

std::string peer_name(const ClientOptions& options, int fd) {
  Endpoints ends = endpoints_of(fd);
  std::string numeric = host_and_port(ends.peer_address, ends.peer_port);
  bool named = options.host != ends.peer_address && options.host != "[" + ends.peer_address + "]";
  return named ? fmt::format("{} ({})", options.host, numeric) : numeric;
}

}  // namespace

Channel connect_client(const ClientOptions& options, Deadline deadline) {
  HandshakeOptions handshake{key_from_token(options.token), !options.token.empty(), options.version};
  UniqueFd fd = connect_any(options, deadline);
  std::string peer = peer_name(options, fd.get());
  Deadline answer = deadline.sooner(Deadline::after(kAnswerBudget));
  Channel channel = authenticate(std::move(fd), peer, Role::client, handshake, answer, options.cancel_fd);
  (void)channel.expect(MessageType::welcome, answer);
  return channel;
}

}  // namespace railgauge::control
