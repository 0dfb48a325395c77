/// Exported calls: memory, copies and what a NIC needs of it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "../dmabuf.h"
#include "memory.h"
#include "state.h"

using namespace railgauge::simcuda;

namespace {

constexpr int kDmabufAttribute = 124;
constexpr int kFlushOptionsAttribute = 117;

int attribute_of(const Gpu& gpu, int attribute) {
  const auto known = gpu.described.attributes.find(attribute);
  return known == gpu.described.attributes.end() ? 0 : known->second;
}

/// Counts a copy and spoils its target where the script says so.
void count_copy(State& s, char* target, std::size_t bytes) {
  ++s.copies;
  for (const auto& flip : s.faults.flips) {
    if (!flip.launch && flip.nth == s.copies && bytes > 0) target[flip.byte % bytes] = static_cast<char>(~target[flip.byte % bytes]);
  }
}

/// The file that stands for a dma-buf; −1: the system has none left.
int make_dmabuf(const Place& place, std::uint64_t bytes) {
  railgauge::sim::DmabufHeader header{};
  std::memcpy(header.magic, railgauge::sim::kDmabufMagic, sizeof header.magic);
  header.memory_fd = place.gpu->fd;
  header.offset = place.offset;
  header.bytes = bytes;
  const int fd = memfd_create("railgauge-sim-dmabuf", MFD_CLOEXEC);
  if (fd < 0 || pwrite(fd, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header)) return fd;
  close(fd);
  return -1;
}

}  // namespace

RAILGAUGE_SIM_EXPORT Result cuMemAlloc_v2(Pointer* address, std::size_t bytes) {
  Call call("cuMemAlloc", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (bytes == 0) return kInvalidValue;
  *address = allocate(call.gpu(), bytes);
  return *address == 0 ? kOutOfMemory : kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemFree_v2(Pointer address) {
  Call call("cuMemFree", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  return address == 0 || release(call.state(), address) ? kSuccess : kInvalidValue;
}

RAILGAUGE_SIM_EXPORT Result cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  Call call("cuMemHostAlloc", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  void* at = bytes == 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return kOutOfMemory;
  call.state().pinned[at] = bytes;
  *address = at;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemFreeHost(void* address) {
  Call call("cuMemFreeHost", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const auto known = call.state().pinned.find(address);
  if (known == call.state().pinned.end()) return kInvalidValue;
  munmap(address, known->second);
  call.state().pinned.erase(known);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream* stream) {
  Call call("cuMemcpyHtoDAsync", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const Place target = find(call.state(), to, bytes);
  if (target.gpu == nullptr) return kInvalidValue;
  std::memcpy(target.bytes, from, bytes);
  count_copy(call.state(), target.bytes, bytes);
  take_time(call.state(), call.gpu(), stream, bytes);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream* stream) {
  Call call("cuMemcpyDtoHAsync", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const Place source = find(call.state(), from, bytes);
  if (source.gpu == nullptr) return kInvalidValue;
  std::memcpy(to, source.bytes, bytes);
  count_copy(call.state(), static_cast<char*>(to), bytes);
  take_time(call.state(), call.gpu(), stream, bytes);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, Stream* stream) {
  Call call("cuMemcpyDtoDAsync", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const Place target = find(call.state(), to, bytes);
  const Place source = find(call.state(), from, bytes);
  if (target.gpu == nullptr || source.gpu == nullptr) return kInvalidValue;
  std::memmove(target.bytes, source.bytes, bytes);
  count_copy(call.state(), target.bytes, bytes);
  take_time(call.state(), call.gpu(), stream, bytes);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, Stream* stream) {
  Call call("cuMemsetD8Async", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const Place target = find(call.state(), to, bytes);
  if (target.gpu == nullptr) return kInvalidValue;
  std::memset(target.bytes, value, bytes);
  take_time(call.state(), call.gpu(), stream, bytes);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuPointerSetAttribute(const void*, int attribute, Pointer address) {
  constexpr int kSyncMemops = 6;
  Call call("cuPointerSetAttribute", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  return attribute == kSyncMemops && find(call.state(), address, 1).gpu != nullptr ? kSuccess : kInvalidValue;
}

RAILGAUGE_SIM_EXPORT Result cuFlushGPUDirectRDMAWrites(int target, int scope) {
  Call call("cuFlushGPUDirectRDMAWrites", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (target != 0 || (scope != 100 && scope != 200)) return kInvalidValue;
  return (attribute_of(call.gpu(), kFlushOptionsAttribute) & 1) != 0 ? kSuccess : kNotSupported;
}

RAILGAUGE_SIM_EXPORT Result cuMemGetHandleForAddressRange(void* handle, Pointer address, std::size_t bytes, int type, unsigned long long flags) {
  constexpr int kDmabufFd = 1;
  constexpr int kPcieMappingDriver = 12080;
  Call call("cuMemGetHandleForAddressRange", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const auto page = static_cast<Pointer>(sysconf(_SC_PAGESIZE));
  const Place place = find(call.state(), address, bytes);
  if (type != kDmabufFd || place.gpu == nullptr || bytes == 0 || address % page != 0 || bytes % page != 0 || flags > 1) return kInvalidValue;
  if (attribute_of(*place.gpu, kDmabufAttribute) == 0) return kNotSupported;
  if (flags == 1 && call.state().description.driver < kPcieMappingDriver) return kInvalidValue;
  if (flags == 1 && !place.gpu->described.dmabuf_pcie) return kNotSupported;
  const int fd = make_dmabuf(place, bytes);
  if (fd < 0) return kOutOfMemory;
  std::memcpy(handle, &fd, sizeof fd);
  return kSuccess;
}
