#pragma once
#include <string>
#include <vector>

#include "host/root.h"
#include "plan/plan.h"
#include "results/record.h"

namespace railgauge::bench {

/// This host, as it was when it was read.
struct LocalHost {
  host::Root root;
  results::Node node;       ///< role is set by whoever runs
};

/// Reads the host's facts under `sysroot`, else under RAILGAUGE_SYSROOT, else of the running host, and adds what libibverbs
/// knows of their devices. Throws Error{usage} when the folder is none.
/// `command_line` must be free of secrets (results::recordable_command_line).
LocalHost read_local_host(const std::string& sysroot, const std::vector<std::string>& command_line);

/// What one measurement may use of a host by default. Its memory: half, so that neither the kernel nor what else runs there is
/// starved by pinned pages, which cannot be swapped; a quarter where both sides share the host; 64 GiB at most (plan::Limits).
plan::Limits default_limits(const host::Snapshot& facts, bool both_sides);

/// True when the RDMA part cannot run here; `reason` then says why and how to get a device.
bool has_no_rdma_device(const host::Snapshot& facts, std::string& reason);

}  // namespace railgauge::bench
