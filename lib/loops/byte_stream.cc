#include "loops/byte_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace railgauge::loops {
namespace {

/// How long a thread without progress waits before it looks at its orders again.
constexpr std::chrono::milliseconds kLookAgain{50};

std::int64_t now_ns() noexcept { return Clock::now().time_since_epoch().count(); }

bool running(const LaneCounters& counters) noexcept { return counters.state.load(std::memory_order_relaxed) == LaneState::running; }

void leave(LaneCounters& counters, LaneState state, int error) noexcept {
  counters.end_ns.store(now_ns(), std::memory_order_relaxed);
  counters.error.store(error, std::memory_order_relaxed);
  counters.state.store(state, std::memory_order_release);
}

/// Adds to the lane's bytes: one writer, so a plain store is enough.
void count(LaneCounters& counters, std::uint64_t before, std::uint64_t bytes) noexcept {
  if (before == 0) {
    counters.first_bytes.store(bytes, std::memory_order_relaxed);
    counters.first_ns.store(now_ns(), std::memory_order_release);
  }
  counters.bytes.store(before + bytes, std::memory_order_relaxed);
}

LaneState state_of(int error) noexcept { return error == EPIPE || error == ECONNRESET ? LaneState::ended : LaneState::failed; }

/// The part of a block that the lane may still move.
std::size_t allowed(std::size_t bytes, std::uint64_t limit, std::uint64_t done) noexcept {
  return limit == 0 ? bytes : static_cast<std::size_t>(std::min<std::uint64_t>(bytes, limit - done));
}

enum class Step { moved, waiting };

Step send_step(SendLane& lane, std::span<const std::byte> message) noexcept {
  const auto rest = message.subspan(lane.offset);
  const ssize_t n = lane.stream->send_some(rest.first(allowed(rest.size(), lane.limit_bytes, lane.sent)));
  if (n < 0) {
    if (n != -EAGAIN) leave(*lane.counters, state_of(static_cast<int>(-n)), static_cast<int>(-n));
    return Step::waiting;
  }
  const auto moved = static_cast<std::uint64_t>(n);
  count(*lane.counters, lane.sent, moved);
  lane.sent += moved;
  lane.offset += moved;
  if (lane.offset == message.size()) lane.offset = 0;
  if (lane.limit_bytes != 0 && lane.sent == lane.limit_bytes) leave(*lane.counters, LaneState::finished, 0);
  return Step::moved;
}

Step receive_step(ReceiveLane& lane, std::span<std::byte> room, std::span<const std::byte> expected, const StreamOrders& orders) noexcept {
  const ssize_t n = lane.stream->receive_some(room.first(allowed(room.size(), lane.limit_bytes, lane.received)));
  if (n <= 0) {
    if (n == 0) leave(*lane.counters, LaneState::ended, 0);
    if (n < 0 && n != -EAGAIN) leave(*lane.counters, state_of(static_cast<int>(-n)), static_cast<int>(-n));
    return Step::waiting;
  }
  const auto moved = static_cast<std::uint64_t>(n);
  count(*lane.counters, lane.received, moved);
  const std::uint32_t asked = orders.check.load(std::memory_order_relaxed);
  if (asked != lane.checks_done) [[unlikely]] {
    lane.checks_done = asked;
    check_block(room.first(moved), lane.received, expected, lane.check);
  }
  lane.received += moved;
  if (lane.limit_bytes != 0 && lane.received == lane.limit_bytes) leave(*lane.counters, LaneState::finished, 0);
  return Step::moved;
}

/// Serves the lanes in turn; waits only after a round in which none moved.
template <typename Lane, typename StepFunction>
void serve(std::span<Lane> lanes, const StreamOrders& orders, Phase phase, transport::Readiness* readiness, StepFunction step) noexcept {
  while (orders.phase.load(std::memory_order_relaxed) == phase) {
    bool moved = false;
    bool alive = false;
    for (auto& lane : lanes) {
      if (!running(*lane.counters)) continue;
      moved |= step(lane) == Step::moved;
      alive |= running(*lane.counters);
    }
    if (!alive) return;
    if (!moved && readiness != nullptr) readiness->wait(kLookAgain);
  }
}

}  // namespace

void send_stream(std::span<SendLane> lanes, std::span<const std::byte> message, const StreamOrders& orders, Phase phase,
                 transport::Readiness* readiness) noexcept {
  serve(lanes, orders, phase, readiness, [&](SendLane& lane) { return send_step(lane, message); });
}

void receive_stream(std::span<ReceiveLane> lanes, std::span<std::byte> room, std::span<const std::byte> expected,
                    const StreamOrders& orders, Phase phase, transport::Readiness* readiness) noexcept {
  serve(lanes, orders, phase, readiness, [&](ReceiveLane& lane) { return receive_step(lane, room, expected, orders); });
}

void check_block(std::span<const std::byte> block, std::uint64_t offset, std::span<const std::byte> expected, LaneCheck& check) noexcept {
  if (expected.empty()) return;
  check.checked_bytes += block.size();
  while (!block.empty()) {
    const auto in_message = static_cast<std::size_t>(offset % expected.size());
    const std::size_t bytes = std::min(block.size(), expected.size() - in_message);
    if (std::memcmp(block.data(), expected.data() + in_message, bytes) != 0) {
      for (std::size_t i = 0; i < bytes; ++i) {
        if (block[i] == expected[in_message + i]) continue;
        if (check.mismatched_bytes++ != 0) continue;
        check.first_offset = offset + i;
        check.expected = expected[in_message + i];
        check.found = block[i];
      }
    }
    block = block.subspan(bytes);
    offset += bytes;
  }
}

}  // namespace railgauge::loops
