#include "host/netdev.h"

#include <fmt/format.h>

#include <optional>

#include "host/live.h"
#include "host/parse.h"

namespace railgauge::host {
namespace {

constexpr const char* kAddressFile = "/ip-addr.txt";

template <typename To>
Fact<To> narrowed(const Fact<std::int64_t>& from) {
  return from ? Fact<To>::of(static_cast<To>(*from)) : Fact<To>::missing(from.reason);
}

Fact<double> read_speed(const Root& root, const std::string& path) {
  Fact<std::string> text = root.text(path);
  return text ? parse_netdev_speed(*text) : Fact<double>::missing(text.reason);
}

/// The kernel answers EINVAL for the carrier of an interface that is administratively down.
Fact<bool> read_carrier(const Root& root, const std::string& path) {
  Fact<std::int64_t> carrier = root.integer(path);
  if (carrier) return Fact<bool>::of(*carrier != 0);
  if (carrier.reason.compare(0, 6, "EINVAL") == 0) return Fact<bool>::missing("EINVAL (administratively down)");
  return Fact<bool>::missing(carrier.reason);
}

Netdev read_netdev(const Root& root, PciReader& pci, const std::string& name) {
  std::string directory = "/sys/class/net/" + name;
  Netdev netdev;
  netdev.name = name;
  netdev.mtu_bytes = narrowed<int>(root.integer(directory + "/mtu"));
  netdev.speed_gbit_per_s = read_speed(root, directory + "/speed");
  netdev.operstate = root.text(directory + "/operstate");
  netdev.carrier = read_carrier(root, directory + "/carrier");
  netdev.carrier_changes = narrowed<std::uint64_t>(root.integer(directory + "/carrier_changes"));
  netdev.type = narrowed<int>(root.integer(directory + "/type"));
  netdev.driver = root.link_name(directory + "/device/driver");
  netdev.virtual_device = !root.exists(directory + "/device");
  if (Fact<std::string> slaves = root.text(directory + "/bonding/slaves"))
    for (std::string_view slave : split_words(*slaves)) netdev.bond_slaves.emplace_back(slave);
  PciPlace place = pci.place_of(directory + "/device");
  netdev.numa_node = std::move(place.numa_node);
  netdev.pci = std::move(place.path);
  if (netdev.virtual_device)
    netdev.firmware = Fact<std::string>::missing("virtual interface");
  else
    netdev.firmware = root.live() ? live_firmware(name) : Fact<std::string>::missing("only known on the running host");
  return netdev;
}

}  // namespace

Fact<double> parse_netdev_speed(std::string_view text) {
  std::optional<std::int64_t> mbit_per_s = parse_integer(text);
  if (!mbit_per_s || *mbit_per_s <= 0 || *mbit_per_s >= 0xffffffffLL) return Fact<double>::missing(fmt::format("unknown (\"{}\")", text));
  return Fact<double>::of(static_cast<double>(*mbit_per_s) / 1000.0);
}

std::map<std::string, std::vector<std::string>> parse_ip_addresses(std::string_view text) {
  std::map<std::string, std::vector<std::string>> addresses;
  while (!text.empty()) {
    std::size_t newline = text.find('\n');
    std::vector<std::string_view> words = split_words(text.substr(0, newline));
    // "2: eth0    inet 10.0.0.5/24 brd …"; a VLAN is shown as "eth0.7@eth0" by some versions
    if (words.size() >= 4 && (words[2] == "inet" || words[2] == "inet6"))
      addresses[std::string(words[1].substr(0, words[1].find('@')))].emplace_back(words[3]);
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return addresses;
}

std::vector<Netdev> read_netdevs(const Root& root, PciReader& pci) {
  std::map<std::string, std::vector<std::string>> addresses;
  if (root.live()) {
    addresses = live_addresses();
  } else if (FileText file = root.read(kAddressFile); file.text) {
    addresses = parse_ip_addresses(*file.text);
  }
  std::vector<Netdev> netdevs;
  for (const std::string& name : root.list("/sys/class/net")) {
    if (name == "bonding_masters") continue;  // a file of the bonding driver, no interface
    netdevs.push_back(read_netdev(root, pci, name));
    netdevs.back().addresses = addresses[name];
  }
  return netdevs;
}

}  // namespace railgauge::host
