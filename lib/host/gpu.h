#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "host/pci.h"
#include "host/root.h"

namespace railgauge::host {

/// The GPUs of /sys/bus/pci/devices by PCI address: functions of class 0300 or 0302 of NVIDIA (10de), and of class 0300, 0380 or
/// 1200 of AMD (1002). Virtual functions whose physical function is here too are not GPUs of this host. Distances are those to
/// `snapshot.rdma_devices`, which have to be there already, as has `virtual_machine`.
std::vector<Gpu> read_gpus(const Root& root, PciReader& pci, const Snapshot& snapshot);

/// What GPUDirect RDMA stands on in the kernel.
GpuDirectFacts read_gpudirect(const Root& root);

/// Bytes of the window onto the memory of an NVIDIA GPU (BAR1), from the `resource` file: its second memory region, which is
/// resource1 up to Ampere and resource2 from Hopper on, whose first is a 64-bit one and takes two slots. So counts the driver
/// (open-gpu-kernel-modules nv-pci.c: memory BARs that are valid, in order). Missing where there is no second one.
Fact<std::uint64_t> parse_bar1_bytes(std::string_view resource_text);

/// The first line of /proc/driver/nvidia/version taken apart: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64
/// 570.86.15  Release Build …" (open), "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Tue …" (proprietary).
struct NvidiaDriver {
  Fact<std::string> version;
  Fact<bool> open_kernel_modules;
};
NvidiaDriver parse_nvidia_version(std::string_view text);

/// Why a loaded nvidia_peermem is of no use, and what mends it; empty when it is not loaded or has registered. Loaded is not
/// registered (field case F17): an RDMA stack without peer memory clients takes the module and ignores it.
std::string peermem_doubt(const GpuDirectFacts& facts);

}  // namespace railgauge::host
