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

/// The fault behind a failed completion. A flush is never the cause, so both completion queues are searched for the
/// failure that made it; `scratch` is overwritten.
Fault fault_of(transport::WorkQueue& queue, const transport::Completion& failed, bool receiving,
               std::span<transport::Completion> scratch) noexcept;

/// Event mode: arms, polls once more and sleeps if there is still nothing. What the extra poll found stands in `out`.
/// Number found, or −errno.
int poll_or_sleep(transport::WorkQueue& queue, bool receives, std::span<transport::Completion> out) noexcept;

}  // namespace railgauge::loops
