#include "host/live.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "host/parse.h"
#include "host/root.h"

namespace railgauge::host {
namespace {

struct IfAddrsDeleter {
  void operator()(ifaddrs* list) const noexcept { ::freeifaddrs(list); }
};

/// Where the raw address lies in a socket address of its family, and its length; empty for other families.
std::string_view raw_address(const sockaddr* address) {
  const char* bytes = static_cast<const char*>(static_cast<const void*>(address));
  if (address->sa_family == AF_INET) return {bytes + offsetof(sockaddr_in, sin_addr), 4};
  if (address->sa_family == AF_INET6) return {bytes + offsetof(sockaddr_in6, sin6_addr), 16};
  return {};
}

int prefix_length(const sockaddr* mask) {
  int bits = 0;
  if (mask == nullptr) return bits;
  for (char c : raw_address(mask)) bits += std::popcount(static_cast<unsigned char>(c));
  return bits;
}

}  // namespace

std::map<std::string, std::vector<std::string>> live_addresses() {
  std::map<std::string, std::vector<std::string>> addresses;
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return addresses;
  std::unique_ptr<ifaddrs, IfAddrsDeleter> list(raw);
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    std::string_view bytes = raw_address(entry->ifa_addr);
    if (bytes.empty()) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(entry->ifa_addr->sa_family, bytes.data(), text.data(), text.size());
    addresses[entry->ifa_name].push_back(fmt::format("{}/{}", text.data(), prefix_length(entry->ifa_netmask)));
  }
  return addresses;
}

Fact<std::string> live_firmware(const std::string& interface) {
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return Fact<std::string>::missing(reason_of(errno));
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return Fact<std::string>::missing("interface name too long");
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  request.ifr_data = static_cast<char*>(static_cast<void*>(&info));
  if (::ioctl(fd.get(), SIOCETHTOOL, &request) != 0) return Fact<std::string>::missing(reason_of(errno));
  std::string_view firmware = trim(std::string_view(info.fw_version, ::strnlen(info.fw_version, sizeof info.fw_version)));
  if (firmware.empty() || firmware == "N/A") return Fact<std::string>::missing("the driver names none");
  return Fact<std::string>::of(std::string(firmware));
}

Fact<std::string> try_open_device(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd) return Fact<std::string>::of(path);
  switch (errno) {
    case EACCES:
      return Fact<std::string>::missing(
          fmt::format("EACCES: this user may not open {} (run as root, or `chmod 0666 {}`, or join its group)", path, path));
    case EPERM:
      return Fact<std::string>::missing(
          fmt::format("EPERM: the device cgroup forbids {} (give the container the device, or use an RDMA device plugin)", path));
    case ENOENT:
      return Fact<std::string>::missing(
          fmt::format("absent: {} (`modprobe ib_uverbs`; in a container pass /dev/infiniband through)", path));
    default:
      return Fact<std::string>::missing(fmt::format("{}: {}", path, reason_of(errno)));
  }
}

std::string live_machine() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.machine) : std::string();
}

}  // namespace railgauge::host
