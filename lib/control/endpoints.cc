#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "control/channel.h"

namespace railgauge::control {
namespace {

struct NumericName {
  std::string address;
  std::uint16_t port = 0;
};

NumericName numeric_name(sockaddr_storage& storage, socklen_t size) {
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (storage.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = v6->sin6_port;
    std::copy_n(v6->sin6_addr.s6_addr + 12, 4, reinterpret_cast<std::uint8_t*>(&v4.sin_addr));
    storage = {};
    *reinterpret_cast<sockaddr_in*>(&storage) = v4;
    size = sizeof v4;
  }
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return {};
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&storage), size, host.data(), host.size(), service.data(), service.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), static_cast<std::uint16_t>(std::strtoul(service.data(), nullptr, 10))};
}

}  // namespace

Endpoints endpoints_of(int fd) {
  Endpoints ends;
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) == 0) ends.local_address = numeric_name(storage, size).address;
  storage = {};
  size = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) == 0) {
    NumericName peer = numeric_name(storage, size);
    ends.peer_address = peer.address;
    ends.peer_port = peer.port;
  }
  return ends;
}

}  // namespace railgauge::control
