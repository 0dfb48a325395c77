#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "memory/buffer.h"
#include "memory/pattern.h"

namespace railgauge::memory {

/// How a block of memory is made known to a NIC.
struct Registration {
  std::uint64_t address = 0;            ///< what work requests name (host pointer or device address)
  std::uint64_t bytes = 0;
  std::optional<int> dmabuf_fd;         ///< register by dma-buf: fd stays owned by the block
  std::uint64_t dmabuf_offset = 0;      ///< of `address` within the dma-buf
};

/// One block of memory that data is sent from or arrives in, wherever it lives. Frees itself. One thread at a time.
class Block {
 public:
  virtual ~Block() = default;
  virtual Registration registration() const = 0;
  /// The block as this CPU sees it, or null when it cannot be read and written directly (device memory).
  virtual std::byte* host_address() const noexcept = 0;
  /// Writes the pattern's bytes pattern_offset … to offset …; throws Error.
  virtual void fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, Pattern pattern) = 0;
  /// Sets bytes to zero; throws Error.
  virtual void clear(std::uint64_t offset, std::uint64_t bytes) = 0;
  /// Compares after everything that a NIC has written is visible (device memory flushes first); throws Error.
  virtual PatternCheck check(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, Pattern pattern) = 0;
  /// Copies out a few bytes, for tallies and atomics; throws Error.
  virtual void read(std::uint64_t offset, void* to, std::uint64_t bytes) = 0;
  /// Copies in a few bytes, for tallies; throws Error.
  virtual void write(std::uint64_t offset, const void* from, std::uint64_t bytes) = 0;
  /// In effect: "4 KiB pages, bound to NUMA node 1".
  virtual std::string placement() const = 0;
};

/// Where blocks come from: host pages here, GPU memory in cuda/.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  /// A zeroed block; throws Error.
  virtual std::unique_ptr<Block> allocate(std::uint64_t bytes) = 0;
  /// "host", "CUDA device 3": for the record.
  virtual std::string describe() const = 0;
};

/// Host pages.
class HostSource final : public BufferSource {
 public:
  /// `like.bytes` is ignored.
  explicit HostSource(const BufferRequest& like) : like_(like) {}
  std::unique_ptr<Block> allocate(std::uint64_t bytes) override;
  std::string describe() const override { return "host"; }

 private:
  BufferRequest like_;
};

}  // namespace railgauge::memory
