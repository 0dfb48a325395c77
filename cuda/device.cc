#include "cuda/device.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/error.h"
#include "cuda/result.h"
#include "host/pci.h"

namespace railgauge::cuda {
namespace {

constexpr const char* kStandInName = "railgauge stand-in GPU";  // tests/sim/cuda

/// The eight-four-four-four-twelve form, with NVML's prefix.
std::string uuid_text(const abi::Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

/// Asks one device.
class Asker {
 public:
  Asker(const Driver& driver, int ordinal) : calls_(driver.calls()), ordinal_(ordinal), version_(driver.version()) {
    check(calls_.device_get(&handle_, ordinal), what("cuDeviceGet"));
  }
  abi::DeviceHandle handle() const { return handle_; }
  std::string what(const char* call) const { return fmt::format("{} of CUDA device {}", call, ordinal_); }
  std::string name() const {
    std::array<char, 256> buffer{};
    check(calls_.device_get_name(buffer.data(), static_cast<int>(buffer.size()), handle_), what("cuDeviceGetName"));
    return buffer.data();
  }
  std::string pci_address() const {
    std::array<char, 32> buffer{};
    check(calls_.device_get_pci_bus_id(buffer.data(), static_cast<int>(buffer.size()), handle_), what("cuDeviceGetPCIBusId"));
    return host::pci_address_of(buffer.data()).value_or(buffer.data());
  }
  std::string uuid() const {
    abi::Uuid uuid{};
    check(calls_.device_get_uuid(&uuid, handle_), what("cuDeviceGetUuid"));
    return uuid_text(uuid);
  }
  std::uint64_t total_bytes() const {
    std::size_t bytes = 0;
    check(calls_.device_total_mem(&bytes, handle_), what("cuDeviceTotalMem"));
    return bytes;
  }
  /// One that every driver knows.
  int attribute(abi::Attribute wanted) const {
    int value = 0;
    check(calls_.device_get_attribute(&value, static_cast<int>(wanted), handle_), what(fmt::format("attribute {}", static_cast<int>(wanted)).c_str()));
    return value;
  }
  /// One that came later: CUDA_ERROR_INVALID_VALUE from a driver that does not know its number.
  host::Fact<int> newer_attribute(abi::Attribute wanted) const {
    int value = 0;
    const abi::Result result = calls_.device_get_attribute(&value, static_cast<int>(wanted), handle_);
    if (result == abi::kSuccess) return host::Fact<int>::of(value);
    return host::Fact<int>::missing(
        fmt::format("cuDeviceGetAttribute {}: {}; the driver is {}", static_cast<int>(wanted), name_of_result(result), version_text(version_)));
  }
  host::Fact<bool> newer_switch(abi::Attribute wanted) const {
    host::Fact<int> number = newer_attribute(wanted);
    return number ? host::Fact<bool>::of(*number != 0) : host::Fact<bool>::missing(number.reason);
  }

 private:
  const DriverCalls& calls_;
  int ordinal_;
  int version_;
  abi::DeviceHandle handle_ = 0;
};

Device ask(const Driver& driver, int ordinal) {
  using abi::Attribute;
  const Asker asker(driver, ordinal);
  Device d;
  d.ordinal = ordinal;
  d.handle = asker.handle();
  d.name = asker.name();
  d.pci_address = asker.pci_address();
  d.uuid = asker.uuid();
  d.compute_major = asker.attribute(Attribute::compute_capability_major);
  d.compute_minor = asker.attribute(Attribute::compute_capability_minor);
  d.multiprocessors = asker.attribute(Attribute::multiprocessor_count);
  d.total_bytes = asker.total_bytes();
  d.integrated = asker.attribute(Attribute::integrated) != 0;
  d.simulated = d.name.rfind(kStandInName, 0) == 0;
  d.gpu_direct_rdma = asker.newer_switch(Attribute::gpu_direct_rdma);
  d.gpu_direct_rdma_with_vmm = asker.newer_switch(Attribute::gpu_direct_rdma_with_vmm);
  d.dma_buf = asker.newer_switch(Attribute::dma_buf);
  d.host_dma_buf = asker.newer_switch(Attribute::host_alloc_dma_buf);
  d.flush_options = asker.newer_attribute(Attribute::gpu_direct_rdma_flush_options);
  d.writes_ordering = asker.newer_attribute(Attribute::gpu_direct_rdma_writes_ordering);
  return d;
}

}  // namespace

std::vector<Device> devices(const Driver& driver) {
  std::vector<Device> all;
  const int count = driver.device_count();
  for (int i = 0; i < count; ++i) all.push_back(ask(driver, i));
  return all;
}

Device find_device(const Driver& driver, const std::string& wanted) {
  std::string there;
  const std::optional<std::string> address = host::pci_address_of(wanted);
  for (Device& device : devices(driver)) {
    if (wanted == std::to_string(device.ordinal) || address == device.pci_address || wanted == device.uuid) return device;
    there += fmt::format("{}{} ({})", there.empty() ? "" : ", ", device.ordinal, device.pci_address);
  }
  throw Error(ErrorKind::usage, fmt::format("there is no CUDA device {}: this process may use {} (see CUDA_VISIBLE_DEVICES)", wanted, there));
}

std::string describe(const Device& device) { return fmt::format("CUDA device {} ({}, {})", device.ordinal, device.name, device.pci_address); }

}  // namespace railgauge::cuda
