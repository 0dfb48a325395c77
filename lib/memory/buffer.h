#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace railgauge::memory {

/// What kind of host pages to map.
struct BufferRequest {
  std::uint64_t bytes = 0;              ///< rounded up to whole pages
  bool huge_pages = false;              ///< MAP_HUGETLB at the system's default huge page size
  std::optional<int> numa_node;         ///< bind the pages there; empty: wherever they are first touched
};

/// Page-aligned anonymous memory, zeroed, touched (so that no page fault falls into a measurement) and owned. Moves, never copies.
class Buffer {
 public:
  Buffer() = default;
  /// Throws Error{usage} for 0 bytes; Error{system} when pages cannot be had, naming the size, the reason and, for huge
  /// pages, how to reserve them; Error{system} for a NUMA node that is not there.
  explicit Buffer(const BufferRequest& request);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  ///< as asked for
  /// Whole pages, all of them this buffer's own: what a NIC should be given, which knows pages only.
  std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  std::span<std::byte> span() const noexcept { return {data_, bytes_}; }
  /// In effect: "4 KiB pages, NUMA node 1", for the record.
  const std::string& placement() const noexcept { return placement_; }

 private:
  void release() noexcept;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
  std::string placement_;
};

}  // namespace railgauge::memory
