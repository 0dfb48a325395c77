#include "verbs/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/path_mtu.h"
#include "verbs/check.h"
#include "verbs/device_list.h"

namespace railgauge::verbs {
namespace {

bool starts_with(const char* text, const char* prefix) { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

/// Where sysfs really has the device, by libibverbs' word or by its name; empty when it has none, as no kernel driver stands behind it.
std::string sysfs_path_of(const ibv_device* device, const std::string& name) {
  for (const std::string& said : {std::string(device->ibdev_path), "/sys/class/infiniband/" + name}) {
    std::array<char, PATH_MAX> path{};
    if (realpath(said.c_str(), path.data()) != nullptr && starts_with(path.data(), "/sys/")) return path.data();
  }
  return {};
}

/// rxe and siw live under /sys/devices/virtual and give vendor ids of their own (0xffffff, 0x626d74: rxe_param.h, siw.h of Linux 6.1).
bool is_software(const std::string& sysfs_path, const ibv_device_attr& limits) {
  if (limits.vendor_id == 0xffffff || limits.vendor_id == 0x626d74) return true;
  return sysfs_path.find("/devices/virtual/") != std::string::npos;
}

/// A device that would not open, with what mends it.
Error explained(const Error& error, const ibv_device& device) {
  std::string node = fmt::format("/dev/infiniband/{}", *device.dev_name != '\0' ? device.dev_name : "uverbs*");
  bool denied = error.code() == EACCES || error.code() == EPERM;
  if (!denied && error.code() != ENOENT && error.code() != ENXIO && error.code() != ENODEV) return error;
  if (denied) return {ErrorKind::system, fmt::format("{}: run as root or give this user the node {} (usually group rdma)", error.what(), node), error.code()};
  return {ErrorKind::system, fmt::format("{}: is {} there? `modprobe ib_uverbs`; in a container pass --device=/dev/infiniband", error.what(), node), error.code()};
}

}  // namespace

DeviceList::DeviceList() : devices_(ibv_get_device_list(&count_)) {}
DeviceList::~DeviceList() {
  if (devices_ != nullptr) ibv_free_device_list(devices_);
}

Device::Device(std::string name, ContextHandle context) : name_(std::move(name)), context_(std::move(context)) {
  check_value(ibv_query_device(context_.get(), &limits_), fmt::format("ibv_query_device {}", name_));
  std::string path = sysfs_path_of(context_->device, name_);
  simulated_ = starts_with(limits_.fw_ver, "simulated") || path.empty();
  software_ = simulated_ || is_software(path, limits_);
}

Device Device::open(const std::string& name) {
  DeviceList list;
  std::vector<std::string> names;
  for (ibv_device* device : list.devices()) {
    names.emplace_back(ibv_get_device_name(device));
    if (names.back() != name) continue;
    try {
      return Device(name, ContextHandle(check_pointer(ibv_open_device(device), fmt::format("ibv_open_device {}", name))));
    } catch (const Error& error) {
      throw explained(error, *device);
    }
  }
  if (access(("/sys/class/infiniband/" + name).c_str(), F_OK) == 0)
    throw Error(ErrorKind::system,
                fmt::format("the kernel has RDMA device {}, libibverbs does not see it: `modprobe ib_uverbs`, or install its provider (Debian: `apt install "
                            "ibverbs-providers`)",
                            name));
  if (names.empty())
    throw Error(ErrorKind::system,
                fmt::format("RDMA device {}: libibverbs sees no device at all: is its driver loaded (rdma link, ibv_devices)?", name));
  throw Error(ErrorKind::system, fmt::format("RDMA device {} is not there: libibverbs sees {}", name, fmt::join(names, ", ")));
}

ibv_port_attr Device::query_port(int port) const {
  ibv_port_attr attributes{};
  if (port < 1 || port > limits_.phys_port_cnt)
    throw Error(ErrorKind::usage, fmt::format("port {} of {} is not there: use 1 to {}", port, name_, limits_.phys_port_cnt));
  check_value(ibv_query_port(context_.get(), static_cast<std::uint8_t>(port), &attributes), fmt::format("ibv_query_port {} port {}", name_, port));
  return attributes;
}

bool Device::has_atomics() const noexcept { return limits_.atomic_cap != IBV_ATOMIC_NONE; }

ProtectionDomain::ProtectionDomain(const Device& device)
    : pd_(check_pointer(ibv_alloc_pd(device.context()), fmt::format("ibv_alloc_pd on {}", device.name()))) {}

bool Device::iwarp() const noexcept { return context_->device->transport_type == IBV_TRANSPORT_IWARP; }

std::optional<std::uint64_t> told_limit(std::int64_t value) noexcept {
  return value > 0 ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

host::Fact<int> mtu_bytes_of(ibv_mtu mtu) {
  const int code = static_cast<int>(mtu);
  if (code < IBV_MTU_256 || code > IBV_MTU_4096)
    return host::Fact<int>::missing(fmt::format("libibverbs gives MTU code {}, which is none of {} bytes", code, kPathMtuWords));
  return host::Fact<int>::of(kPathMtus[static_cast<std::size_t>(code - IBV_MTU_256)]);
}

ibv_mtu mtu_of_bytes(int bytes) {
  const auto found = std::find(kPathMtus.begin(), kPathMtus.end(), bytes);
  if (found == kPathMtus.end()) throw Error(ErrorKind::usage, fmt::format("a path MTU of {} bytes is none: use --mtu with {}", bytes, kPathMtuWords));
  return static_cast<ibv_mtu>(IBV_MTU_256 + (found - kPathMtus.begin()));
}

}  // namespace railgauge::verbs
