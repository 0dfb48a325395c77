#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace railgauge::control {

/// A socket address with its text ("10.0.0.2:18650", "[fe80::1%eth0]:18650"). Internal to lib/control.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string text;
  int family() const noexcept { return storage.ss_family; }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// All stream addresses of a host name or numeric address, in the resolver's order, none twice. Throws Error{peer} for an
/// unknown host and Error{timeout} when the resolver does not answer in time: getaddrinfo(3) has no deadline, so that names
/// are looked up in a detached thread, which ends by itself when it is no longer waited for. Error{peer}, code ECANCELED,
/// once `cancel_fd` is readable.
std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port, Deadline deadline, int cancel_fd = -1);

/// "host:port", with brackets around an IPv6 address.
std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace railgauge::control
