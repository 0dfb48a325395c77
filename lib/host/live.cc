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

/// One SIOCETHTOOL call with `data` of the command's own layout; 0 or errno.
int ethtool_call(const std::string& interface, void* data) {
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return ENAMETOOLONG;
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  request.ifr_data = static_cast<char*>(data);
  return ::ioctl(fd.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

/// A request whose header the kernel's struct ends with a flexible array: `head` words, then the array.
template <typename Head>
std::vector<std::uint64_t> ethtool_array(const Head& head, std::size_t array_bytes) {
  std::vector<std::uint64_t> storage((sizeof(Head) + array_bytes + 7) / 8);
  std::memcpy(storage.data(), &head, sizeof(Head));
  return storage;
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

std::map<std::string, std::uint64_t> live_ethtool_statistics(const std::string& interface) {
  std::map<std::string, std::uint64_t> values;
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (ethtool_call(interface, &info) != 0 || info.n_stats == 0) return values;
  std::size_t count = info.n_stats;
  ethtool_gstrings name_head{};
  name_head.cmd = ETHTOOL_GSTRINGS;
  name_head.string_set = ETH_SS_STATS;
  name_head.len = info.n_stats;
  std::vector<std::uint64_t> names = ethtool_array(name_head, count * ETH_GSTRING_LEN);
  ethtool_stats value_head{};
  value_head.cmd = ETHTOOL_GSTATS;
  value_head.n_stats = info.n_stats;
  std::vector<std::uint64_t> numbers = ethtool_array(value_head, count * sizeof(std::uint64_t));
  if (ethtool_call(interface, names.data()) != 0 || ethtool_call(interface, numbers.data()) != 0) return values;
  const char* name = static_cast<const char*>(static_cast<const void*>(names.data())) + sizeof name_head;
  const char* number = static_cast<const char*>(static_cast<const void*>(numbers.data())) + sizeof value_head;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(name + i * ETH_GSTRING_LEN, ::strnlen(name + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN));
    std::memcpy(&values[text], number + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
  }
  return values;
}

Fact<std::string> live_firmware(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (int error = ethtool_call(interface, &info)) return Fact<std::string>::missing(reason_of(error));
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
