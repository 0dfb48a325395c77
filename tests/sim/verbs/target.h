/// Finding the queue pair at the other end and judging whether it can be reached.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// Looks up the connected peer; false while it does not exist or the address vector does not lead to it.
bool connect_target(SimQp& qp) noexcept;

/// Looks up a datagram destination; null when there is none.
Target* datagram_target(SimQp& qp, const ibv_ah_attr& address, std::uint32_t qpn) noexcept;

/// True when a message of `length` bytes gets an answer now (connected types).
bool reachable(SimQp& qp, std::uint64_t length) noexcept;

}  // namespace railgauge::simverbs
