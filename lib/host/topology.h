#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"
#include "host/pci.h"
#include "host/root.h"

namespace railgauge::host {

/// A device in the PCI tree.
struct PciEnd {
  std::string name;                     ///< for sentences: "GPU 0000:3b:00.0", "mlx5_0 0000:3c:00.0"
  PciPlace place;
};

/// Two devices of one host.
struct PciPair {
  PciEnd first;
  PciEnd second;
  bool virtual_machine = false;         ///< Snapshot::virtual_machine: then a flat tree tells nothing
};

/// How two devices of one host are connected by PCI.
struct PciRelation {
  Distance distance = Distance::unknown;
  std::optional<std::string> meet_at;   ///< NicDistance::meet_at
  std::vector<std::string> first_bridges;   ///< those below `meet_at`, the one beside the device first
  std::vector<std::string> second_bridges;
  std::string why;                      ///< one sentence
};

/// Class, meeting point and reason of `pair`; a function of the tree below `root`. Never throws for what cannot be read: that is
/// `unknown` with its reason.
PciRelation relation_of(const Root& root, const PciPair& pair);

/// What a distance means for traffic between a NIC and GPU memory.
enum class GpuDirectFit { good, works, avoid, unknown };
/// good to PXB (NCCL's own limit), works for PHB, avoid beyond (NCCL's documentation of NCCL_NET_GDR_LEVEL; UCX counts 220 MB/s
/// between sockets).
GpuDirectFit gpudirect_fit(Distance distance) noexcept;
/// "works, at a speed that depends on the CPU": the fit in words.
const char* text_of(GpuDirectFit fit) noexcept;

/// Which GPU, and the sentence that says why.
struct GpuChoice {
  std::string address;
  Distance distance = Distance::unknown;
  std::string reason;
};

/// The NVIDIA GPU nearest to RDMA device `device`: by class; where none is known those of the device's NUMA node first; ties end
/// with the lowest PCI address. A function of the snapshot alone. Throws Error{usage} when `device` is not in it,
/// Error{unsupported} when it holds no NVIDIA GPU.
GpuChoice nearest_gpu(const Snapshot& snapshot, const std::string& device);

}  // namespace railgauge::host
