#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "tcp/socket_options.h"

namespace railgauge::tcp {

/// An IPv4 or IPv6 address with its port.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;
  int family() const noexcept { return storage.ss_family; }
  std::uint16_t port() const noexcept;
  /// "192.0.2.7:18515", "[2001:db8::1]:18515".
  std::string text() const;
};

/// A numeric address ("192.0.2.7", "2001:db8::1", "fe80::1%eth0") and a port. No name is looked up. Throws Error{usage}.
Endpoint endpoint_from(const std::string& numeric_address, std::uint16_t port);

/// Where `fd` is bound and whom it is connected to. Throw Error{system}.
Endpoint local_endpoint(int fd);
Endpoint peer_endpoint(int fd);

/// A listening socket with `settings` applied, which accepted sockets inherit. Port 0 lets the kernel choose.
/// Throws Error naming the address and the reason.
UniqueFd listen_on(const Endpoint& local, const SocketSettings& settings);

/// A connection to `peer`, from `source` if given, with `settings` applied before the first packet. Throws Error{peer}
/// (refused, unreachable; called off: `cancel_fd` became readable, −1: none) or Error{timeout} naming the peer's address.
UniqueFd connect_to(const Endpoint& peer, const std::optional<Endpoint>& source, const SocketSettings& settings, Deadline deadline,
                    int cancel_fd = -1);

/// Writes or reads all of it before the deadline on a socket of either kind; for the few bytes of the set-up.
/// Throw Error{timeout} or Error{peer} naming `what`; the latter also when `cancel_fd` becomes readable.
void send_all(int fd, const void* data, std::size_t bytes, Deadline deadline, const std::string& what);
void receive_all(int fd, void* data, std::size_t bytes, Deadline deadline, const std::string& what, int cancel_fd = -1);

/// Limits how long one blocking send or receive may sleep; it then returns EAGAIN. Throws Error{system}.
void limit_blocking(int fd, std::chrono::milliseconds limit);

}  // namespace railgauge::tcp
