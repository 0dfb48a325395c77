#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "control/bytes.h"
#include "control/channel.h"
#include "control/handshake.h"

namespace railgauge::control::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const std::string kToken = "k7qd-2m9x-0v4t-of-tests";

/// Far away for what has to work, also under sanitizers on a busy machine.
inline Deadline soon() { return Deadline::after(seconds(20)); }

/// The Error that `call` throws; fails the test if it throws none.
template <typename Call>
Error thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::system, "nothing was thrown");
}

/// Waits for what another thread brings about.
template <typename Condition>
bool soon_true(Condition condition) {
  for (Deadline deadline = soon(); !deadline.passed(); std::this_thread::sleep_for(milliseconds(1))) {
    if (condition()) return true;
  }
  return false;
}

inline std::pair<UniqueFd, UniqueFd> socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) throw system_error("socketpair", errno);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// A transcript, not random, so that expected MACs can stand in tests: byte i is (7 i + 3) mod 256.
inline std::array<std::uint8_t, 2 * kHelloBytes> fixed_transcript() {
  std::array<std::uint8_t, 2 * kHelloBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(7 * i + 3);
  return bytes;
}

inline Session fixed_session(Role role) {
  return {role, kProtocolVersion, session_keys(key_from_token(kToken), fixed_transcript())};
}

/// Two channels on a socket pair that know each other's keys, without a handshake.
struct ChannelPair {
  Channel client;
  Channel server;
};
inline ChannelPair channel_pair() {
  auto [a, b] = socket_pair();
  return {Channel(std::move(a), "server-of-test", fixed_session(Role::client)),
          Channel(std::move(b), "client-of-test", fixed_session(Role::server))};
}

/// One channel and the raw other end, with the writer that seals what the channel will accept.
struct RawPeer {
  Channel channel;
  UniqueFd raw;
  FrameWriter writer{fixed_session(Role::server).keys.server_to_client};
};
inline RawPeer raw_peer() {
  auto [a, b] = socket_pair();
  return {Channel(std::move(a), "server-of-test", fixed_session(Role::client)), std::move(b)};
}

inline void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) throw system_error("send", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

inline std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace railgauge::control::testing
