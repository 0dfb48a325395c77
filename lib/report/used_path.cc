#include "report/used_path.h"

#include <string>

#include "host/snapshot.h"

namespace railgauge::report {

using results::Node;
using results::SideResult;

const host::RdmaDevice* device_of(const Node& node, const SideResult& side) {
  return side.placement.device ? host::find_device(node.facts, *side.placement.device) : nullptr;
}

const host::Netdev* netdev_of(const Node& node, const SideResult& side) {
  const host::RdmaDevice* device = device_of(node, side);
  if (!device) return side.placement.interface ? host::find_netdev(node.facts, *side.placement.interface) : nullptr;
  for (const host::RdmaPort& port : device->ports)
    for (const host::Gid& gid : port.gids)
      if (side.placement.gid_index && gid.index == *side.placement.gid_index && gid.netdev) return host::find_netdev(node.facts, *gid.netdev);
  return device->netdevs.empty() ? nullptr : host::find_netdev(node.facts, device->netdevs.front());
}

}  // namespace railgauge::report
