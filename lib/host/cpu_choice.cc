#include "host/cpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/parse.h"
#include "host/snapshot.h"

namespace railgauge::host {
namespace {

struct NicPlace {
  Fact<int> numa_node = Fact<int>::missing("no such NIC");
  Fact<std::string> local_cpulist = Fact<std::string>::missing("no such NIC");
};

NicPlace place_of(const Snapshot& snapshot, const std::string& nic) {
  if (const RdmaDevice* device = find_device(snapshot, nic)) {
    // A software device works on its interface's node, if that has one.
    if (device->software && !device->netdevs.empty() && find_device(snapshot, device->netdevs.front()) == nullptr)
      return place_of(snapshot, device->netdevs.front());
    return {device->numa_node, device->local_cpulist};
  }
  const Netdev* netdev = find_netdev(snapshot, nic);
  if (netdev == nullptr) return {};
  if (!netdev->bond_slaves.empty())
    if (const Netdev* slave = find_netdev(snapshot, netdev->bond_slaves.front()))
      return {slave->numa_node, Fact<std::string>::missing("not read for interfaces")};
  return {netdev->numa_node, Fact<std::string>::missing("not read for interfaces")};
}

std::vector<int> cpus_of_node(const Snapshot& snapshot, int node, const NicPlace& place) {
  auto list = snapshot.numa_cpulists.find(node);
  std::string text = list != snapshot.numa_cpulists.end() ? list->second : place.local_cpulist.value.value_or("");
  return parse_cpulist(text).value_or(std::vector<int>());
}

CpuChoice unbound(std::optional<int> node, std::string why) { return {{}, node, std::move(why)}; }

}  // namespace

CpuChoice choose_cpus(const Snapshot& snapshot, const std::string& nic, int threads) {
  std::string allowed_text = snapshot.allowed_cpulist ? *snapshot.allowed_cpulist : "unknown";
  NicPlace place = place_of(snapshot, nic);
  if (!place.numa_node)
    return unbound(std::nullopt, fmt::format("not bound (allowed CPUs {}): the NUMA node of {} is not known: {}", allowed_text, nic,
                                             place.numa_node.reason));
  int node = *place.numa_node;
  std::vector<int> near = cpus_of_node(snapshot, node, place);
  std::optional<std::vector<int>> allowed = snapshot.allowed_cpulist ? parse_cpulist(allowed_text) : std::nullopt;
  if (!allowed) return unbound(node, fmt::format("not bound: the CPUs this process may use are not known ({})", snapshot.allowed_cpulist.reason));
  std::vector<int> usable;
  std::set_intersection(near.begin(), near.end(), allowed->begin(), allowed->end(), std::back_inserter(usable));
  if (usable.empty())
    return unbound(node, fmt::format("not bound: the allowed CPUs {} exclude NUMA node {} (CPUs {}) where {} sits", allowed_text, node,
                                     format_cpulist(near), nic));
  std::size_t wanted = static_cast<std::size_t>(std::max(threads, 1));
  bool skip_zero = usable.front() == 0 && usable.size() > wanted;
  if (skip_zero) usable.erase(usable.begin());
  if (usable.size() > wanted) usable.resize(wanted);
  std::string reason = fmt::format("CPU {} of NUMA node {} where {} sits{}", format_cpulist(usable), node, nic,
                                   skip_zero ? "; CPU 0 left to the kernel" : "");
  if (usable.size() < wanted) reason += fmt::format("; {} threads share them", wanted);
  return {std::move(usable), node, std::move(reason)};
}

}  // namespace railgauge::host
