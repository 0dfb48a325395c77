/// When a message would be over on the described wire.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// Books `payload` bytes on the wire between the two ports and returns the instant (CLOCK_MONOTONIC ns) at which the
/// last bit arrives; 0 when the device is neither paced nor given a latency. `from_peer`: the data flows towards us.
std::uint64_t book_wire(SimQp& qp, Target& target, std::uint64_t payload, bool from_peer) noexcept;

/// The clock of a port and direction on this fabric; the same for all processes of one host (RAILGAUGE_SIM_HOST; a
/// process without that variable is a host of its own).
std::uint32_t port_clock(const DeviceDescription& device, std::uint32_t port, bool egress) noexcept;

}  // namespace railgauge::simverbs
