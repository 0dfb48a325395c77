/// Memory regions: the caller's pages become pages of the process's memory file, so that peers can map them. Device memory
/// has a file already (device_memory.h).
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// What ibv_reg_mr* asks for.
struct RegistrationRequest {
  SimPd* pd = nullptr;
  void* address = nullptr;
  std::size_t length = 0;
  std::uint64_t iova = 0;
  unsigned access = 0;
  bool by_dmabuf = false;  ///< `address` is then the offset in the buffer, as ibv_mr::addr will be
  int dmabuf_fd = -1;
};

/// Registers; null with errno as the real call gives it (EINVAL for bad flags, EFAULT for unmapped memory, ENOMEM).
SimMr* register_memory(const RegistrationRequest& request);

/// Undoes it and gives the pages back as ordinary private memory where no other region holds them.
int deregister_memory(SimMr* mr);

/// The region a key names, or null when the key is not (or no longer) valid.
inline const MrShared* find_region(const ContextHeader& header, std::uint32_t key) noexcept {
  const MrShared& mr = header.mrs[(key >> 8) % kMaxMr];
  return key != 0 && mr.key.load(std::memory_order_acquire) == key ? &mr : nullptr;
}

/// True when [address, address + length) lies inside the region.
inline bool inside(const MrShared& mr, std::uint64_t address, std::uint64_t length) noexcept {
  return address >= mr.iova && length <= mr.length && address - mr.iova <= mr.length - length;
}

}  // namespace railgauge::simverbs
