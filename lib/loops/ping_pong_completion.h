#pragma once
#include "loops/latency.h"

namespace railgauge::loops {

/// Ping-pong of send or write_imm seen by receive completions, the asking side. `settings.receives` receives are posted on
/// lane 0 before either side begins. Works for memory that the CPU cannot poll (GPUs).
LatencyOutcome ping_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                                  stats::LatencyRecorder& recorder, Live live) noexcept;

/// The answering side, until the peer has ended.
LatencyOutcome pong_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock) noexcept;

}  // namespace railgauge::loops
