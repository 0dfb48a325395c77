#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/tsc.h"
#include "loops/message_check.h"
#include "loops/outcome.h"
#include "stats/histogram.h"
#include "transport/work_queue.h"

namespace railgauge::loops {

using std::chrono::nanoseconds;

/// What every latency loop has. One lane (0) of the queue is used, every request signalled.
struct LatencySettings {
  std::uint64_t message_bytes = 0;      ///< of each message; a receive of another length is a fault (modes by completion)
  std::uint32_t ring = 16;              ///< send slots prepared, at least 4; as many may be in flight
  std::uint32_t receives = 0;           ///< receive slots prepared and posted (modes by completion), at least 2
  std::uint64_t iterations = 0;         ///< samples wanted; 0: by duration
  nanoseconds warm_up{};
  nanoseconds duration{};
  nanoseconds stall_limit = std::chrono::seconds(2);   ///< longest wait of the initiator for one answer
  nanoseconds idle_limit = std::chrono::seconds(10);   ///< longest wait of the responder for one question
  bool halved = true;                   ///< samples are half round trips
  bool yields = false;                  ///< both sides share this host's CPUs
  bool events = false;                  ///< by completion only: sleep instead of spinning
  MessageCheck* check = nullptr;        ///< sees each message outside of the samples; null: none. Outlives the loop
};

/// What a latency loop says; the samples are in the recorder it was given.
struct LatencyOutcome {
  Ending ending = Ending::finished;
  Fault fault;
  std::uint64_t rounds = 0;             ///< round trips or requests, warm-up included
};

/// When a round trip or request began and when its answer had come, in ticks.
struct Round {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// When the next round begins: where `ended` ended, or after its message, in `slot`, has been checked.
inline std::uint64_t begin_after(const Round& ended, MessageCheck* check, std::uint32_t slot, const TickClock& clock) noexcept {
  if (check == nullptr) return ended.end;
  check->check(0, slot);
  return clock.now_ordered();
}

/// Decides what is warm-up, what is recorded and when there is enough.
class Sampler {
 public:
  Sampler(const LatencySettings& settings, const TickClock& clock, stats::LatencyRecorder& recorder, Live live)
      : clock_(clock),
        recorder_(recorder),
        live_(live),
        warm_up_ticks_(clock.ticks_of(settings.warm_up)),
        duration_ticks_(settings.iterations > 0 ? 0 : clock.ticks_of(settings.duration)),
        wanted_(settings.iterations > 0 ? settings.iterations : ~0ULL),
        halving_(settings.halved ? 1 : 0) {}

  void start(std::uint64_t tick) noexcept {
    window_tick_ = tick + warm_up_ticks_;
    end_tick_ = duration_ticks_ > 0 ? window_tick_ + duration_ticks_ : ~0ULL;
  }
  std::uint64_t window_tick() const noexcept { return window_tick_; }
  std::uint64_t end_tick() const noexcept { return end_tick_; }
  bool wants(std::uint64_t begin) const noexcept { return begin >= window_tick_; }
  /// True if a sample that began at `begin` and ends at `end` is the last one.
  bool last(std::uint64_t begin, std::uint64_t end) const noexcept {
    return end >= end_tick_ || (samples_ + 1 >= wanted_ && wants(begin));
  }
  bool enough() const noexcept { return samples_ >= wanted_; }
  void add(std::uint64_t begin, std::uint64_t end) noexcept {
    if (!wants(begin)) return;
    auto ns = static_cast<std::int64_t>(clock_.nanoseconds_of(end - begin) >> halving_);
    recorder_.record(clock_.duration_of(end - window_tick_), nanoseconds(ns));
    if ((++samples_ & kPublishMask) == 0 && live_.messages != nullptr) live_.messages->fetch_add(kPublishMask + 1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kPublishMask = 1023;
  const TickClock& clock_;
  stats::LatencyRecorder& recorder_;
  Live live_;
  std::uint64_t warm_up_ticks_;
  std::uint64_t duration_ticks_;
  std::uint64_t wanted_;
  unsigned halving_;
  std::uint64_t window_tick_ = 0;
  std::uint64_t end_tick_ = ~0ULL;
  std::uint64_t samples_ = 0;
};

/// Posts one request at a time on lane 0 and takes its completions when there is time for it. Remembers the first fault.
class SendSide {
 public:
  SendSide(transport::WorkQueue& queue, std::uint32_t ring) : queue_(queue), ring_(ring) {}
  /// False on a fault. Never more than `ring` in flight: the caller reaps before.
  bool post() noexcept {
    transport::PostResult result = queue_.post(0, slot_, 1);
    if (result.accepted != 1) return refused(result.error);
    ++in_flight_;
    if (++slot_ == ring_) slot_ = 0;
    return true;
  }
  /// Takes what has completed, without waiting; false on a fault.
  bool reap() noexcept;
  /// Accounts for a poll's answer: `n` completions in `done`, or −errno; false on a fault.
  bool took(int n, std::span<const transport::Completion> done) noexcept;
  bool full() const noexcept { return in_flight_ >= ring_; }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  const Fault& fault() const noexcept { return fault_; }
  void fail(const Fault& fault) noexcept { fault_ = fault; }

 private:
  bool refused(int error) noexcept;
  transport::WorkQueue& queue_;
  std::uint32_t ring_;
  std::uint32_t slot_ = 0;
  std::uint32_t in_flight_ = 0;
  std::array<transport::Completion, 4> done_;  ///< one request is under way, seldom two
  Fault fault_;
};

/// What ended a wait.
enum class Seen {
  yes,    ///< what was waited for
  over,   ///< asked to stop, or the peer has ended
  fault,  ///< see SendSide::fault
};

/// Posts one request. Waits for room where the ring is full: `limit_ticks` at most, else it is stalled.
Seen post_next(SendSide& sends, std::uint64_t limit_ticks, Flags flags, const TickClock& clock) noexcept;

}  // namespace railgauge::loops
