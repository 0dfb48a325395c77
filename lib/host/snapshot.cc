#include "host/snapshot.h"

#include "host/gpu.h"
#include "host/netdev.h"
#include "host/pci.h"
#include "host/rdma_device.h"
#include "host/system.h"

namespace railgauge::host {
namespace {

/// Of the first NIC on PCI: RDMA devices before plain interfaces.
Fact<std::string> first_iommu_type(const Root& root, PciReader& pci, const Snapshot& snapshot) {
  for (const RdmaDevice& device : snapshot.rdma_devices)
    if (!device.pci.links.empty())
      return read_iommu_type(root, pci.place_of("/sys/class/infiniband/" + device.name + "/device").function_directory);
  for (const Netdev& netdev : snapshot.netdevs)
    if (!netdev.pci.links.empty())
      return read_iommu_type(root, pci.place_of("/sys/class/net/" + netdev.name + "/device").function_directory);
  return Fact<std::string>::missing("no NIC on PCI");
}

}  // namespace

const char* name_of(LinkLayer layer) noexcept {
  switch (layer) {
    case LinkLayer::infiniband: return "InfiniBand";
    case LinkLayer::ethernet: return "Ethernet";
    case LinkLayer::unknown: break;
  }
  return "unknown";
}

const char* name_of(GidType type) noexcept {
  switch (type) {
    case GidType::roce_v1: return "RoCE v1";
    case GidType::roce_v2: return "RoCE v2";
    case GidType::ib: break;
  }
  return "IB";
}

std::optional<GidType> gid_type_from(std::string_view name) noexcept {
  for (GidType type : {GidType::ib, GidType::roce_v1, GidType::roce_v2})
    if (name == name_of(type)) return type;
  return std::nullopt;
}

Snapshot read_snapshot(const Root& root) {
  Snapshot snapshot;
  PciReader pci(root);
  snapshot.root = root.path("");
  read_software(root, snapshot);
  read_cpu(root, snapshot);
  read_memory(root, snapshot);
  snapshot.rdma_devices = read_rdma_devices(root, pci, snapshot.warnings);
  snapshot.netdevs = read_netdevs(root, pci);
  snapshot.iommu_type = first_iommu_type(root, pci, snapshot);
  snapshot.gpus = read_gpus(root, pci, snapshot);
  snapshot.gpudirect = read_gpudirect(root);
  return snapshot;
}

const RdmaDevice* find_device(const Snapshot& snapshot, std::string_view name) noexcept {
  for (const RdmaDevice& device : snapshot.rdma_devices)
    if (device.name == name) return &device;
  return nullptr;
}

const RdmaPort* find_port(const RdmaDevice& device, int port) noexcept {
  for (const RdmaPort& candidate : device.ports)
    if (candidate.port == port) return &candidate;
  return nullptr;
}

const Netdev* find_netdev(const Snapshot& snapshot, std::string_view name) noexcept {
  for (const Netdev& netdev : snapshot.netdevs)
    if (netdev.name == name) return &netdev;
  return nullptr;
}

const Netdev* find_netdev_by_address(const Snapshot& snapshot, std::string_view ip) noexcept {
  std::size_t percent = ip.find('%');
  // A link-local address may be on several interfaces; the scope says which where it is a name.
  const Netdev* scope = percent == std::string_view::npos ? nullptr : find_netdev(snapshot, ip.substr(percent + 1));
  ip = ip.substr(0, percent);
  for (const Netdev& netdev : snapshot.netdevs) {
    if (scope != nullptr && scope != &netdev) continue;
    for (const std::string& address : netdev.addresses)
      if (std::string_view(address).substr(0, address.find('/')) == ip) return &netdev;
  }
  return nullptr;
}

}  // namespace railgauge::host
