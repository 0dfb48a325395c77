#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "host/facts.h"

namespace railgauge::cuda {

/// A GPU as the driver describes it; plain data. What an older driver does not know is missing, with the reason.
struct Device {
  int ordinal = 0;                      ///< in CUDA's order, which is neither NVML's nor that of PCI addresses
  abi::DeviceHandle handle = 0;
  std::string name;                     ///< "NVIDIA H100 80GB HBM3"
  std::string pci_address;              ///< as sysfs writes it: "0000:4a:00.0"
  std::string uuid;                     ///< as NVML writes it: "GPU-…"
  int compute_major = 0;                ///< compute capability
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t total_bytes = 0;
  bool integrated = false;              ///< shares the host's memory
  bool simulated = false;               ///< the stand-in of tests/sim/cuda; records made with it say so
  host::Fact<bool> gpu_direct_rdma;     ///< attribute 116: nvidia-peermem's way can work
  host::Fact<bool> gpu_direct_rdma_with_vmm;  ///< 110
  host::Fact<bool> dma_buf;             ///< 124: device memory can be exported
  host::Fact<bool> host_dma_buf;        ///< 146, new in CUDA 13: pinned host memory as well
  host::Fact<int> flush_options;        ///< 117, bits: abi::kFlushOptionHost
  host::Fact<int> writes_ordering;      ///< 118: 0 none, 100 the owner sees a NIC's writes in order, 200 every GPU does
};

/// All GPUs that this process may use, in CUDA's order. Throws Error{cuda}.
std::vector<Device> devices(const Driver& driver);

/// One by "3", by PCI address ("0000:4A:00.0", "4a:00.0") or by UUID. Throws Error{usage} naming those that there are.
Device find_device(const Driver& driver, const std::string& wanted);

/// "CUDA device 3 (NVIDIA H100 80GB HBM3, 0000:4a:00.0)"
std::string describe(const Device& device);

}  // namespace railgauge::cuda
