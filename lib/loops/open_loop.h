#pragma once
#include "loops/latency.h"

namespace railgauge::loops {

/// Requests sent by the clock and not by the answers: the k-th at begin + k/rate, whatever became of those before. A stall
/// then costs every request that should have gone out meanwhile, as it would a user (no coordinated omission).
struct OpenLoopSettings {
  LatencySettings latency;              ///< `halved` must be false
  std::uint32_t depth = 16;             ///< most requests in flight; at most `ring`
  double rate_per_s = 0;                ///< > 0
  nanoseconds late_after = std::chrono::microseconds(1);  ///< a request posted later than this after its instant counts as late
};

struct OpenLoopOutcome {
  LatencyOutcome latency;
  std::uint64_t late_sends = 0;         ///< in the window
  std::uint64_t unsent = 0;             ///< instants in the window, as far as the loop came, that no request was posted for
};

/// Ends at most 1 s after the last instant (and what is in flight then), however much of the schedule the queue has not taken.
/// `from_intended`: samples from the intended instant to the completion; `from_posted`: from the post. Lane 0.
OpenLoopOutcome send_by_schedule(transport::WorkQueue& queue, const OpenLoopSettings& settings, Flags flags, const TickClock& clock,
                                 stats::LatencyRecorder& from_intended, stats::LatencyRecorder& from_posted, Live live);

}  // namespace railgauge::loops
