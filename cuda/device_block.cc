#include "cuda/device_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "cuda/result.h"

namespace railgauge::cuda {
namespace {

constexpr std::uint64_t kPage = 64U << 10;         // of a GPU, as a NIC sees it (verbs-facts.md 5.1)
constexpr std::uint64_t kStagingBytes = 1U << 20;  // long enough that a copy's start, some 10 µs, is the smaller part
constexpr int kPcieMappingVersion = 12080;         // cuda.h: CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE
// The whole memory of today's largest card through a x4 link of the second generation takes longer; no buffer does.
constexpr std::chrono::seconds kPatience{30};

std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Deadline patience() { return Deadline::after(kPatience); }

memory::RegistrationAttempt refused_dmabuf(bool pcie_mapping, const std::string& call, int code, const std::string& meaning) {
  memory::Registration way;
  way.way = memory::Way::dmabuf;
  way.pcie_mapping = pcie_mapping;
  return {.way = way.way, .name = name_of(way), .call = call, .flags = pcie_mapping ? "MAPPING_TYPE_PCIE" : "", .code = code, .meaning = meaning,
          .unsupported = code == abi::kNotSupported || code == abi::kNotFound};
}

memory::RegistrationAttempt refused_peermem() {
  return {.way = memory::Way::peermem,
          .name = "peermem",
          .call = "cuDeviceGetAttribute 116 (GPU_DIRECT_RDMA_SUPPORTED)",
          .flags = "",
          .code = abi::kNotSupported,
          .meaning = "the GPU or its driver does not let a NIC reach its memory",
          .unsupported = true};
}

}  // namespace

DeviceBlock::DeviceBlock(const DeviceSource& source, std::uint64_t bytes)
    : source_(source),
      bytes_(rounded_up(bytes)),
      memory_(source.context(), bytes_ + kPage),
      address_(rounded_up(memory_.address())),
      stream_(source.context()) {
  set_sync_memops();
  clear(0, bytes_);
  exports_.push_back(export_dmabuf(true));
  exports_.push_back(export_dmabuf(false));
  if (write_ordering(source.context().driver(), source.device()) == WriteOrdering::uncertain)
    warnings_.push_back(fmt::format("{} cannot be asked to make a NIC's writes visible: a mismatch may be data still on its way", describe(source.device())));
}

DeviceBlock::~DeviceBlock() {
  try {
    source_.context().make_current();  // the owner may be another thread than the one that measured
  } catch (const Error& error) {
    log_warning("freeing GPU memory: {}", error.what());
  }
}

/// So that copies and the NIC's accesses do not overtake each other (CUDA, GPUDirect RDMA, "Synchronization and Memory Ordering").
void DeviceBlock::set_sync_memops() {
  const unsigned yes = 1;
  const abi::Result result = source_.context().driver().calls().pointer_set_attribute(&yes, abi::kPointerAttributeSyncMemops, memory_.address());
  if (result != abi::kSuccess)
    warnings_.push_back(fmt::format("SYNC_MEMOPS could not be set on the memory of {}: {}", describe(source_.device()), describe_result(result)));
}

DeviceBlock::Export DeviceBlock::export_dmabuf(bool pcie_mapping) const {
  constexpr const char* kCall = "cuMemGetHandleForAddressRange";
  const Driver& driver = source_.context().driver();
  const auto& get_handle = driver.calls().mem_get_handle_for_range;
  auto refuse = [&](const std::string& call, int code, const std::string& meaning) -> Export {
    return {.pcie_mapping = pcie_mapping, .fd = {}, .refused = refused_dmabuf(pcie_mapping, call, code, meaning)};
  };
  if (!get_handle) return refuse(kCall, abi::kNotFound, get_handle.why_missing);
  if (const auto& able = source_.device().dma_buf; !able || !*able)
    return refuse("cuDeviceGetAttribute 124 (DMA_BUF_SUPPORTED)", abi::kNotSupported,
                  able ? "this driver exports no memory: the open GPU kernel modules are needed, on a Turing GPU or newer" : able.reason);
  if (pcie_mapping && driver.version() < kPcieMappingVersion)
    return refuse(kCall, abi::kNotSupported, fmt::format("needs driver ≥ {}, this is {}", version_text(kPcieMappingVersion), version_text(driver.version())));
  int fd = -1;  // 0 is a legal one
  const abi::Result result = get_handle.call(&fd, address_, bytes_, abi::kRangeHandleDmabufFd, pcie_mapping ? abi::kDmabufMappingPcie : 0);
  if (result != abi::kSuccess) return refuse(kCall, result, describe_result(result));
  return {.pcie_mapping = pcie_mapping, .fd = UniqueFd(fd), .refused = {}};
}

memory::RegistrationWays DeviceBlock::registrations() const {
  memory::RegistrationWays ways;
  memory::Registration registration;
  registration.address = address_;
  registration.bytes = bytes_;
  registration.way = memory::Way::dmabuf;
  for (const Export& exported : exports_) {
    registration.pcie_mapping = exported.pcie_mapping;
    registration.dmabuf_fd = exported.fd.get();
    if (exported.fd) ways.offered.push_back(registration);
    else ways.refused.push_back(exported.refused);
  }
  registration.way = memory::Way::peermem;
  registration.pcie_mapping = false;
  registration.dmabuf_fd.reset();
  const auto& able = source_.device().gpu_direct_rdma;
  if (able && !*able) ways.refused.push_back(refused_peermem());
  else ways.offered.push_back(registration);
  return ways;
}

void DeviceBlock::must(abi::Result result, const char* call) const {
  if (result != abi::kSuccess) throw cuda_error(result, fmt::format("{} on {}", call, describe(source_.device())));
}

std::span<std::byte> DeviceBlock::staging() {
  if (!staging_) staging_.emplace(source_.context(), kStagingBytes);
  return staging_->span();
}

void DeviceBlock::fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, memory::Pattern pattern) {
  source_.context().make_current();
  if (source_.kernels() != nullptr) {
    source_.kernels()->fill(stream_, {.address = address_ + offset, .bytes = bytes, .pattern_offset = pattern_offset, .seed = pattern.seed});
    return stream_.wait(patience(), "filling");
  }
  const std::span<std::byte> piece = staging();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(piece.size(), bytes - done);
    memory::fill_pattern(piece.first(n), pattern_offset + done, pattern);
    write(offset + done, piece.data(), n);
    done += n;
  }
}

void DeviceBlock::clear(std::uint64_t offset, std::uint64_t bytes) {
  source_.context().make_current();
  must(source_.context().driver().calls().set_bytes(address_ + offset, 0, bytes, stream_.get()), "cuMemsetD8Async");
  stream_.wait(patience(), "clearing");
}

void DeviceBlock::flush_nic_writes() {
  const Driver& driver = source_.context().driver();
  if (write_ordering(driver, source_.device()) != WriteOrdering::flush) return;
  must(driver.calls().flush_gpu_direct_rdma_writes.call(abi::kFlushTargetCurrentContext, abi::kFlushScopeOwner), "cuFlushGPUDirectRDMAWrites");
}

memory::PatternCheck DeviceBlock::check(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, memory::Pattern pattern) {
  source_.context().make_current();
  flush_nic_writes();
  const PatternRegion region{.address = address_ + offset, .bytes = bytes, .pattern_offset = pattern_offset, .seed = pattern.seed};
  return source_.kernels() != nullptr ? check_by_kernel(region) : check_by_copies(offset, region);
}

memory::PatternCheck DeviceBlock::check_by_kernel(const PatternRegion& region) {
  if (!result_) result_.emplace(source_.context(), sizeof(VerifyResult));
  const DriverCalls& calls = source_.context().driver().calls();
  VerifyResult found{.mismatched_bytes = 0, .first = kNoMismatch};
  const std::span<std::byte> there = staging();
  std::memcpy(there.data(), &found, sizeof found);
  must(calls.copy_host_to_device(result_->address(), there.data(), sizeof found, stream_.get()), "cuMemcpyHtoDAsync");
  source_.kernels()->verify(stream_, region, result_->address());
  must(calls.copy_device_to_host(there.data(), result_->address(), sizeof found, stream_.get()), "cuMemcpyDtoHAsync");
  stream_.wait(patience(), "comparing");
  std::memcpy(&found, there.data(), sizeof found);
  memory::PatternCheck result;
  result.checked_bytes = region.bytes;
  result.mismatched_bytes = found.mismatched_bytes;
  if (found.mismatched_bytes == 0) return result;
  result.first_offset = region.pattern_offset + (found.first >> 16);
  result.expected = static_cast<std::byte>(found.first >> 8 & 0xFF);
  result.found = static_cast<std::byte>(found.first & 0xFF);
  return result;
}

memory::PatternCheck DeviceBlock::check_by_copies(std::uint64_t offset, const PatternRegion& region) {
  const std::span<std::byte> piece = staging();
  memory::PatternCheck sum;
  for (std::uint64_t done = 0; done < region.bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(piece.size(), region.bytes - done);
    read(offset + done, piece.data(), n);
    sum.add(memory::check_pattern(piece.first(n), region.pattern_offset + done, {.seed = region.seed}));
    done += n;
  }
  return sum;
}

void DeviceBlock::read(std::uint64_t offset, void* to, std::uint64_t bytes) {
  source_.context().make_current();
  const std::span<std::byte> piece = staging();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(piece.size(), bytes - done);
    must(source_.context().driver().calls().copy_device_to_host(piece.data(), address_ + offset + done, n, stream_.get()), "cuMemcpyDtoHAsync");
    stream_.wait(patience(), "reading");
    std::byte* const target = static_cast<std::byte*>(to) + done;
    if (target != piece.data()) std::memcpy(target, piece.data(), n);
    done += n;
  }
}

void DeviceBlock::write(std::uint64_t offset, const void* from, std::uint64_t bytes) {
  source_.context().make_current();
  const std::span<std::byte> piece = staging();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(piece.size(), bytes - done);
    const std::byte* const origin = static_cast<const std::byte*>(from) + done;
    if (origin != piece.data()) std::memcpy(piece.data(), origin, n);
    must(source_.context().driver().calls().copy_host_to_device(address_ + offset + done, piece.data(), n, stream_.get()), "cuMemcpyHtoDAsync");
    stream_.wait(patience(), "writing");
    done += n;
  }
}

std::string DeviceBlock::placement() const {
  const std::string& why = source_.why_no_kernels();
  return fmt::format("{}, 64 KiB pages; filled and checked {}", describe(source_.device()),
                     why.empty() ? "by kernels" : fmt::format("through copies, because {}", why));
}

}  // namespace railgauge::cuda
