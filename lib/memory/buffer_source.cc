#include "memory/buffer_source.h"

#include <cstring>
#include <utility>

namespace railgauge::memory {
namespace {

class HostBlock final : public Block {
 public:
  explicit HostBlock(Buffer buffer) : buffer_(std::move(buffer)) {}
  std::uint64_t address() const noexcept override { return reinterpret_cast<std::uintptr_t>(buffer_.data()); }
  RegistrationWays registrations() const override {
    Registration plain;
    plain.address = address();
    plain.bytes = buffer_.mapped_bytes();
    return {.offered = {plain}, .refused = {}};
  }
  std::byte* host_address() const noexcept override { return buffer_.data(); }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, Pattern pattern) override {
    fill_pattern(buffer_.span().subspan(offset, bytes), pattern_offset, pattern);
  }
  void clear(std::uint64_t offset, std::uint64_t bytes) override { std::memset(buffer_.data() + offset, 0, bytes); }
  PatternCheck check(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pattern_offset, Pattern pattern) override {
    return check_pattern(buffer_.span().subspan(offset, bytes), pattern_offset, pattern);
  }
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) override { std::memcpy(to, buffer_.data() + offset, bytes); }
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) override { std::memcpy(buffer_.data() + offset, from, bytes); }
  std::string placement() const override { return buffer_.placement(); }

 private:
  Buffer buffer_;
};

}  // namespace

const char* name_of(const Registration& registration) noexcept {
  switch (registration.way) {
    case Way::host: return "host";
    case Way::dmabuf: return registration.pcie_mapping ? "dma-buf, PCIe mapping" : "dma-buf";
    case Way::peermem: return "peermem";
  }
  return "host";
}

std::unique_ptr<Block> HostSource::allocate(std::uint64_t bytes) {
  BufferRequest request = like_;
  request.bytes = bytes;
  return std::make_unique<HostBlock>(Buffer(request));
}

}  // namespace railgauge::memory
