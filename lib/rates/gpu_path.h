#pragma once
#include <string>

#include "host/facts.h"
#include "rates/expectation.h"

namespace railgauge::rates {

/// The way of payload between an RDMA device and the memory of a GPU of the same host.
struct GpuWay {
  std::string host;             ///< its name for the terms
  host::RdmaDevice nic;
  host::Gpu gpu;
  bool write = false;           ///< the NIC writes into the GPU (the receiving side); else it reads from it
};

/// Adds a term for each PCIe link that `way` crosses, in place of those to host memory. Below one bridge these are the links of
/// NIC and GPU up to it, and nothing above; where they meet at a host bridge or not at all, or where their distance is unknown,
/// all of both. That a root complex carries peer-to-peer traffic at the speed of its links is not said: a note tells so. Does not
/// look for the limit. Of a bond the path is that of the RDMA device's own card.
void add_gpu_terms(Expectation& out, const GpuWay& way);

enum class CopyDirection { host_to_device, device_to_host };

/// The upper bound of a copy between host memory and `gpu` by its copy engine: each PCIe link up to the root port, as DMA read
/// (host to device) or DMA write. In payload Gbit/s of that direction, also when both run. The GPU's own link counts with the
/// speed that both its ends can, because idle GPUs lower it; a GPU that does not come up from there is not seen here. Not for
/// GPUs joined to their CPU by NVLink-C2C (GH200, GB200), whose copies do not take PCIe.
Expectation expect_copy(const std::string& host_name, const host::Gpu& gpu, CopyDirection direction);

}  // namespace railgauge::rates
