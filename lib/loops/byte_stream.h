#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "transport/stream.h"

namespace railgauge::loops {

/// What the supervising thread tells the measuring threads. A loop runs as long as the phase is the one it was started
/// for; its thread then notes its CPU time and starts it again for the next.
enum class Phase : int {
  warm_up,
  settle,       ///< still warm-up: the thread has noted its CPU time when it runs this one
  measure,
  drain,
  stop,
};

/// Written by the supervisor, read by every measuring thread once per block.
struct alignas(64) StreamOrders {
  std::atomic<Phase> phase{Phase::warm_up};
  std::atomic<std::uint32_t> check{0};  ///< raised by one: each receiving lane verifies one of its next blocks
};

enum class LaneState : int {
  running,
  finished,     ///< its limit is reached
  ended,        ///< receiving: the peer ended the stream; sending: the peer closed it (EPIPE, ECONNRESET)
  failed,       ///< another errno
};

/// What a lane has done so far: written by its thread alone, read by the supervisor at any time without a lock.
/// On a cache line of its own, so that two threads never share one.
struct alignas(64) LaneCounters {
  static constexpr std::int64_t kNotYet = INT64_MIN;
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> first_ns{kNotYet};  ///< Clock time after the first block that moved
  std::atomic<std::uint64_t> first_bytes{0};    ///< of that block
  std::atomic<std::int64_t> end_ns{kNotYet};    ///< Clock time at which the lane left `running`
  std::atomic<LaneState> state{LaneState::running};
  std::atomic<int> error{0};                    ///< errno that ended it; 0 for finished and for the end of the stream
};

/// What a receiving lane found when it compared blocks.
struct LaneCheck {
  std::uint64_t checked_bytes = 0;
  std::uint64_t mismatched_bytes = 0;
  std::optional<std::uint64_t> first_offset;    ///< in the stream
  std::byte expected{};
  std::byte found{};
};

/// One stream as its sending thread serves it.
struct SendLane {
  transport::Stream* stream = nullptr;
  LaneCounters* counters = nullptr;
  std::uint64_t limit_bytes = 0;                ///< 0: until told to stop
  std::uint64_t sent = 0;                       ///< the loop's own
  std::size_t offset = 0;                       ///< the loop's own: within the message
};

/// One stream as its receiving thread serves it.
struct ReceiveLane {
  transport::Stream* stream = nullptr;
  LaneCounters* counters = nullptr;
  std::uint64_t limit_bytes = 0;                ///< 0: until told to stop
  std::uint64_t received = 0;                   ///< the loop's own
  std::uint32_t checks_done = 0;                ///< the loop's own
  LaneCheck check;                              ///< read it after the thread has been joined
};

/// Sends `message` again and again on every lane, in turn, until the phase changes or no lane runs any more.
/// `readiness` null: a round without progress is followed by the next at once. That is right for one stream that blocks
/// (it must return −EAGAIN within a bounded time) and for streams that shall spin.
/// No clock is read and nothing is called but the streams (and the readiness after a round without progress), except once
/// per lane at its first block and at its end.
void send_stream(std::span<SendLane> lanes, std::span<const std::byte> message, const StreamOrders& orders, Phase phase,
                 transport::Readiness* readiness) noexcept;

/// Receives on every lane, in turn, into `room`, until the phase changes or no lane runs any more. `expected` is the
/// message that the sender repeats, for the blocks that are verified; empty: nothing is verified.
void receive_stream(std::span<ReceiveLane> lanes, std::span<std::byte> room, std::span<const std::byte> expected,
                    const StreamOrders& orders, Phase phase, transport::Readiness* readiness) noexcept;

/// Compares a block that began at stream offset `offset` with the repeated `expected`. Pure.
void check_block(std::span<const std::byte> block, std::uint64_t offset, std::span<const std::byte> expected, LaneCheck& check) noexcept;

}  // namespace railgauge::loops
