#include "bench/measured_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "host/device_choice.h"
#include "host/parse.h"
#include "host/snapshot.h"

namespace railgauge::bench {

namespace {

/// The kernel's own refusals come late and say "Invalid argument".
void refuse_missing_places(const plan::Placement& wish, Side side, const host::Snapshot& local) {
  const char* peer = side == Side::server ? "peer-" : "";
  auto allowed = local.allowed_cpulist ? host::parse_cpulist(*local.allowed_cpulist) : std::nullopt;
  for (int cpu : wish.cpus)
    if (allowed && std::find(allowed->begin(), allowed->end(), cpu) == allowed->end())
      throw Error(ErrorKind::usage, fmt::format("--{}cpu {}: this process may run on CPUs {} of {}", peer, cpu, *local.allowed_cpulist, local.hostname));
  if (wish.interface && host::find_netdev(local, *wish.interface) == nullptr) {
    std::string present;
    for (const auto& netdev : local.netdevs) present += (present.empty() ? "" : ", ") + netdev.name;
    throw Error(ErrorKind::usage, fmt::format("--{}interface {}: {} has {}", peer, *wish.interface, local.hostname, present.empty() ? "none" : present));
  }
  if (!wish.numa_node || local.numa_cpulists.empty() || local.numa_cpulists.count(*wish.numa_node) != 0) return;
  std::string present;
  for (const auto& [node, cpus] : local.numa_cpulists) present += fmt::format("{}{}", present.empty() ? "" : ", ", node);
  throw Error(ErrorKind::usage, fmt::format("--{}numa {}: {} has the NUMA nodes {}", peer, *wish.numa_node, local.hostname, present));
}

/// RDMA and TCP over one NIC must find one lock, so that it is named after what both have in common.
Nic nic_with(const std::string& name, const host::PciPath& pci) {
  if (pci.virtual_function) return {name, *pci.virtual_function};
  return {name, pci.links.empty() ? name : pci.links.front().address};
}

Nic nic_of_netdev(const std::string& name, const host::Snapshot& facts) {
  const auto* netdev = host::find_netdev(facts, name);
  return netdev != nullptr ? nic_with(name, netdev->pci) : Nic{name, name};
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Standpoint& at) {
  refuse_missing_places(at.wish(), at.side, at.local);
  return at.plan.transport == plan::Transport::rdma ? make_rdma_engine(at) : make_tcp_engine(at);
}

Nic nic_of(const Standpoint& at) {
  const plan::Placement& wish = at.wish();
  if (at.plan.transport == plan::Transport::tcp) {
    if (wish.interface) return nic_of_netdev(*wish.interface, at.local);
    const auto* netdev = host::find_netdev_by_address(at.local, at.local_address);
    return netdev != nullptr ? nic_with(netdev->name, netdev->pci) : Nic{"tcp", "tcp"};
  }
  const auto choice = host::choose_device(
      at.local, {.device = wish.device, .port = wish.port, .local_ip = at.local_address, .common = common_ground_of(at)});
  const auto* device = host::find_device(at.local, choice.device);
  if (device == nullptr) return {choice.device, choice.device};
  // A software device has no PCI address: it works through its interface. A simulated one does not.
  if (device->pci.links.empty() && !device->simulated && !device->netdevs.empty()) return {device->name, nic_of_netdev(device->netdevs.front(), at.local).key};
  return nic_with(device->name, device->pci);
}

host::UsedPath used_path(const plan::Plan& plan, const transport::Offer& offer, const host::Snapshot& facts, const std::string& local_address) {
  host::UsedPath used;
  if (plan.transport == plan::Transport::rdma) {
    used.device = offer.device;
    used.port = offer.port;
    if (offer.gid_index >= 0) used.gid_index = offer.gid_index;
    const auto* device = host::find_device(facts, offer.device);
    const auto* port = device ? host::find_port(*device, offer.port) : nullptr;
    if (port)
      for (const auto& gid : port->gids)
        if (gid.index == offer.gid_index) used.netdev = gid.netdev;
    return used;
  }
  if (const auto* netdev = host::find_netdev_by_address(facts, local_address)) used.netdev = netdev->name;
  return used;
}

namespace {

host::CounterTarget target_of(const host::UsedPath& used) {
  host::CounterTarget target;
  target.device = used.device;
  target.port = used.port;
  if (used.netdev) target.netdevs.push_back(*used.netdev);
  return target;
}

}  // namespace

CounterWatch::CounterWatch(const host::Root& root, const host::UsedPath& path) : reader_(root, target_of(path)), before_(reader_.read()) {}

void CounterWatch::tell(results::SideResult& side) const {
  std::this_thread::sleep_for(reader_.wait_before_read());
  std::uint64_t read = 0;
  for (auto& delta : host::counter_deltas(before_, reader_.read())) {
    if (delta.before && delta.after) ++read;
    const bool still = delta.delta && *delta.delta == 0;
    if (!still) side.counters.push_back(std::move(delta));
  }
  if (read > 0) side.counters_read = read;
}

}  // namespace railgauge::bench
