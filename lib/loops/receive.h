#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/tsc.h"
#include "loops/message_check.h"
#include "loops/outcome.h"
#include "loops/poll.h"
#include "loops/schedule.h"
#include "loops/window.h"
#include "transport/work_queue.h"

namespace railgauge::loops {

/// The receiving side of send and write_imm. The caller has posted `depth` receives of every lane before the peer may send
/// (post_first_receives).
struct ReceiveSettings {
  std::uint64_t message_bytes = 0;      ///< of each message; a receive of another length ends the loop (Failure::length)
  std::uint32_t ring = 0;               ///< receives prepared per lane; a multiple of post_batch
  std::uint32_t depth = 0;              ///< of them posted at the begin (slots 0, 1, …, round and round); a multiple of post_batch
  std::uint32_t post_batch = 1;         ///< receives posted again in one call
  std::uint64_t iterations = 0;         ///< > 0: the window lasts until the peer has ended, not for Times::duration
  Times times;
  nanoseconds first_limit = std::chrono::seconds(10);  ///< longest wait for the first message
  nanoseconds stall_limit = std::chrono::seconds(5);   ///< longest wait for the next one; longer than the sender's, who knows more
  bool events = false;
  bool yields = false;                  ///< both sides share this host's CPUs
  MessageCheck* check = nullptr;        ///< sees each message before its receive is posted again; null: none. Outlives the loop
};

/// Posts the first `depth` receives of every lane. Set-up; throws Error{verbs} naming lane and errno.
void post_first_receives(transport::WorkQueue& queue, const ReceiveSettings& settings);

/// What a receiving loop says.
struct ReceiveOutcome {
  Ending ending = Ending::finished;
  Fault fault;
  std::vector<std::uint64_t> received;  ///< messages per lane since the loop began
};

/// Takes what arrives and posts each receive again, counts payload by what the completions say. Warm-up and window count
/// from the first arrival. Ends when the peer has ended and nothing is left, or when asked. One thread.
class WindowReceiver {
 public:
  /// `first_arrival`: shared by the threads of one side, 0 at the start; so that all windows are one.
  WindowReceiver(transport::WorkQueue& queue, const ReceiveSettings& settings, Flags flags, const TickClock& clock, Live live,
                 std::atomic<std::uint64_t>& first_arrival);

  void start() noexcept { progress_tick_ = clock_.now(); }
  /// One poll, and posts for what has arrived. False when all is over. In event mode it sleeps when there is nothing, unless
  /// the caller does so.
  bool turn(bool may_sleep = true) noexcept;
  std::uint64_t arrived() const noexcept { return counters_.messages; }  ///< messages so far, all lanes
  /// Ends it from outside; nothing when it is over already.
  void close() noexcept {
    if (!over_) end(Ending::stopped);
  }
  /// After the last turn. Allocates.
  ReceiveOutcome outcome() const;
  const Schedule& schedule() const noexcept { return schedule_; }

 private:
  struct Lane {
    std::uint64_t received = 0;
    std::uint32_t used = 0;             ///< receives to be posted again
    std::uint32_t slot = 0;             ///< the next to be posted
  };

  void take_all(int n) noexcept;
  void take(const transport::Completion& completion) noexcept;
  void repost(std::uint32_t index, Lane& lane) noexcept;
  void on_first_arrival(std::uint64_t tick) noexcept;
  void idle(bool may_sleep) noexcept;
  void fail(const Fault& fault) noexcept;
  void end(Ending ending) noexcept;

  transport::WorkQueue& queue_;
  const ReceiveSettings settings_;
  const Flags flags_;
  const TickClock& clock_;
  std::atomic<std::uint64_t>& first_arrival_;
  Schedule schedule_;
  std::vector<Lane> lanes_;
  std::vector<transport::Completion> completions_;
  stats::Counters counters_;
  std::uint64_t progress_tick_ = 0;
  std::uint32_t empty_polls_ = 0;
  Courtesy courtesy_;
  bool over_ = false;
  bool last_look_ = false;              ///< the peer has ended: one more empty poll and all is taken
  Ending ending_ = Ending::finished;
  Fault fault_;
};

/// start(), then turn() to the end.
ReceiveOutcome run(WindowReceiver& receiver);

/// Both directions at once on one thread, over one queue: turns of both in alternation until the receiver is over too. In
/// event mode it sleeps only when both completion queues were found empty after they were armed. `sender_ended` is called once
/// when the sender is over, inside the receiver's loop. A failed sender ends the receiver as well.
struct DuplexOutcome {
  WindowOutcome sent;
  ReceiveOutcome received;
};
DuplexOutcome run_duplex(WindowSender& sender, WindowReceiver& receiver, std::uint64_t tick, const std::function<void()>& sender_ended);

}  // namespace railgauge::loops
