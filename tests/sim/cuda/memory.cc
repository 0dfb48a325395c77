#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "../dmabuf.h"

namespace railgauge::simcuda {

namespace {

constexpr std::uint64_t kAlignment = 512;

char* map_file(int fd, std::uint64_t bytes, int rights) {
  void* at = mmap(nullptr, bytes, rights, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

}  // namespace

bool map_memory(Gpu& gpu) {
  if (gpu.shown != nullptr) return true;
  const std::uint64_t bytes = gpu.described.memory_bytes;
  gpu.fd = memfd_create((sim::kDeviceMemoryName + std::to_string(gpu.index)).c_str(), MFD_CLOEXEC);
  if (gpu.fd < 0 || ftruncate(gpu.fd, static_cast<off_t>(bytes)) != 0) return false;
  gpu.bytes = map_file(gpu.fd, bytes, PROT_READ | PROT_WRITE);
  gpu.shown = map_file(gpu.fd, bytes, PROT_NONE);
  return gpu.bytes != nullptr && gpu.shown != nullptr;
}

Pointer allocate(Gpu& gpu, std::uint64_t bytes) {
  const std::uint64_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::uint64_t at = kAlignment;  // the first one is on no page boundary either
  for (const auto& [offset, length] : gpu.allocations) {
    if (offset - at >= wanted) break;
    at = (offset + length + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (at > gpu.described.memory_bytes || wanted > gpu.described.memory_bytes - at) return 0;
  gpu.allocations[at] = bytes;
  return reinterpret_cast<Pointer>(gpu.shown) + at;
}

bool release(State& s, Pointer address) {
  for (auto& gpu : s.gpus) {
    const auto shown = reinterpret_cast<Pointer>(gpu->shown);
    if (gpu->shown == nullptr || address < shown || address >= shown + gpu->described.memory_bytes) continue;
    return gpu->allocations.erase(address - shown) == 1;
  }
  return false;
}

Place find(State& s, Pointer address, std::uint64_t bytes) {
  for (auto& gpu : s.gpus) {
    const auto shown = reinterpret_cast<Pointer>(gpu->shown);
    if (gpu->shown == nullptr || address < shown || address >= shown + gpu->described.memory_bytes) continue;
    const std::uint64_t offset = address - shown;
    auto after = gpu->allocations.upper_bound(offset);
    if (after == gpu->allocations.begin()) return {};
    const auto& [begin, length] = *--after;
    if (offset - begin > length || bytes > length - (offset - begin)) return {};
    return {gpu.get(), gpu->bytes + offset, offset};
  }
  return {};
}

}  // namespace railgauge::simcuda
