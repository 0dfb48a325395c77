#pragma once
#include <chrono>
#include <cstdint>
#include <span>

#include "loops/outcome.h"
#include "transport/work_queue.h"

namespace railgauge::loops {

/// Completions taken per poll: enough that a virtual call and a clock reading weigh little, few enough to stay in L1.
inline constexpr std::uint32_t kPollBatch = 64;

/// Empty polls between two looks at the clock and the flags: about a microsecond, far below any deadline.
inline constexpr std::uint32_t kEmptyPolls = 64;

/// Longest sleep in event mode before the flags are looked at again.
inline constexpr std::chrono::milliseconds kLongestSleep{50};

/// Gives the CPU to others where two sides share one host's CPUs and nothing has come for a while: two spinning threads on
/// one CPU would else wait a scheduler's time slice for each message. Off between hosts, where spinning is the point.
class Courtesy {
 public:
  explicit Courtesy(bool yields) noexcept : yields_(yields) {}
  /// Something came.
  void busy() noexcept { idle_rounds_ = 0; }
  /// kEmptyPolls empty polls in a row.
  void idle() noexcept {
    if (yields_ && ++idle_rounds_ > kPatience) give_way();
  }

 private:
  static constexpr std::uint32_t kPatience = 32;  // about 20 us: longer than any answer on a quiet host takes
  static void give_way() noexcept;
  bool yields_;
  std::uint32_t idle_rounds_ = 0;
};

/// The fault behind a failed completion, which `batch` begins with. A flush is never the cause, so the rest of the batch
/// and then both completion queues are searched for the failure that made it.
Fault fault_of(transport::WorkQueue& queue, std::span<const transport::Completion> batch, bool receiving) noexcept;

/// Event mode: arms, polls once more and sleeps if there is still nothing. What the extra poll found stands in `out`.
/// Number found, or −errno.
int poll_or_sleep(transport::WorkQueue& queue, bool receives, std::span<transport::Completion> out) noexcept;

}  // namespace railgauge::loops
