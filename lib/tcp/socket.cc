#include "tcp/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace railgauge::tcp {
namespace {

sockaddr* as_sockaddr(sockaddr_storage& storage) { return reinterpret_cast<sockaddr*>(&storage); }
const sockaddr* as_sockaddr(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr*>(&storage); }

UniqueFd new_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) throw system_error("socket(SOCK_STREAM)", errno);
  return fd;
}

/// Waits for `events`. Throws Error{timeout} at the deadline and Error{peer} when `cancel_fd` is readable first.
void wait_for(int fd, short events, Deadline deadline, const std::string& what, int cancel_fd = -1) {
  for (;;) {
    std::array<pollfd, 2> entries{{{fd, events, 0}, {cancel_fd, POLLIN, 0}}};  // poll(2) passes over a negative one
    const int n = ::poll(entries.data(), entries.size(), deadline.poll_timeout_ms());
    if (n < 0 && errno != EINTR) throw system_error("poll", errno);
    if (n > 0 && entries[0].revents != 0) return;
    if (n > 0) throw Error(ErrorKind::peer, what + ": called off", ECANCELED);
    if (deadline.passed()) throw Error(ErrorKind::timeout, what + ": the deadline passed", ETIMEDOUT);
  }
}

void set_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) throw system_error("fcntl O_NONBLOCK", errno);
}

/// The other side listens for data on a port of the kernel's choice.
constexpr const char* kDataPorts = "data run over ports that the server's kernel chooses (`sysctl net.ipv4.ip_local_port_range` there)";

Error connect_error(const Endpoint& peer, int error) {
  const bool rejected = error == EHOSTUNREACH || error == ENETUNREACH || error == EACCES || error == ECONNREFUSED;
  const std::string firewall = rejected ? fmt::format(": a firewall may reject it: {}", kDataPorts) : "";
  return Error(ErrorKind::peer, fmt::format("connect {}: {}{}", peer.text(), errno_text(error), firewall), error);
}

void await_connection(int fd, const Endpoint& peer, Deadline deadline, int cancel_fd) {
  try {
    wait_for(fd, POLLOUT, deadline, "connect " + peer.text(), cancel_fd);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::timeout) throw;
    throw Error(ErrorKind::timeout, fmt::format("connect {}: no answer in the time allowed: a firewall may drop it: {}", peer.text(), kDataPorts), ETIMEDOUT);
  }
}

}  // namespace

std::uint16_t Endpoint::port() const noexcept {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string Endpoint::text() const {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(as_sockaddr(storage), length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port()) : fmt::format("{}:{}", host.data(), port());
}

Endpoint endpoint_from(const std::string& numeric_address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc = ::getaddrinfo(numeric_address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (rc != 0) {
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is not a numeric IPv4 or IPv6 address: {}", numeric_address, ::gai_strerror(rc)));
  }
  Endpoint endpoint;
  std::memcpy(&endpoint.storage, found->ai_addr, found->ai_addrlen);
  endpoint.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return endpoint;
}

Endpoint local_endpoint(int fd) {
  Endpoint endpoint;
  endpoint.length = sizeof endpoint.storage;
  if (::getsockname(fd, as_sockaddr(endpoint.storage), &endpoint.length) != 0) throw system_error("getsockname", errno);
  return endpoint;
}

Endpoint peer_endpoint(int fd) {
  Endpoint endpoint;
  endpoint.length = sizeof endpoint.storage;
  if (::getpeername(fd, as_sockaddr(endpoint.storage), &endpoint.length) != 0) throw system_error("getpeername", errno);
  return endpoint;
}

UniqueFd listen_on(const Endpoint& local, const SocketSettings& settings) {
  UniqueFd fd = new_socket(local.family());
  apply(fd.get(), settings);
  if (::bind(fd.get(), as_sockaddr(local.storage), local.length) != 0) throw system_error("bind " + local.text(), errno);
  if (::listen(fd.get(), SOMAXCONN) != 0) throw system_error("listen " + local.text(), errno);
  return fd;
}

UniqueFd connect_to(const Endpoint& peer, const std::optional<Endpoint>& source, const SocketSettings& settings, Deadline deadline,
                    int cancel_fd) {
  UniqueFd fd(::socket(peer.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw system_error("socket(SOCK_STREAM)", errno);
  apply(fd.get(), settings);
  if (source && ::bind(fd.get(), as_sockaddr(source->storage), source->length) != 0) throw system_error("bind " + source->text(), errno);
  if (::connect(fd.get(), as_sockaddr(peer.storage), peer.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) throw connect_error(peer, errno);
    await_connection(fd.get(), peer, deadline, cancel_fd);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) throw connect_error(peer, error);
  }
  set_blocking(fd.get());
  return fd;
}

void send_all(int fd, const void* data, std::size_t bytes, Deadline deadline, const std::string& what) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    wait_for(fd, POLLOUT, deadline, what);
    const ssize_t n = ::send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) throw Error(ErrorKind::peer, what + ": " + errno_text(errno), errno);
    if (n <= 0) continue;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void receive_all(int fd, void* data, std::size_t bytes, Deadline deadline, const std::string& what, int cancel_fd) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    wait_for(fd, POLLIN, deadline, what, cancel_fd);
    const ssize_t n = ::recv(fd, at, bytes, MSG_DONTWAIT);
    if (n == 0) throw Error(ErrorKind::peer, what + ": the peer closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EINTR) throw Error(ErrorKind::peer, what + ": " + errno_text(errno), errno);
    if (n < 0) continue;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void limit_blocking(int fd, std::chrono::milliseconds limit) {
  timeval time{};
  time.tv_sec = limit.count() / 1000;
  time.tv_usec = (limit.count() % 1000) * 1000;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0) throw system_error("setsockopt SO_RCVTIMEO", errno);
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) != 0) throw system_error("setsockopt SO_SNDTIMEO", errno);
}

}  // namespace railgauge::tcp
