#pragma once
#include "bench/engine.h"

namespace railgauge::bench {

/// Adds a warning for each direction in which the RDMA port's data counter moved by another amount than this side did:
/// other traffic on the port, or a transfer that took another way. `moved` are the counts of the run that the counters
/// span. Nothing is said where either is not known, or where both sides share the port.
void check_bytes(const Transfers& moved, bool one_host, results::SideResult& side);

}  // namespace railgauge::bench
