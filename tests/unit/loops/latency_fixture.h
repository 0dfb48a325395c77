#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>

#include "loops/ping_pong_memory.h"
#include "unit/loops/loop_fixture.h"

namespace railgauge::loops {

using std::chrono::milliseconds;
using testing_support::FakeQueue;

/// What the tests of the latency loops start from.
class LatencyLoop : public testing::Test, public LoopFixture {
 protected:
  static LatencySettings settings() {
    LatencySettings s;
    s.message_bytes = 8;
    s.ring = 5;
    s.receives = 3;
    s.iterations = 40;
    s.stall_limit = milliseconds(20);
    s.idle_limit = milliseconds(25);
    return s;
  }
  Stamps stamps() { return {.outgoing = &outgoing, .incoming = &incoming}; }
  /// The peer answers each message at once.
  void echo_in_memory(FakeQueue& queue) {
    queue.on_post = [this](std::uint64_t) { incoming = static_cast<std::byte>(outgoing); };
  }
  /// A responder's peer: sends the next question when the answer to the last is posted.
  void ask_in_memory(FakeQueue& queue, std::uint64_t questions) {
    incoming = std::byte{1};
    queue.on_post = [this, questions](std::uint64_t n) {
      if (n < questions) incoming = static_cast<std::byte>(n + 1);
      else peer_done = true;
    };
  }
  static void post_receives(FakeQueue& queue, const LatencySettings& s) { queue.post_recv(0, 0, s.receives); }

  volatile std::byte outgoing{};
  volatile std::byte incoming{};
  stats::LatencyRecorder recorder;
};

}  // namespace railgauge::loops
