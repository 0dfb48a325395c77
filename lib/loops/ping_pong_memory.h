#pragma once
#include "loops/latency.h"

namespace railgauge::loops {

/// Where a ping-pong by memory leaves its mark and looks for the other's: the last byte of the message sent and of the
/// message received. Whether the last byte lands last is the device's promise (ibv_query_qp_data_in_order), not this loop's.
struct Stamps {
  volatile std::byte* outgoing = nullptr;
  const volatile std::byte* incoming = nullptr;
  std::ptrdiff_t stride = 0;            ///< from the message of one round to that of the next; they alternate between two. 0: one for all
};

/// Ping-pong of RDMA writes seen by spinning on memory, the asking side. All stamps are 0 at the begin. A sample is the
/// span between two successive answers, so all that the CPU does between them is inside, except recording, which happens
/// while the next one is under way.
LatencyOutcome ping_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags, const TickClock& clock,
                              stats::LatencyRecorder& recorder, Live live) noexcept;

/// The answering side, until the peer has ended.
LatencyOutcome pong_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags,
                              const TickClock& clock) noexcept;

}  // namespace railgauge::loops
