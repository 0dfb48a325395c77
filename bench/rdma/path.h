#pragma once
#include <string>
#include <vector>

#include "bench/engine.h"
#include "transport/offer.h"
#include "verbs/device.h"
#include "verbs/qp.h"

namespace railgauge::bench {

using std::chrono::nanoseconds;

/// What both sides must agree on before QPs can be connected, from the plan and both offers. Throws Error{usage,
/// unsupported} naming both sides' values where they do not fit.
struct Agreement {
  int mtu_bytes = 0;
  std::uint8_t timeout_code = 0;
  std::uint8_t retry_count = 0;
  nanoseconds stall_limit{};            ///< longest time without a completion before a run is given up
  std::uint8_t initiator_reads = 0;     ///< this side's outstanding reads and atomics
  std::uint8_t responder_reads = 0;     ///< that it answers
};
Agreement agree(const plan::Plan& plan, const transport::Offer& own, const transport::Offer& peer, const verbs::Device& device);

/// A random 24-bit packet sequence number per QP: packets of an earlier connection must not be taken for this one's.
std::vector<std::uint32_t> random_psns(std::size_t count);

}  // namespace railgauge::bench
