#pragma once
#include "results/record.h"

namespace railgauge::golden {

/// A host with one 400G RoCE NIC (mlx5_2, port 1, eth2) on PCIe 32 GT/s x16, as lib/host would describe it.
results::Node gpu_host(const std::string& role, const std::string& name, int number);
/// A container: one virtual interface, no RDMA, and a kernel that shows little.
results::Node container(const std::string& role, const std::string& name);
/// The same host with the stand-in device.
results::Node simulated_host(const std::string& role, const std::string& name, int number);

}  // namespace railgauge::golden
