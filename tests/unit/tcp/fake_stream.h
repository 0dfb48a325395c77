#pragma once
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "transport/stream.h"

namespace railgauge {

/// A stream that answers as its script says: n > 0 moves at most n bytes, 0 is the end, n < 0 is −errno. When a script is
/// used up, `then` answers. Received bytes come from `source` (position in the stream → byte).
class FakeStream final : public transport::Stream {
 public:
  std::deque<ssize_t> send_script;
  std::deque<ssize_t> receive_script;
  ssize_t send_then = -EAGAIN;
  ssize_t receive_then = -EAGAIN;
  std::function<std::byte(std::uint64_t)> source = [](std::uint64_t) { return std::byte{0x5a}; };
  std::function<void()> on_call = [] {};
  std::vector<std::byte> sent;
  std::uint64_t received = 0;
  int calls = 0;

  ssize_t send_some(std::span<const std::byte> bytes) noexcept override {
    const ssize_t n = limited(next(send_script, send_then), bytes.size());
    if (n > 0) sent.insert(sent.end(), bytes.begin(), bytes.begin() + n);
    return n;
  }
  ssize_t receive_some(std::span<std::byte> room) noexcept override {
    const ssize_t n = limited(next(receive_script, receive_then), room.size());
    for (ssize_t i = 0; i < n; ++i) room[static_cast<std::size_t>(i)] = source(received++);
    return n;
  }

 private:
  static ssize_t limited(ssize_t n, std::size_t most) { return n > 0 ? std::min(n, static_cast<ssize_t>(most)) : n; }
  ssize_t next(std::deque<ssize_t>& script, ssize_t then) {
    ++calls;
    on_call();
    if (script.empty()) return then;
    const ssize_t n = script.front();
    script.pop_front();
    return n;
  }
};

/// Echoes what is sent, one byte flipped where told.
class EchoStream final : public transport::Stream {
 public:
  std::deque<std::byte> inside;
  std::uint64_t sent = 0;
  std::uint64_t echoed = 0;
  std::int64_t flip_at = -1;            ///< stream offset of the byte that comes back wrong
  ssize_t piece = 1 << 20;              ///< most bytes of one call
  std::uint64_t end_after = UINT64_MAX; ///< bytes echoed before the end of the stream
  ssize_t end_with = 0;

  ssize_t send_some(std::span<const std::byte> bytes) noexcept override {
    const auto n = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(piece));
    inside.insert(inside.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    sent += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t receive_some(std::span<std::byte> room) noexcept override {
    if (echoed >= end_after) return end_with;
    if (inside.empty()) return -EAGAIN;
    std::size_t n = 0;
    while (n < room.size() && n < static_cast<std::size_t>(piece) && !inside.empty()) {
      room[n] = inside.front();
      if (static_cast<std::int64_t>(echoed) == flip_at) room[n] ^= std::byte{0x10};
      inside.pop_front();
      ++n;
      ++echoed;
    }
    return static_cast<ssize_t>(n);
  }
};

}  // namespace railgauge
