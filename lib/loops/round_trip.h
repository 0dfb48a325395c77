#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "stats/histogram.h"
#include "transport/stream.h"

namespace railgauge::loops {

/// How a round-trip loop ended.
enum class RoundTripEnd {
  planned,      ///< its time or count is reached (the echo: the peer ended the stream between two messages)
  stopped,      ///< told to stop
  peer_gone,    ///< the peer ended or reset the stream before the planned end
  stalled,      ///< no byte for the stall limit
  failed,       ///< another errno
};

/// What a round-trip loop did.
struct RoundTripOutcome {
  RoundTripEnd end = RoundTripEnd::planned;
  int error = 0;                        ///< errno, where there is one
  std::uint64_t recorded = 0;           ///< round trips in the measured window
  std::uint64_t warm_up = 0;            ///< round trips before it
  std::uint64_t late_sends = 0;         ///< open loop: sends in the window that began too late
  std::uint64_t unanswered = 0;         ///< open loop: sent in the window, no reply by the end
  std::uint64_t unsent = 0;             ///< open loop: due in the window, never sent
  std::uint64_t checked = 0;            ///< replies compared, of recorded + warm_up
  std::uint64_t checked_bytes = 0;
  std::uint64_t mismatched_bytes = 0;
  std::optional<std::uint64_t> first_mismatch;  ///< offset in the stream of replies
  std::byte expected{};
  std::byte found{};
  Clock::time_point window_begin{};
  Clock::time_point window_end{};
};

/// What a round-trip loop needs. The buffers must outlive it.
struct RoundTripJob {
  transport::Stream* stream = nullptr;
  bool blocking = false;                ///< the stream sleeps in its own bounded waits; else the loop spins
  std::span<std::byte> message;         ///< sent; its first bytes carry the message's number (see numbered())
  std::span<std::byte> reply;           ///< same size
  Clock::duration warm_up{};            ///< from the first send
  Clock::duration duration{};           ///< of the measured window; ignored when iterations > 0
  std::uint64_t iterations = 0;         ///< round trips to record
  bool verify = false;                  ///< each reply is compared, after its time has been taken; open loop: not one that comes while a message is half sent
  double rate_per_s = 0;                ///< open loop only: messages per second, > 0
  Clock::duration stall_limit = std::chrono::seconds(5);
  const std::atomic<bool>* stop = nullptr;
  std::atomic<std::uint64_t>* live_messages = nullptr;  ///< counts those recorded, for the live line; null: nobody looks
};

/// Closed loop: sends a message, waits for its echo, records the time between (call of the send to arrival of the last
/// byte). One clock read and one more per round trip; orders and the stall limit are looked at every 1024 empty polls.
RoundTripOutcome run_round_trips(const RoundTripJob& job, stats::LatencyRecorder& from_send) noexcept;

/// Open loop: message k is due at begin + k/rate whether or not earlier replies have come. `from_intended` counts from the
/// due time, `from_send` from the call of the send. A send that begins later than one period or 100 us, whichever is
/// shorter, after its due time is a late one. Sends until 1 s after the last due time at most, and waits another second for
/// the replies. Needs a non-blocking stream. Reads the clock once a turn.
RoundTripOutcome run_scheduled_round_trips(const RoundTripJob& job, stats::LatencyRecorder& from_intended, stats::LatencyRecorder& from_send) noexcept;

/// The other side: sends back whatever whole message comes, until the peer ends the stream or `stop`. Uses stream, reply,
/// stop and stall_limit of the job.
RoundTripOutcome run_echo(const RoundTripJob& job) noexcept;

}  // namespace railgauge::loops
