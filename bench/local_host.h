#pragma once
#include <string>
#include <vector>

#include "host/root.h"
#include "results/record.h"

namespace railgauge::bench {

/// This host, read once per process.
struct LocalHost {
  host::Root root;
  results::Node node;       ///< role is set by whoever runs
};

/// Reads the host's facts under `sysroot`, else under RAILGAUGE_SYSROOT, else of the running host, to which it adds what
/// libibverbs knows of its devices. Throws Error{usage} when the folder is none.
/// `command_line` must be free of secrets (results::recordable_command_line).
LocalHost read_local_host(const std::string& sysroot, const std::vector<std::string>& command_line);

/// True when the RDMA part cannot run here; `reason` then says why and how to get a device.
bool has_no_rdma_device(const host::Snapshot& facts, std::string& reason);

}  // namespace railgauge::bench
