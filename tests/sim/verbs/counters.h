/// Port counters: bytes and packets, gathered per queue pair, published where somebody reads them.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// Adds what the queue pair has moved since the last time to its own port and to its peer's (sq_lock held).
void publish_counters(SimQp& qp) noexcept;

/// Writes the port counters of all contexts of the device below RAILGAUGE_SIM_SYSFS, added to the description's values.
/// Nothing without that variable.
void write_counter_files(SimDevice& device) noexcept;
/// A context begins or ends: what it has moved stays counted.
void count_context(SimContext& context);
void finish_context(SimContext& context) noexcept;
/// Writes a port's state files there.
void write_state_files(const SimContext& context, std::uint32_t port, bool up) noexcept;

/// True when the tree is there to be read by others, and so worth keeping up to date.
bool sysfs_is_public() noexcept;

}  // namespace railgauge::simverbs
