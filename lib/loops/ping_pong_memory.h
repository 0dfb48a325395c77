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

/// The mark of a round, and the message that carries it. Rounds count from 1; the first uses the first message.
constexpr std::byte stamp_of(std::uint64_t round) noexcept { return static_cast<std::byte>(round & 0xFF); }
constexpr std::uint32_t slot_of(std::uint64_t round) noexcept { return static_cast<std::uint32_t>((round - 1) % 2); }

/// Ping-pong of RDMA writes seen by spinning on memory, the asking side. All stamps are 0 at the begin. A sample is the
/// span between two successive answers, so all that the CPU does between them is inside, except recording, which happens
/// while the next one is under way.
LatencyOutcome ping_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags, const TickClock& clock,
                              stats::LatencyRecorder& recorder, Live live) noexcept;

/// The answering side, until the peer has ended.
LatencyOutcome pong_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags,
                              const TickClock& clock) noexcept;

}  // namespace railgauge::loops
