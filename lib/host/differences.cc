#include "host/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "host/snapshot.h"

namespace railgauge::host {
namespace {

/// Everything of one host that can differ, found once.
struct Side {
  const Snapshot& snapshot;
  const UsedPath& path;
  const RdmaDevice* device = nullptr;
  const RdmaPort* port = nullptr;
  const Gid* gid = nullptr;
  const Netdev* netdev = nullptr;
};

Side side_of(const Snapshot& snapshot, const UsedPath& path) {
  Side side{snapshot, path};
  if (path.device) side.device = find_device(snapshot, *path.device);
  if (side.device) side.port = find_port(*side.device, path.port);
  if (side.port && path.gid_index)
    for (const Gid& gid : side.port->gids)
      if (gid.index == *path.gid_index) side.gid = &gid;
  std::optional<std::string> name = path.netdev;
  if (!name && side.gid) name = side.gid->netdev;
  if (name) side.netdev = find_netdev(snapshot, *name);
  return side;
}

template <typename Number>
Fact<std::string> text(const Fact<Number>& fact) {
  return fact ? Fact<std::string>::of(fmt::format("{}", *fact)) : Fact<std::string>::missing(fact.reason);
}
Fact<std::string> none(const char* why = "not in use") { return Fact<std::string>::missing(why); }
Fact<std::string> text(const std::string& value) { return value.empty() ? none("unknown") : Fact<std::string>::of(value); }

Fact<std::string> value_in(const std::map<std::string, std::string>& map, const char* key) {
  auto found = map.find(key);
  return found == map.end() ? none("absent") : Fact<std::string>::of(found->second.empty() ? "inbox" : found->second);
}

const PciPath* pci_of(const Side& s) {
  if (s.device) return &s.device->pci;
  return s.netdev ? &s.netdev->pci : nullptr;
}

Fact<std::string> model(const Side& s) {
  if (s.device && s.device->hca_type) return s.device->hca_type;
  return pci_of(s) ? pci_of(s)->id : none();
}
Fact<std::string> firmware(const Side& s) {
  if (s.device) return s.device->firmware;
  return s.netdev ? s.netdev->firmware : none();
}
Fact<std::string> driver(const Side& s) {
  if (s.device) return s.device->driver;
  return s.netdev ? s.netdev->driver : none();
}
Fact<std::string> driver_version(const Side& s) {
  Fact<std::string> name = driver(s);
  return name ? value_in(s.snapshot.modules, name.value->c_str()) : name;
}
Fact<std::string> link_layer(const Side& s) { return s.port ? Fact<std::string>::of(name_of(s.port->link_layer)) : none(); }
/// The number, not its words: 200 Gb/s is 4X HDR here and 2X NDR there.
Fact<std::string> rate(const Side& s) {
  if (!s.port && !s.netdev) return none();
  const Fact<double>& speed = s.port ? s.port->rate_gbit_per_s : s.netdev->speed_gbit_per_s;
  return speed ? Fact<std::string>::of(fmt::format("{} Gb/s", *speed)) : none(speed.reason.c_str());
}
Fact<std::string> lanes(const Side& s) {
  if (!s.port || !s.port->width || !s.port->speed) return none("unknown");
  return Fact<std::string>::of(fmt::format("{}X {}", *s.port->width, *s.port->speed));
}
Fact<std::string> pcie_link(const Side& s) {
  const PciPath* pci = pci_of(s);
  if (!pci || pci->links.empty()) return none("not a PCI device");
  const PciLink& link = pci->links.front();
  if (!link.current_gt_per_s || !link.current_width) return none("unknown");
  return Fact<std::string>::of(fmt::format("{} GT/s x{}", *link.current_gt_per_s, *link.current_width));
}
Fact<std::string> numa_node(const Side& s) {
  if (s.device) return text(s.device->numa_node);
  return s.netdev ? text(s.netdev->numa_node) : none();
}
Fact<std::string> memlock(const Side& s) {
  const Fact<std::uint64_t>& limit = s.snapshot.memlock_limit_bytes;
  if (!limit && limit.reason == "unlimited") return Fact<std::string>::of("unlimited");
  return limit ? Fact<std::string>::of(fmt::format("{} B", *limit)) : none(limit.reason.c_str());
}
template <typename T>
Fact<std::string> pci_fact(const Side& s, Fact<T> PciPath::*member) {
  return pci_of(s) ? text(pci_of(s)->*member) : none();
}

/// Which measurements a line lowers or stops.
enum class Matters { no, rdma, tcp, both };

struct Line {
  const char* what;
  Matters matters;
  std::function<Fact<std::string>(const Side&)> read;
};

std::vector<Line> path_lines() {
  return {
      {"device model", Matters::no, model},
      {"firmware", Matters::no, firmware},
      {"driver", Matters::no, driver},
      {"driver version", Matters::no, driver_version},
      {"link layer", Matters::rdma, link_layer},
      {"link rate", Matters::both, rate},
      {"lanes of the link", Matters::no, lanes},
      {"active MTU", Matters::rdma, [](const Side& s) { return s.port ? text(s.port->active_mtu_bytes) : none(); }},
      {"interface MTU", Matters::both, [](const Side& s) { return s.netdev ? text(s.netdev->mtu_bytes) : none(); }},
      {"GID type", Matters::rdma, [](const Side& s) { return s.gid ? Fact<std::string>::of(name_of(s.gid->type)) : none(); }},
      {"PCIe link", Matters::both, pcie_link},
      {"PCIe maximum payload", Matters::both, [](const Side& s) { return pci_fact(s, &PciPath::max_payload_bytes); }},
      {"PCIe maximum read request", Matters::both, [](const Side& s) { return pci_fact(s, &PciPath::max_read_request_bytes); }},
      {"PCIe relaxed ordering", Matters::both, [](const Side& s) { return pci_fact(s, &PciPath::relaxed_ordering); }},
      {"NUMA node of the NIC", Matters::no, numa_node},
  };
}

std::vector<Line> host_lines() {
  auto sysctl = [](const char* name) { return [name](const Side& s) { return value_in(s.snapshot.sysctls, name); }; };
  return {
      {"virtual machine", Matters::no, [](const Side& s) { return Fact<std::string>::of(s.snapshot.virtual_machine ? "yes" : "no"); }},
      {"CPU model", Matters::no, [](const Side& s) { return s.snapshot.cpu_model; }},
      {"microcode", Matters::no, [](const Side& s) { return s.snapshot.microcode; }},
      {"online CPUs", Matters::no, [](const Side& s) { return text(s.snapshot.online_cpus); }},
      {"product", Matters::no, [](const Side& s) { return s.snapshot.product_name; }},
      {"BIOS", Matters::no, [](const Side& s) { return s.snapshot.bios_version; }},
      {"operating system", Matters::no, [](const Side& s) { return text(s.snapshot.os); }},
      {"kernel", Matters::no, [](const Side& s) { return text(s.snapshot.kernel); }},
      {"kernel command line", Matters::no, [](const Side& s) { return s.snapshot.kernel_command_line; }},
      {"IOMMU", Matters::both, [](const Side& s) { return s.snapshot.iommu_type; }},
      {"CPU governor", Matters::both, [](const Side& s) { return s.snapshot.governor; }},
      {"clock source", Matters::both, [](const Side& s) { return s.snapshot.clocksource; }},
      {"memlock limit", Matters::rdma, memlock},
      {"transparent huge pages", Matters::no, [](const Side& s) { return s.snapshot.transparent_hugepages; }},
      {"NUMA balancing", Matters::both, [](const Side& s) { return text(s.snapshot.numa_balancing); }},
      {"congestion control", Matters::tcp, sysctl("net.ipv4.tcp_congestion_control")},
      {"queueing discipline", Matters::tcp, sysctl("net.core.default_qdisc")},
      {"TCP receive buffer", Matters::tcp, sysctl("net.ipv4.tcp_rmem")},
      {"TCP send buffer", Matters::tcp, sysctl("net.ipv4.tcp_wmem")},
      {"TCP timestamps", Matters::tcp, sysctl("net.ipv4.tcp_timestamps")},
      {"TCP selective acknowledgement", Matters::tcp, sysctl("net.ipv4.tcp_sack")},
  };
}

void compare(const Line& line, const Side& client, const Side& server, std::vector<Difference>& found) {
  Fact<std::string> a = line.read(client);
  Fact<std::string> b = line.read(server);
  if ((!a && !b) || (a && b && *a == *b)) return;
  bool rdma = client.device != nullptr;
  bool matters = line.matters == Matters::both || (line.matters == Matters::rdma && rdma) || (line.matters == Matters::tcp && !rdma);
  auto said = [](const Fact<std::string>& fact) { return fact ? *fact : fmt::format("unknown ({})", fact.reason); };
  found.push_back({line.what, said(a), said(b), matters && a && b});
}

}  // namespace

bool share_pkey(const RdmaPort& a, const RdmaPort& b) {
  for (int x : a.pkeys)
    for (int y : b.pkeys)
      if ((x & 0x7fff) == (y & 0x7fff) && ((x | y) & 0x8000) != 0) return true;
  return false;
}

std::string list_pkeys(const RdmaPort& port) {
  std::string list;
  for (int pkey : port.pkeys) list += fmt::format("{}0x{:04x}", list.empty() ? "" : " ", pkey);
  return list;
}

std::vector<Difference> differences(const Snapshot& client, const UsedPath& client_path, const Snapshot& server,
                                    const UsedPath& server_path) {
  Side a = side_of(client, client_path);
  Side b = side_of(server, server_path);
  std::vector<Difference> found;
  for (const Line& line : path_lines()) compare(line, a, b, found);
  if (a.port && b.port && !a.port->pkeys.empty() && !b.port->pkeys.empty() && !share_pkey(*a.port, *b.port))
    found.push_back({"P_Key", list_pkeys(*a.port), list_pkeys(*b.port), true});
  for (const Line& line : host_lines()) compare(line, a, b, found);
  return found;
}

}  // namespace railgauge::host
