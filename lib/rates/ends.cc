#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "rates/expect.h"

namespace railgauge::rates {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, what); }

const host::Netdev* find_netdev(const host::Snapshot& snapshot, const std::string& name) {
  auto at = std::find_if(snapshot.netdevs.begin(), snapshot.netdevs.end(), [&](const auto& n) { return n.name == name; });
  return at == snapshot.netdevs.end() ? nullptr : &*at;
}

std::vector<host::Netdev> slaves_of(const host::Snapshot& snapshot, const host::Netdev& bond) {
  std::vector<host::Netdev> slaves;
  for (const std::string& name : bond.bond_slaves) {
    if (const host::Netdev* slave = find_netdev(snapshot, name)) slaves.push_back(*slave);
  }
  return slaves;
}

std::optional<host::Gid> gid_at(const host::RdmaPort& port, int index) {
  for (const host::Gid& gid : port.gids) {
    if (gid.index == index) return gid;
  }
  return std::nullopt;
}

}  // namespace

RdmaEnd rdma_end(const host::Snapshot& snapshot, const std::string& device, int port, std::optional<int> gid_index) {
  RdmaEnd end;
  end.host = snapshot.hostname;
  auto found = std::find_if(snapshot.rdma_devices.begin(), snapshot.rdma_devices.end(), [&](const auto& d) { return d.name == device; });
  if (found == snapshot.rdma_devices.end()) refuse(fmt::format("{} has no RDMA device \"{}\"", snapshot.hostname, device));
  end.device = *found;
  auto here = std::find_if(found->ports.begin(), found->ports.end(), [&](const auto& p) { return p.port == port; });
  if (here == found->ports.end()) refuse(fmt::format("{} on {} has no port {}", device, snapshot.hostname, port));
  end.port = *here;
  if (gid_index) {
    end.gid = gid_at(*here, *gid_index);
    if (!end.gid) refuse(fmt::format("{} port {} on {} has no GID at index {}", device, port, snapshot.hostname, *gid_index));
  }
  std::string name = end.gid && end.gid->netdev ? *end.gid->netdev : "";
  if (name.empty() && !found->netdevs.empty()) name = found->netdevs.front();
  if (const host::Netdev* netdev = find_netdev(snapshot, name)) {
    end.netdev = *netdev;
    end.slaves = slaves_of(snapshot, *netdev);
  }
  return end;
}

TcpEnd tcp_end(const host::Snapshot& snapshot, const std::string& name) {
  const host::Netdev* netdev = find_netdev(snapshot, name);
  if (netdev == nullptr) refuse(fmt::format("{} has no interface \"{}\"", snapshot.hostname, name));
  return {snapshot.hostname, *netdev, slaves_of(snapshot, *netdev), std::nullopt};
}

}  // namespace railgauge::rates
