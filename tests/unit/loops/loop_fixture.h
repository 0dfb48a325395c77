#pragma once
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "base/tsc.h"
#include "fakes/fake_queue.h"
#include "loops/outcome.h"
#include "loops/window.h"

namespace railgauge::loops {

/// Flags that a test sets, a plain clock, and a window of 12 requests in posts of 3, each 4th signalled.
struct LoopFixture {
  std::atomic<bool> stop{false};
  std::atomic<bool> abort{false};
  std::atomic<bool> peer_done{false};
  TickClock clock = TickClock::plain();
  Flags flags() { return {stop, abort, peer_done}; }

  static WindowSettings window() {
    WindowSettings s;
    s.message_bytes = 100;
    s.ring = 24;
    s.depth = 12;
    s.post_batch = 3;
    s.signal_every = 4;
    s.times = {.warm_up = {}, .duration = std::chrono::milliseconds(20), .interval = std::chrono::milliseconds(5)};
    s.stall_limit = std::chrono::milliseconds(30);
    s.drain_limit = std::chrono::milliseconds(40);
    return s;
  }
  static std::vector<transport::WorkRequest> ring(const WindowSettings& s) {
    std::vector<transport::WorkRequest> slots(s.ring);
    for (std::uint32_t i = 0; i < s.ring; ++i) slots[i].signaled = (i + 1) % s.signal_every == 0;
    return slots;
  }
  static void prepare(testing_support::FakeQueue& queue, const WindowSettings& s) {
    for (std::uint32_t lane = 0; lane < queue.lanes(); ++lane) queue.prepare(lane, ring(s));
  }
};

/// Remembers what it was shown.
struct CheckRecorder final : MessageCheck {
  void check(std::uint32_t lane, std::uint32_t slot) noexcept override {
    seen.emplace_back(lane, slot);
    if (on_check) on_check();
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::function<void()> on_check;
};

}  // namespace railgauge::loops
