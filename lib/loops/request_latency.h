#pragma once
#include "loops/latency.h"

namespace railgauge::loops {

/// Latency of a request that its initiator alone sees complete (read, fetch_add, compare_swap; a write's or send's
/// acknowledgement too): post, poll until it completes, one at a time. Full round trip: set `halved` to false.
LatencyOutcome time_requests(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                             stats::LatencyRecorder& recorder, Live live) noexcept;

}  // namespace railgauge::loops
