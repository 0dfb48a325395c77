#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"

namespace railgauge::host {

/// Where measuring threads run.
struct CpuChoice {
  std::vector<int> cpus;                ///< at most one per thread; empty: not bound, the inherited mask holds
  std::optional<int> numa_node;         ///< of the NIC, where buffers belong; nothing: unknown
  std::string reason;                   ///< one sentence
};

/// CPUs for `threads` threads beside the NIC `nic` (an RDMA device or an interface of `snapshot`; a bond counts as its
/// first slave): those of its NUMA node that this process may use, without CPU 0 (interrupts, kernel housekeeping) while others
/// are free. Not bound when the node is unknown or none of its CPUs is allowed.
CpuChoice choose_cpus(const Snapshot& snapshot, const std::string& nic, int threads);

}  // namespace railgauge::host
