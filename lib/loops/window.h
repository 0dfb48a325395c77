#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/tsc.h"
#include "loops/message_check.h"
#include "loops/outcome.h"
#include "loops/pace.h"
#include "loops/poll.h"
#include "loops/schedule.h"
#include "transport/work_queue.h"

namespace railgauge::loops {

/// Bandwidth and message rate: `depth` requests outstanding on every lane.
/// The caller guarantees (plan::validate): ring, depth, iterations multiples of post_batch and of signal_every; every lane's ring
/// prepared with `ring` slots of which each signal_every-th asks for a completion.
struct WindowSettings {
  std::uint64_t message_bytes = 0;
  std::uint32_t ring = 0;
  std::uint32_t depth = 0;
  std::uint32_t post_batch = 1;
  std::uint32_t signal_every = 1;
  std::uint64_t iterations = 0;         ///< messages per lane in the window; 0: by Times::duration.
                                        ///< The warm-up is completed first; the window is from the first post to the last completion
  double messages_per_s = 0;            ///< all lanes together, evenly spread over time (loops/pace.h); 0: as fast as they go
  Times times;
  nanoseconds stall_limit = std::chrono::seconds(2);   ///< longest wait for the next completion
  nanoseconds drain_limit = std::chrono::seconds(2);   ///< longest wait without a completion after the window
  bool events = false;                  ///< sleep instead of spinning while a completion is due and none is there
  bool yields = false;                  ///< both sides share this host's CPUs
  MessageCheck* check = nullptr;        ///< of reads: sees each slot before it is posted again; null: none. Outlives the loop
};

/// What a sending loop says.
struct WindowOutcome {
  Ending ending = Ending::finished;
  Fault fault;
  nanoseconds drain{};                  ///< from the window's end to the last completion
  std::vector<std::uint64_t> completed; ///< messages per lane since the loop began
  bool drained = false;                 ///< all that was posted has completed
};

/// Keeps every lane at its depth until the schedule ends, then completes what is in flight. Lanes are refilled in the
/// order in which they complete, which gives each the share that the device gives it. One thread.
/// Allocates in its constructor only.
class WindowSender {
 public:
  WindowSender(transport::WorkQueue& queue, const WindowSettings& settings, Flags flags, const TickClock& clock, Live live);

  /// Fills all lanes, one batch each in turn. `tick`: the common begin of all threads. False when all is over already.
  bool start(std::uint64_t tick) noexcept;
  /// One poll, and posts for what has completed. False when all is over. In event mode it sleeps when there is nothing, unless
  /// the caller does so.
  bool turn(bool may_sleep = true) noexcept;
  /// A request that asked for a completion is in flight, so that a sleep has an end.
  bool completion_due() const noexcept;
  bool sleeps() const noexcept { return settings_.events; }
  std::uint64_t completed() const noexcept { return messages_; }  ///< messages so far, all lanes
  /// Ends it with a fault that was found between two turns.
  void fail(const Fault& fault) noexcept;
  transport::WorkQueue& queue() noexcept { return queue_; }
  bool failed() const noexcept { return state_ == State::over && ending_ == Ending::failed; }
  /// Nothing is in flight.
  bool drained() const noexcept;
  /// Of each lane what outcome() says, into as many places as there are lanes. Does not allocate.
  void completed_per_lane(std::span<std::uint64_t> into) const noexcept;
  /// After the last turn. Allocates.
  WindowOutcome outcome() const;
  const Schedule& schedule() const noexcept { return schedule_; }

 private:
  struct Lane {
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t limit = ~0ULL;
    std::uint32_t slot = 0;
  };
  enum class State { running, settling, draining, over };

  void refill(std::uint32_t index) noexcept;
  void post(std::uint32_t index, Lane& lane) noexcept;
  void take_all(std::span<const transport::Completion> batch) noexcept;
  void look_at_time(std::uint64_t tick) noexcept;
  void idle(bool may_sleep) noexcept;
  std::uint32_t waiting_lane() const noexcept;
  void spend_time(std::uint64_t tick) noexcept;
  void fill() noexcept;
  void on_all_completed(std::uint64_t tick) noexcept;
  void begin_iterations(std::uint64_t tick) noexcept;
  void finish_posted(State state) noexcept;
  void begin_drain(std::uint64_t tick) noexcept;
  void end(Ending ending) noexcept;
  void count_open_lanes() noexcept;
  stats::Counters counters() const noexcept { return {messages_ * settings_.message_bytes, messages_}; }
  std::uint64_t whole_signals(std::uint64_t messages) const noexcept;

  transport::WorkQueue& queue_;
  const WindowSettings settings_;
  const Flags flags_;
  const TickClock& clock_;
  Schedule schedule_;
  std::vector<Lane> lanes_;
  std::vector<transport::Completion> completions_;
  const std::uint64_t stall_ticks_;
  const std::uint64_t drain_ticks_;
  const std::uint64_t stopped_drain_ticks_;
  const std::uint64_t step_;            ///< lcm of post_batch and signal_every
  std::size_t open_lanes_ = ~std::size_t{0};  ///< lanes that have not reached their limit, once they have one
  Pace pace_;
  std::uint64_t budget_ = ~0ULL;        ///< messages that may have been posted by now, all lanes
  std::uint64_t posted_ = 0;            ///< messages, all lanes
  std::uint64_t messages_ = 0;          ///< completed, all lanes
  std::uint64_t progress_tick_ = 0;     ///< of the last completion
  std::uint64_t drain_tick_ = 0;
  std::uint32_t empty_polls_ = 0;
  Courtesy courtesy_;
  State state_ = State::running;
  Ending ending_ = Ending::finished;
  nanoseconds drain_{};
  Fault fault_;
};

/// start(), then turn() to the end.
WindowOutcome run(WindowSender& sender, std::uint64_t tick);

}  // namespace railgauge::loops
