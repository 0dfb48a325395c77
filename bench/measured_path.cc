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
  if (!wish.numa_node || local.numa_cpulists.empty() || local.numa_cpulists.count(*wish.numa_node) != 0) return;
  std::string present;
  for (const auto& [node, cpus] : local.numa_cpulists) present += fmt::format("{}{}", present.empty() ? "" : ", ", node);
  throw Error(ErrorKind::usage, fmt::format("--{}numa {}: {} has the NUMA nodes {}", peer, *wish.numa_node, local.hostname, present));
}

const plan::Placement& wish_of(const plan::Plan& plan, Side side) { return side == Side::client ? plan.client : plan.server; }

/// Both sides decide alone, from the same facts.
std::optional<host::LinkLayer> link_layer_of(const Standpoint& at) {
  const plan::Placement& own = wish_of(at.plan, at.side);
  const plan::Placement& others = wish_of(at.plan, at.side == Side::client ? Side::server : Side::client);
  return host::common_link_layer(at.local, {.device = own.device, .port = own.port, .local_ip = {}, .peer_link_layer = {}}, at.peer,
                                 {.device = others.device, .port = others.port, .local_ip = {}, .peer_link_layer = {}});
}

}  // namespace

std::string unsent_text(std::uint64_t unsent) {
  return fmt::format("the path did not keep up with the schedule: {} messages that were due in the window were never sent and are in no "
                     "percentile; use a lower --load-rate", unsent);
}

std::unique_ptr<Engine> make_engine(const Standpoint& at) {
  refuse_missing_places(wish_of(at.plan, at.side), at.side, at.local);
  if (at.plan.transport == plan::Transport::rdma)
    return make_rdma_engine(at.plan, at.side, at.local, at.local_address, at.peer_address, link_layer_of(at));
  return make_tcp_engine(at.plan, at.side, at.local, at.local_address, at.peer_address);
}

std::string nic_of(const Standpoint& at) {
  const plan::Placement& wish = wish_of(at.plan, at.side);
  if (at.plan.transport == plan::Transport::rdma) {
    // A replayed tree need not have the device that the engine will find.
    if (at.local.rdma_devices.empty()) return wish.device.value_or("rdma");
    return host::choose_device(at.local, {.device = wish.device, .port = wish.port, .local_ip = at.local_address, .peer_link_layer = link_layer_of(at)})
        .device;
  }
  if (wish.interface) return *wish.interface;
  const auto* netdev = host::find_netdev_by_address(at.local, at.local_address);
  return netdev != nullptr ? netdev->name : "tcp";
}

MeasuredPath measured_path(const plan::Plan& plan, const transport::Offer& offer, const host::Snapshot& facts,
                           const std::string& local_address) {
  MeasuredPath path;
  if (plan.transport == plan::Transport::rdma) {
    path.used.device = offer.device;
    path.used.port = offer.port;
    if (offer.gid_index >= 0) path.used.gid_index = offer.gid_index;
    const auto* device = host::find_device(facts, offer.device);
    const auto* port = device ? host::find_port(*device, offer.port) : nullptr;
    if (port)
      for (const auto& gid : port->gids)
        if (gid.index == offer.gid_index) path.used.netdev = gid.netdev;
    return path;
  }
  if (const auto* netdev = host::find_netdev_by_address(facts, local_address)) path.used.netdev = netdev->name;
  return path;
}

namespace {

host::CounterTarget target_of(const MeasuredPath& path) {
  host::CounterTarget target;
  target.device = path.used.device;
  target.port = path.used.port;
  if (path.used.netdev) target.netdevs.push_back(*path.used.netdev);
  return target;
}

}  // namespace

CounterWatch::CounterWatch(const host::Root& root, const MeasuredPath& path) : reader_(root, target_of(path)), before_(reader_.read()) {}

std::vector<results::CounterDelta> CounterWatch::deltas() const {
  std::this_thread::sleep_for(reader_.wait_before_read());
  std::vector<results::CounterDelta> moved;
  for (auto& delta : host::counter_deltas(before_, reader_.read())) {
    bool still = delta.delta && *delta.delta == 0;
    if (!still) moved.push_back(std::move(delta));
  }
  return moved;
}

}  // namespace railgauge::bench
