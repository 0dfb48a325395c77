#pragma once
#include <memory>
#include <optional>
#include <string>

#include "cuda/kernels.h"
#include "memory/buffer_source.h"

namespace railgauge::cuda {

/// Memory of one GPU. Outlives its blocks; constant once made, so that several threads may allocate from it and use a block
/// each. Never gives host memory.
class DeviceSource final : public memory::BufferSource {
 public:
  /// Takes the device's primary context. `image`: code for the device, as kernel_image() gives it; where it is empty, or driver or
  /// GPU refuse it, blocks are filled and checked through copies, and say so. Throws Error{cuda}.
  DeviceSource(const Driver& driver, const Device& device, std::span<const std::byte> image = kernel_image());

  /// Zeroed; begins at a multiple of 64 KiB and consists of whole 64 KiB, the pages that a NIC sees of a GPU (verbs-facts.md 5.1).
  /// Throws Error{cuda}, with code ENOMEM where the GPU's memory does not suffice; Error{usage} for 0 bytes.
  std::unique_ptr<memory::Block> allocate(std::uint64_t bytes) override;
  /// "CUDA device 3 (NVIDIA H100 80GB HBM3, 0000:4a:00.0)"
  std::string describe() const override { return cuda::describe(device()); }

  const Context& context() const noexcept { return context_; }
  const Device& device() const noexcept { return context_.device(); }
  /// Null where there are none.
  const Kernels* kernels() const noexcept { return kernels_ ? &*kernels_ : nullptr; }
  /// Why not; empty where there are.
  const std::string& why_no_kernels() const noexcept { return why_no_kernels_; }

 private:
  Context context_;
  std::optional<Kernels> kernels_;
  std::string why_no_kernels_;
};

/// How NIC writes become visible to kernels and copies on the device (verbs-facts.md 5.2).
enum class WriteOrdering {
  natural,      ///< in order without help
  flush,        ///< cuFlushGPUDirectRDMAWrites first
  uncertain,    ///< the device asks for a flush but has none, or the driver is too old to tell
};
WriteOrdering write_ordering(const Driver& driver, const Device& device);

}  // namespace railgauge::cuda
