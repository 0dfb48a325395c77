#include <charconv>

#include "results/describe.h"

namespace railgauge::host {
namespace {

/// NUMA node → CPU list; JSON keys are text.
void describe_numa(results::Io& io, std::map<int, std::string>& lists) {
  std::map<std::string, std::string> by_text;
  for (const auto& [node, list] : lists) by_text.emplace(std::to_string(node), list);
  io.field("numa_cpulists", by_text);
  if (!io.reading()) return;
  lists.clear();
  for (const auto& [text, list] : by_text) {
    int node = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
    if (error != std::errc() || end != text.data() + text.size() || node < 0) io.fail("numa_cpulists with NUMA node numbers as keys");
    lists.emplace(node, list);
  }
}

void describe_system(results::Io& io, Snapshot& facts) {
  io.field("cpu_model", facts.cpu_model);
  io.field("microcode", facts.microcode);
  io.field("online_cpus", facts.online_cpus, 1);
  io.field("allowed_cpulist", facts.allowed_cpulist);
  io.field("last_level_cache_bytes", facts.last_level_cache_bytes);
  io.field("governor", facts.governor);
  io.field("clocksource", facts.clocksource);
  io.field("memlock_limit_bytes", facts.memlock_limit_bytes);
  io.field("memory_bytes", facts.memory_bytes);
  io.field("hugepages_free", facts.hugepages_free);
  io.field("hugepage_bytes", facts.hugepage_bytes);
  io.field("transparent_hugepages", facts.transparent_hugepages);
  io.field("numa_balancing", facts.numa_balancing);
  io.field("product_name", facts.product_name);
  io.field("bios_version", facts.bios_version);
  io.field("iommu_type", facts.iommu_type);
  io.field("virtual_machine", facts.virtual_machine);
  io.field("load_average_1min", facts.load_average_1min, 0.0);
}

}  // namespace

void describe(results::Io& io, PciLink& link) {
  io.field("address", link.address);
  io.field("current_gt_per_s", link.current_gt_per_s, 0.0);
  io.field("current_width", link.current_width, 0);
  io.field("max_gt_per_s", link.max_gt_per_s, 0.0);
  io.field("max_width", link.max_width, 0);
}

void describe(results::Io& io, PciPath& path) {
  io.field("id", path.id);
  io.field("virtual_function", path.virtual_function);
  io.field("links", path.links);
  io.field("max_payload_bytes", path.max_payload_bytes, 1);
  io.field("max_read_request_bytes", path.max_read_request_bytes, 1);
  io.field("relaxed_ordering", path.relaxed_ordering);
  io.field("aer_correctable", path.aer_correctable);
}

void describe(results::Io& io, Gid& gid) {
  io.field("index", gid.index, 0);
  io.field("gid", gid.gid);
  io.word("type", gid.type, {{GidType::ib, "ib"}, {GidType::roce_v1, "roce_v1"}, {GidType::roce_v2, "roce_v2"}});
  io.field("netdev", gid.netdev);
  io.field("ip", gid.ip);
  io.field("type_doubt", gid.type_doubt);
}

void describe(results::Io& io, RdmaPort& port) {
  io.field("port", port.port, 1, 255);
  io.field("state", port.state);
  io.field("physical_state", port.physical_state);
  io.field("rate_gbit_per_s", port.rate_gbit_per_s, 0.0);
  io.field("rate_text", port.rate_text);
  io.field("width", port.width, 1);
  io.field("speed", port.speed);
  io.word("link_layer", port.link_layer,
          {{LinkLayer::unknown, "unknown"}, {LinkLayer::infiniband, "infiniband"}, {LinkLayer::ethernet, "ethernet"}});
  io.field("active_mtu_bytes", port.active_mtu_bytes, 1);
  io.field("max_mtu_bytes", port.max_mtu_bytes, 1);
  io.field("lid", port.lid, 0);
  io.field("sm_lid", port.sm_lid, 0);
  io.field("gids", port.gids);
  io.field("pkeys", port.pkeys, 0, 65535);
}

void describe(results::Io& io, RdmaDevice& device) {
  io.field("name", device.name);
  io.field("firmware", device.firmware);
  io.field("hca_type", device.hca_type);
  io.field("board_id", device.board_id);
  io.field("node_guid", device.node_guid);
  io.field("sys_image_guid", device.sys_image_guid);
  io.field("node_type", device.node_type);
  io.field("driver", device.driver);
  io.field("numa_node", device.numa_node);
  io.field("local_cpulist", device.local_cpulist);
  io.field("char_device", device.char_device);
  io.field("max_qp_depth", device.max_qp_depth, 1);
  io.field("max_qps", device.max_qps, 1);
  io.field("max_cq_entries", device.max_cq_entries, 1);
  io.field("software", device.software);
  io.field("simulated", device.simulated);
  io.field("netdevs", device.netdevs);
  io.field("pci", device.pci);
  io.field("ports", device.ports);
}

void describe(results::Io& io, Netdev& netdev) {
  io.field("name", netdev.name);
  io.field("mtu_bytes", netdev.mtu_bytes, 0);
  io.field("speed_gbit_per_s", netdev.speed_gbit_per_s, 0.0);
  io.field("operstate", netdev.operstate);
  io.field("carrier", netdev.carrier);
  io.field("carrier_changes", netdev.carrier_changes);
  io.field("type", netdev.type);
  io.field("driver", netdev.driver);
  io.field("firmware", netdev.firmware);
  io.field("numa_node", netdev.numa_node);
  io.field("virtual_device", netdev.virtual_device);
  io.field("bond_slaves", netdev.bond_slaves);
  io.field("addresses", netdev.addresses);
  io.field("pci", netdev.pci);
}

void describe(results::Io& io, NicDistance& nic) {
  io.field("device", nic.device);
  io.word("distance", nic.distance,
          {{Distance::loc, "LOC"}, {Distance::pix, "PIX"}, {Distance::pxb, "PXB"}, {Distance::phb, "PHB"},
           {Distance::node, "NODE"}, {Distance::sys, "SYS"}, {Distance::unknown, "unknown"}});
  io.field("meet_at", nic.meet_at);
  io.field("why", nic.why);
}

void describe(results::Io& io, Gpu& gpu) {
  io.field("address", gpu.address);
  io.field("vendor", gpu.vendor);
  io.field("model", gpu.model);
  io.field("driver", gpu.driver);
  io.field("numa_node", gpu.numa_node);
  io.field("local_cpulist", gpu.local_cpulist);
  io.field("bar1_bytes", gpu.bar1_bytes, 1);
  io.field("iommu_type", gpu.iommu_type);
  io.field("pci", gpu.pci);
  io.field("nics", gpu.nics);
}

void describe(results::Io& io, GpuDirectFacts& facts) {
  io.field("driver_version", facts.driver_version);
  io.field("open_kernel_modules", facts.open_kernel_modules);
  io.field("peermem_loaded", facts.peermem_loaded);
  io.field("peermem_version", facts.peermem_version);
  io.field("memory_peers", facts.memory_peers);
  io.field("nv_mem_version", facts.nv_mem_version);
  io.field("nv_mem_nc_version", facts.nv_mem_nc_version);
}

void describe(results::Io& io, Snapshot& facts) {
  io.field("hostname", facts.hostname);
  io.field("os", facts.os);
  io.field("kernel", facts.kernel);
  io.field("machine", facts.machine);
  io.field("boot_id", facts.boot_id);
  io.field("kernel_command_line", facts.kernel_command_line);
  describe_system(io, facts);
  describe_numa(io, facts.numa_cpulists);
  io.field("sysctls", facts.sysctls);
  io.field("modules", facts.modules);
  io.field("rdma_devices", facts.rdma_devices);
  io.field("netdevs", facts.netdevs);
  io.field("gpus", facts.gpus);
  io.field("gpudirect", facts.gpudirect);
  io.field("warnings", facts.warnings);
}

void describe(results::Io& io, CounterDelta& counter) {
  io.field("source", counter.source);
  io.field("name", counter.name);
  io.field("before", counter.before);
  io.field("after", counter.after);
  io.field("delta", counter.delta);
  io.field("wrapped", counter.wrapped);
}

void describe(results::Io& io, Difference& difference) {
  io.field("what", difference.what);
  io.field("client", difference.client);
  io.field("server", difference.server);
  io.field("matters", difference.matters);
}

}  // namespace railgauge::host
