#pragma once
#include <string>
#include <vector>

#include "host/facts.h"
#include "host/pci.h"
#include "host/root.h"

namespace railgauge::host {

/// Every device of /sys/class/infiniband, in the order of its names with numbers compared as numbers. What contradicts
/// itself is added to `warnings`. On the live root each character device is opened once and closed.
std::vector<RdmaDevice> read_rdma_devices(const Root& root, PciReader& pci, std::vector<std::string>& warnings);

}  // namespace railgauge::host
