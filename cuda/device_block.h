#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cuda/device_buffer.h"
#include "cuda/handles.h"

namespace railgauge::cuda {

/// A piece of a GPU's memory. One thread at a time; each call makes the context current on its thread. Each wait ends after 30 s
/// at the latest with Error{timeout}.
class DeviceBlock final : public memory::Block {
 public:
  DeviceBlock(const DeviceSource& source, std::uint64_t bytes);
  ~DeviceBlock() override;

  std::uint64_t address() const noexcept override { return address_; }
  memory::RegistrationWays registrations() const override;
  std::byte* host_address() const noexcept override { return nullptr; }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, memory::Pattern pattern) override;
  void clear(std::uint64_t offset, std::uint64_t bytes) override;
  memory::PatternCheck check(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, memory::Pattern pattern) override;
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) override;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) override;
  std::string placement() const override;
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  /// A descriptor for the block, or why there is none.
  struct Export {
    bool pcie_mapping = false;
    UniqueFd fd;
    memory::RegistrationAttempt refused;
  };
  Export export_dmabuf(bool pcie_mapping) const;
  void set_sync_memops();
  void flush_nic_writes();
  memory::PatternCheck check_by_kernel(const PatternRegion& region);
  memory::PatternCheck check_by_copies(std::uint64_t offset, const PatternRegion& region);
  std::span<std::byte> staging();
  void must(abi::Result result, const char* call) const;

  const DeviceSource& source_;
  const std::uint64_t bytes_;           ///< whole 64 KiB
  DeviceMemory memory_;                 ///< 64 KiB more, because cuMemAlloc promises 256 bytes of alignment only
  const std::uint64_t address_;
  Stream stream_;
  std::optional<DeviceMemory> result_;  ///< a VerifyResult
  std::optional<PinnedMemory> staging_; ///< when first needed
  std::vector<Export> exports_;
  std::vector<std::string> warnings_;
};

}  // namespace railgauge::cuda
