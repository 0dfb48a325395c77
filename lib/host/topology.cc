#include "host/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace railgauge::host {
namespace {

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// "0000:3b:00.1" → "0000:3b:00": functions of one device share its link.
std::string device_of(const std::string& address) { return address.substr(0, address.rfind('.')); }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// A path from the top: the directory of the host bridge, then those of the bridges above the device.
struct Branch {
  std::string host_bridge;            ///< "…/pci0000:39"
  std::vector<std::string> bridges;   ///< topmost (the root port) first
};

/// From the innermost host bridge down: one may hang below a function of another (Volume Management Device).
Branch branch_of(const PciPlace& place) {
  const std::vector<std::string> functions = pci_functions_of(place.function_directory);  // the device first
  std::size_t top = 0;
  while (top + 1 < functions.size() && parent_of(functions[top]) == functions[top + 1]) ++top;
  Branch branch{parent_of(functions[top]), {}};
  for (std::size_t at = top; at > 0; --at) branch.bridges.push_back(functions[at]);
  return branch;
}

/// Which virtual-switch level of a Broadcom PEX switch a bridge is: they show two levels of switches though every port is at full
/// speed from every other, so NCCL makes one of them (NCCL src/graph/topo.cc ncclTopoFlattenBcmSwitches and getBcmGen: vendor,
/// device, subsystem vendor and the upper 4 bits of the subsystem device; generation 4 marks both levels alike).
struct PexLevel {
  int generation = 0;                 ///< 0: no such switch
  bool may_be_upper = false;
  bool may_be_lower = false;
};

PexLevel pex_level(const Root& root, const std::string& directory) {
  std::array<std::int64_t, 4> ids{};
  constexpr std::array<const char*, 4> kFiles = {"vendor", "device", "subsystem_vendor", "subsystem_device"};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = root.integer(directory + "/" + kFiles[i]).value.value_or(-1);
  const std::int64_t level = ids[3] >> 12;
  if (ids[0] != 0x1000) return {};
  if (ids[1] == 0xc010 && ids[2] == 0x1000 && level == 0xa) return {4, true, true};
  if (ids[1] == 0xc030 && ids[2] == 0x1000 && (level == 0 || level == 1)) return {5, level == 0, level == 1};
  return {};
}

/// Where the bridge `above` and the switch below it on this side are the two levels of one switch, takes the inner level out of
/// `bridges`, which lie below `above`, topmost first: a downstream port, the upstream port of the inner level. True if it did.
bool flatten(const Root& root, const std::string& above, std::vector<std::string>& bridges) {
  if (bridges.size() < 2) return false;
  const PexLevel upper = pex_level(root, above);
  const PexLevel lower = pex_level(root, bridges[1]);
  if (!upper.may_be_upper || !lower.may_be_lower || upper.generation != lower.generation) return false;
  bridges.erase(bridges.begin(), bridges.begin() + 2);
  return true;
}

std::vector<std::string> addresses_from_device(const std::vector<std::string>& directories) {
  std::vector<std::string> addresses;
  for (auto at = directories.rbegin(); at != directories.rend(); ++at) addresses.push_back(last_component(*at));
  return addresses;
}

/// Both hang below one bridge. In sysfs a switch is an upstream port with a downstream port for each of its links, so that two
/// devices below one switch meet at its upstream port with one bridge (their downstream port) on either side: PIX. Each further
/// switch adds two bridges to its side: PXB. NCCL counts the same: from a device it goes up two levels at a time, its nodes are
/// the upstream ports, and two of them in a row make PXB (src/graph/xml.cc ncclTopoGetXmlFromSys, paths.cc ncclTopoSetPaths).
/// nvidia-smi calls "at most a single PCIe bridge" PIX and does not say how it counts two-level switches.
PciRelation below_one_bridge(const Root& root, const PciPair& pair, PciRelation relation, std::pair<Branch, Branch> below, const std::string& meeting) {
  const bool first_flat = flatten(root, meeting, below.first.bridges);
  const bool second_flat = flatten(root, meeting, below.second.bridges);
  const bool one = below.first.bridges.size() <= 1 && below.second.bridges.size() <= 1;
  relation.distance = one ? Distance::pix : Distance::pxb;
  if (!one)
    relation.why = fmt::format("{} and {} have several switches between them, and meet at {}", pair.first.name, pair.second.name, *relation.meet_at);
  else
    relation.why = fmt::format("{} and {} sit below one switch, {}{}", pair.first.name, pair.second.name, *relation.meet_at,
                               first_flat || second_flat ? ", which shows two levels" : "");
  return relation;
}

PciRelation unknown_because(PciRelation relation, std::string why) {
  relation.distance = Distance::unknown;
  relation.why = std::move(why);
  return relation;
}

/// They hang from two host bridges: only their NUMA nodes tell how far apart these are.
PciRelation between_host_bridges(const PciPair& pair, PciRelation relation, const std::string& bridges) {
  for (const PciEnd* end : {&pair.first, &pair.second})
    if (!end->place.numa_node)
      return unknown_because(std::move(relation), fmt::format("{} and {} hang from two host bridges, {}, and the NUMA node of {} is unknown: {}",
                                                              pair.first.name, pair.second.name, bridges, end->name, end->place.numa_node.reason));
  const int first = *pair.first.place.numa_node;
  const int second = *pair.second.place.numa_node;
  relation.distance = first == second ? Distance::node : Distance::sys;
  const std::string nodes = first == second ? fmt::format("of NUMA node {}", first)
                                            : fmt::format("of NUMA nodes {} and {}: what passes between them crosses the CPU interconnect", first, second);
  relation.why = fmt::format("{} and {} hang from two host bridges, {}, {}", pair.first.name, pair.second.name, bridges, nodes);
  return relation;
}

/// A hypervisor that passes devices through puts each on the root bus or below a root port or bridge of its own, wherever it
/// really is. One that shows switches describes the machine.
bool is_flat(const Branch& first, const Branch& second, std::size_t shared) {
  const std::size_t usual = shared == 0 ? 1 : 0;
  return first.bridges.size() - shared <= usual && second.bridges.size() - shared <= usual;
}

}  // namespace

PciRelation relation_of(const Root& root, const PciPair& pair) {
  for (const PciEnd* end : {&pair.first, &pair.second})
    if (end->place.function_directory.empty()) return unknown_because({}, fmt::format("{} is not a PCI device", end->name));
  if (device_of(pair.first.place.path.links.front().address) == device_of(pair.second.place.path.links.front().address))
    return {Distance::loc, std::nullopt, {}, {}, fmt::format("{} and {} are functions of one device", pair.first.name, pair.second.name)};
  Branch first = branch_of(pair.first.place);
  Branch second = branch_of(pair.second.place);
  std::size_t shared = 0;
  while (shared < std::min(first.bridges.size(), second.bridges.size()) && first.bridges[shared] == second.bridges[shared]) ++shared;
  const bool flat = pair.virtual_machine && is_flat(first, second, shared);
  const std::string meeting = shared > 0 ? first.bridges[shared - 1] : first.host_bridge;
  for (Branch* branch : {&first, &second}) branch->bridges.erase(branch->bridges.begin(), branch->bridges.begin() + static_cast<std::ptrdiff_t>(shared));
  PciRelation relation;
  relation.first_bridges = addresses_from_device(first.bridges);
  relation.second_bridges = addresses_from_device(second.bridges);
  if (first.host_bridge == second.host_bridge) relation.meet_at = last_component(meeting);
  if (flat)
    return unknown_because(std::move(relation), fmt::format("the virtual machine shows {} and {} without the switches above them", pair.first.name,
                                                            pair.second.name));
  if (shared > 0) return below_one_bridge(root, pair, std::move(relation), {std::move(first), std::move(second)}, meeting);
  if (!relation.meet_at)
    return between_host_bridges(pair, std::move(relation), fmt::format("{} and {}", last_component(first.host_bridge), last_component(second.host_bridge)));
  relation.distance = Distance::phb;
  relation.why = fmt::format("{} and {} meet only at the host bridge {}: what passes between them crosses the CPU's root complex",
                             pair.first.name, pair.second.name, *relation.meet_at);
  return relation;
}

const char* name_of(Distance distance) noexcept {
  switch (distance) {
    case Distance::loc: return "LOC";
    case Distance::pix: return "PIX";
    case Distance::pxb: return "PXB";
    case Distance::phb: return "PHB";
    case Distance::node: return "NODE";
    case Distance::sys: return "SYS";
    case Distance::unknown: break;
  }
  return "unknown";
}

GpuDirectFit gpudirect_fit(Distance distance) noexcept {
  switch (distance) {
    case Distance::loc:
    case Distance::pix:
    case Distance::pxb: return GpuDirectFit::good;
    case Distance::phb: return GpuDirectFit::works;
    case Distance::node:
    case Distance::sys: return GpuDirectFit::avoid;
    case Distance::unknown: break;
  }
  return GpuDirectFit::unknown;
}

const char* text_of(GpuDirectFit fit) noexcept {
  switch (fit) {
    case GpuDirectFit::good: return "good for GPUDirect";
    case GpuDirectFit::works: return "works with GPUDirect, at a speed that depends on the CPU";
    case GpuDirectFit::avoid: return "to be avoided for GPUDirect: the traffic crosses the CPU";
    case GpuDirectFit::unknown: break;
  }
  return "of unknown use for GPUDirect";
}

}  // namespace railgauge::host
