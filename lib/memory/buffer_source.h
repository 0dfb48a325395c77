#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/buffer.h"
#include "memory/pattern.h"

namespace railgauge::memory {

/// By which a NIC can be given memory: host pages; an exported buffer; the plain device address, which the kernel's peer memory
/// client (nvidia-peermem) knows.
enum class Way { host, dmabuf, peermem };

/// One possibility to make a block known to a NIC.
struct Registration {
  Way way = Way::host;
  std::uint64_t address = 0;            ///< what work requests name (host pointer or device address)
  std::uint64_t bytes = 0;
  std::optional<int> dmabuf_fd;         ///< register by dma-buf: fd stays owned by the block
  std::uint64_t dmabuf_offset = 0;      ///< of `address` within the dma-buf
  bool pcie_mapping = false;            ///< the dma-buf leads through the PCIe BAR of a device that has another way as well
};

/// "host", "dma-buf", "dma-buf, PCIe mapping", "peermem"
const char* name_of(const Registration& registration) noexcept;

/// A call on the way to registered memory and how it ended, for the record.
struct RegistrationAttempt {
  Way way = Way::host;
  std::string name;                     ///< name_of(Registration)
  std::string call;                     ///< "ibv_reg_dmabuf_mr"
  std::string flags;                    ///< "LOCAL_WRITE|REMOTE_WRITE"; empty: none
  int code = 0;                         ///< errno or the library's own; 0: it succeeded
  std::string meaning;                  ///< of the code, with what mends it; empty after success
  bool unsupported = false;             ///< the ability is lacking, rather than that something went wrong
  bool operator==(const RegistrationAttempt&) const = default;
};

/// What a block offers.
struct RegistrationWays {
  std::vector<Registration> offered;    ///< best first
  std::vector<RegistrationAttempt> refused;  ///< why others are not
};

/// One block of memory that data is sent from or arrives in, wherever it lives. Frees itself. One thread at a time.
class Block {
 public:
  virtual ~Block() = default;
  /// What work requests name: the begin of the block.
  virtual std::uint64_t address() const noexcept = 0;
  /// How a NIC can be given it; what they name stays valid as long as the block. Never other memory than the block's own.
  virtual RegistrationWays registrations() const = 0;
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
  /// What a reader of the results should know of it, a sentence each.
  virtual std::vector<std::string> warnings() const { return {}; }
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
