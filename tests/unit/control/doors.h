#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <string>

#include "base/error.h"
#include "control/acceptor.h"
#include "control/connect.h"
#include "support.h"

// Both ends over real sockets, and plain ones that are neither.

namespace railgauge::control {

/// A server on loopback, on a port of its own choice.
inline AcceptorOptions local(const std::string& token) { return {.bind = "127.0.0.1", .port = 0, .token = token}; }
inline ClientOptions call(const Acceptor& server, const std::string& token) {
  return {.host = "127.0.0.1", .port = server.port(), .token = token};
}

/// A plain TCP connection to a port of this host, or to a listener of the test's own.
inline UniqueFd plain_connect(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw system_error("connect", errno);
  return fd;
}
struct PlainListener {
  PlainListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd.get(), 8) != 0) throw system_error("listen", errno);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    timeval limit{10, 0};  // of accept: a client that never comes fails a test and does not hold it up
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;
};

/// True once the other end has closed (or reset) within the time that works have.
inline bool is_closed(int fd) {
  char byte = 0;
  timeval limit{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  while (true) {
    ssize_t n = ::recv(fd, &byte, 1, 0);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return true;
    if (n < 0) return false;
  }
}

/// A whole good conversation: proof that a server still serves.
inline void expect_serves(Acceptor& server) {
  auto served = std::async(std::launch::async, [&] {
    auto channel = server.next(testing::soon());
    if (!channel) return;
    std::string body = channel->expect(MessageType::prepare, testing::soon());
    channel->send(MessageType::result, body, testing::soon());
    (void)channel->expect(MessageType::start, testing::soon());
    server.set_idle();
  });
  Channel client = connect_client(call(server, testing::kToken), testing::soon());
  client.send(MessageType::prepare, R"({"qps":5})", testing::soon());
  EXPECT_EQ(client.expect(MessageType::result, testing::soon()), R"({"qps":5})");
  client.send(MessageType::start, {}, testing::soon());
  served.get();
}

}  // namespace railgauge::control
