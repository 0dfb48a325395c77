#include "cuda/device_buffer.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/error.h"
#include "base/units.h"
#include "cuda/device_block.h"

namespace railgauge::cuda {

DeviceSource::DeviceSource(const Driver& driver, const Device& device, std::span<const std::byte> image)
    : context_(driver, device) {
  if (image.empty()) {
    why_no_kernels_ = kernel_image().empty() ? why_no_kernel_image() : "they were not asked for";
    return;
  }
  try {
    kernels_.emplace(context_, image);
  } catch (const Error& error) {
    why_no_kernels_ = error.what();  // an older or newer GPU than the image is for: slower, not worse
  }
}

std::unique_ptr<memory::Block> DeviceSource::allocate(std::uint64_t bytes) {
  if (bytes == 0) throw Error(ErrorKind::usage, "a buffer of 0 bytes cannot be had: use 1 or more");
  if (bytes > device().total_bytes)
    throw Error(ErrorKind::cuda, fmt::format("{} are more than the {} of {}: use a smaller --working-set, --size or --qps", format_size(bytes),
                                             format_size(device().total_bytes), describe()), ENOMEM);
  context_.make_current();
  return std::make_unique<DeviceBlock>(*this, bytes);
}

WriteOrdering write_ordering(const Driver& driver, const Device& device) {
  if (device.writes_ordering && *device.writes_ordering >= abi::kOrderingOwner) return WriteOrdering::natural;
  const bool host_flush = device.flush_options && (*device.flush_options & abi::kFlushOptionHost) != 0;
  if (device.writes_ordering && host_flush && driver.calls().flush_gpu_direct_rdma_writes) return WriteOrdering::flush;
  return WriteOrdering::uncertain;
}

}  // namespace railgauge::cuda
