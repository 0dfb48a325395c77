#include "verbs/registration_errors.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/error.h"

namespace railgauge::verbs {
namespace {

constexpr int kKernelNotSupported = 524;  // ENOTSUPP of the kernel's include/linux/errno.h, which leaks out of dma-buf exporters

// verbs-facts.md, section 5.3.
std::string dmabuf_meaning(int code) {
  switch (code) {
    case EOPNOTSUPP: return "the NIC's driver does not take dma-bufs (mlx5: also where the kernel lacks on-demand paging)";
    case EPROTONOSUPPORT: return "the kernel's verbs are too old for dma-bufs: 5.12 or newer is needed";
    case EBADF: return "the descriptor is no dma-buf";
    case EINVAL: return "offset and address differ within a page, the range ends beyond the buffer, or an access right is not allowed on a dma-buf";
    case kKernelNotSupported: return "ENOTSUPP: the GPU's driver refuses this NIC: no peer-to-peer way between the two (see `nvidia-smi topo -m`)";
    case ENOMEM: return "the GPU's BAR1 is full: see `nvidia-smi -q -d MEMORY`; use a smaller --working-set or --size, or end what else uses it";
    default: return errno_text(code);
  }
}

std::string peermem_meaning(int code) {
  switch (code) {
    case EFAULT:
      return "no peer memory client knows the address: `modprobe nvidia-peermem` (needs the kernel modules of DOCA-OFED or MLNX_OFED); GeForce cards and some "
             "pooled memory are never known";
    case EINVAL: return "the GPU's pages do not fit, or a remote right without the local one";
    case ENOMEM: return "the GPU's BAR1 is full: see `nvidia-smi -q -d MEMORY`; use a smaller --working-set or --size, or end what else uses it";
    default: return errno_text(code);
  }
}

}  // namespace

std::string registration_meaning(memory::Way way, int code) {
  switch (way) {
    case memory::Way::dmabuf: return dmabuf_meaning(code);
    case memory::Way::peermem: return peermem_meaning(code);
    case memory::Way::host: return errno_text(code);
  }
  return errno_text(code);
}

bool means_unsupported(memory::Way way, int code) noexcept {
  if (way == memory::Way::host) return false;
  return code == EOPNOTSUPP || code == EPROTONOSUPPORT || code == kKernelNotSupported || (way == memory::Way::peermem && code == EFAULT);
}

}  // namespace railgauge::verbs
