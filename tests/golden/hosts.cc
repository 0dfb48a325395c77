#include "golden/hosts.h"

#include <fmt/format.h>

namespace railgauge::golden {
namespace {

using host::Fact;
using Text = Fact<std::string>;

/// The same in every example, so that they do not change with the machine that builds them.
results::Provenance tool() {
  return {"0.1.0", "3f1c9e0b7d5a2846c1e07f9b3d5a8c642e0f1b97", "GNU 12.2.0", "-O3 -DNDEBUG", "Release",
          {{"rdma-core", "44.0"}, {"fmt", "9.1.0"}, {"nlohmann_json", "3.11.2"}, {"libsodium", "1.0.18"}}};
}

host::PciPath pci_path(const std::string& nic) {
  host::PciPath path;
  path.id = Text::of("15b3:1021");
  path.links.push_back({nic, Fact<double>::of(32), Fact<int>::of(16), Fact<double>::of(32), Fact<int>::of(16)});
  path.links.push_back({"0000:40:01.0", Fact<double>::of(32), Fact<int>::of(16), Fact<double>::of(32), Fact<int>::of(16)});
  path.max_payload_bytes = Fact<int>::of(256);
  path.max_read_request_bytes = Fact<int>::of(4096);
  path.relaxed_ordering = Fact<bool>::of(true);
  path.aer_correctable = {{"RxErr", 0}, {"TOTAL_ERR_COR", 3}};
  return path;
}

host::RdmaPort roce_port(int number) {
  host::RdmaPort port;
  port.port = 1;
  port.state = Text::of("ACTIVE");
  port.physical_state = Text::of("LinkUp");
  port.rate_gbit_per_s = Fact<double>::of(400);
  port.rate_text = Text::of("400 Gb/sec (4X NDR)");
  port.width = Fact<int>::of(4);
  port.speed = Text::of("NDR");
  port.link_layer = host::LinkLayer::ethernet;
  port.active_mtu_bytes = Fact<int>::of(4096);
  port.max_mtu_bytes = Fact<int>::of(4096);
  port.lid = Fact<int>::of(0);
  port.sm_lid = Fact<int>::of(0);
  port.gids.push_back({0, fmt::format("fe80:0000:0000:0000:0a00:27ff:fe00:00{:02x}", number), host::GidType::roce_v1, "eth2", fmt::format("fe80::a00:27ff:fe00:{:x}", number)});
  port.gids.push_back({3, fmt::format("0000:0000:0000:0000:0000:ffff:c000:02{:02x}", number), host::GidType::roce_v2, "eth2", fmt::format("192.0.2.{}", number)});
  port.pkeys = {0xffff};
  return port;
}

host::RdmaDevice nic(int number) {
  host::RdmaDevice device;
  device.name = "mlx5_2";
  device.firmware = Text::of("28.39.1002");
  device.hca_type = Text::of("MT4129");
  device.board_id = Text::of("MT_0000000838");
  device.node_guid = Text::of(fmt::format("0c42:a103:00aa:00{:02x}", number));
  device.sys_image_guid = Text::of(fmt::format("0c42:a103:00aa:00{:02x}", number));
  device.node_type = Text::of("1: CA");
  device.driver = Text::of("mlx5_core");
  device.numa_node = Fact<int>::of(1);
  device.local_cpulist = Text::of("32-63");
  device.char_device = Text::of("/dev/infiniband/uverbs2");
  device.max_qp_depth = Fact<int>::of(32768);
  device.max_qps = Fact<int>::of(131072);
  device.max_cq_entries = Fact<int>::of(4194303);
  device.netdevs = {"eth2"};
  device.pci = pci_path("0000:41:00.0");
  device.ports = {roce_port(number)};
  return device;
}

host::Netdev interface_400g(int number) {
  host::Netdev netdev;
  netdev.name = "eth2";
  netdev.mtu_bytes = Fact<int>::of(9000);
  netdev.speed_gbit_per_s = Fact<double>::of(400);
  netdev.operstate = Text::of("up");
  netdev.carrier = Fact<bool>::of(true);
  netdev.carrier_changes = Fact<std::uint64_t>::of(2);
  netdev.type = Fact<int>::of(1);
  netdev.driver = Text::of("mlx5_core");
  netdev.firmware = Text::of("28.39.1002 (MT_0000000838)");
  netdev.numa_node = Fact<int>::of(1);
  netdev.addresses = {fmt::format("192.0.2.{}/24", number)};
  netdev.pci = pci_path("0000:41:00.0");
  return netdev;
}

host::PciLink gen5(const std::string& address, double current_gt_per_s) {
  return {address, Fact<double>::of(current_gt_per_s), Fact<int>::of(16), Fact<double>::of(32), Fact<int>::of(16)};
}

/// Idle, so that its own link runs at 2.5 GT/s; below another root port of the NIC's host bridge.
host::Gpu gpu() {
  host::Gpu gpu;
  gpu.address = "0000:46:00.0";
  gpu.vendor = "NVIDIA";
  gpu.model = Text::of("NVIDIA H100 80GB HBM3");
  gpu.driver = Text::of("nvidia");
  gpu.numa_node = Fact<int>::of(1);
  gpu.local_cpulist = Text::of("32-63");
  gpu.bar1_bytes = Fact<std::uint64_t>::of(137438953472);
  gpu.iommu_type = Text::of("identity");
  gpu.pci.id = Text::of("10de:2330");
  gpu.pci.links = {gen5("0000:46:00.0", 2.5), gen5("0000:40:03.1", 2.5)};
  gpu.pci.max_payload_bytes = Fact<int>::of(256);
  gpu.pci.max_read_request_bytes = Fact<int>::of(512);
  gpu.pci.relaxed_ordering = Fact<bool>::of(true);
  gpu.nics = {{"mlx5_2", host::Distance::phb, "pci0000:40",
               "GPU 0000:46:00.0 and mlx5_2 0000:41:00.0 meet only at the host bridge pci0000:40: what passes between them crosses the CPU's root complex"}};
  return gpu;
}

/// The module is there, the RDMA stack does not take it (field case F17).
host::GpuDirectFacts gpudirect() {
  return {.driver_version = Text::of("570.86.15"),
          .open_kernel_modules = Fact<bool>::of(true),
          .peermem_loaded = true,
          .peermem_version = Text::of("570.86.15"),
          .memory_peers = false,
          .nv_mem_version = Text::missing("absent"),
          .nv_mem_nc_version = Text::missing("absent")};
}

host::GpuDirectFacts no_gpudirect() {
  return {.driver_version = Text::missing("absent"),
          .open_kernel_modules = Fact<bool>::missing("absent"),
          .peermem_version = Text::missing("absent"),
          .nv_mem_version = Text::missing("absent"),
          .nv_mem_nc_version = Text::missing("absent")};
}

void fill_system(host::Snapshot& facts) {
  facts.os = "Debian GNU/Linux 12 (bookworm)";
  facts.kernel = "6.1.0-25-amd64";
  facts.machine = "x86_64";
  facts.boot_id = Text::of("6f1c0d9e-52b7-4c0a-9d0e-3b1f2a7c8e55");
  facts.kernel_command_line = Text::of("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet iommu=pt");
  facts.cpu_model = Text::of("Intel(R) Xeon(R) Platinum 8462Y+");
  facts.microcode = Text::of("0x2b000590");
  facts.online_cpus = Fact<int>::of(64);
  facts.allowed_cpulist = Text::of("0-63");
  facts.last_level_cache_bytes = Fact<std::uint64_t>::of(62914560);
  facts.governor = Text::of("performance");
  facts.clocksource = Text::of("tsc");
  facts.memlock_limit_bytes = Fact<std::uint64_t>::missing("unlimited");
  facts.memory_bytes = Fact<std::uint64_t>::of(1081101176832);
  facts.hugepages_free = Fact<std::uint64_t>::of(0);
  facts.hugepage_bytes = Fact<std::uint64_t>::of(2097152);
  facts.transparent_hugepages = Text::of("madvise");
  facts.numa_balancing = Fact<int>::of(0);
  facts.product_name = Text::missing("EACCES (run as root)");
  facts.bios_version = Text::of("2.4.4");
  facts.iommu_type = Text::of("identity");
  facts.load_average_1min = Fact<double>::of(0.42);
  facts.numa_cpulists = {{0, "0-31"}, {1, "32-63"}};
  facts.sysctls = {{"net.ipv4.tcp_congestion_control", "cubic"}, {"net.ipv4.tcp_rmem", "4096 131072 6291456"}};
  facts.modules = {{"mlx5_core", ""}, {"mlx5_ib", ""}};
}

results::Node node(const std::string& role, const std::string& peer) {
  results::Node out;
  out.role = role;
  out.tool = tool();
  out.command_line = role == "client" ? std::vector<std::string>{"railgauge", "check", peer, "--token", "[removed]"} : std::vector<std::string>{"railgauge", "serve"};
  out.environment = {{"MLX5_SHUT_UP_BF", "0"}};
  out.clock_read_cost = std::chrono::nanoseconds(19);
  return out;
}

}  // namespace

results::Node gpu_host(const std::string& role, const std::string& name, int number) {
  results::Node out = node(role, "node-12");
  out.facts.hostname = name;
  fill_system(out.facts);
  if (role == "server") out.facts.boot_id = Text::of("0b7e4a11-93cc-4f58-8a2d-d4e6f7081929");
  out.facts.rdma_devices = {nic(number)};
  out.facts.netdevs = {interface_400g(number)};
  out.facts.gpus = {gpu()};
  out.facts.gpudirect = gpudirect();
  return out;
}

results::Node simulated_host(const std::string& role, const std::string& name, int number) {
  results::Node out = gpu_host(role, name, number);
  out.command_line = role == "client" ? std::vector<std::string>{"railgauge", "check", "--self"} : std::vector<std::string>{"railgauge", "serve"};
  host::RdmaDevice& device = out.facts.rdma_devices.front();
  device.name = "sim0";
  device.firmware = Text::of("simulated 1.0");
  device.simulated = true;
  out.facts.boot_id = Text::of("6f1c0d9e-52b7-4c0a-9d0e-3b1f2a7c8e55");  // both ends on one host
  device.driver = Text::missing("simulated");
  device.pci = host::PciPath{};
  device.pci.id = Text::missing("not a PCI device");
  out.facts.gpus.front().nics = {{"sim0", host::Distance::unknown, std::nullopt, "sim0 is not a PCI device"}};
  return out;
}

results::Node container(const std::string& role, const std::string& name) {
  results::Node out = node(role, "192.0.2.77");
  out.environment.clear();
  out.facts.hostname = name;
  out.facts.boot_id = Text::missing("absent");
  out.facts.os = "Debian GNU/Linux 13 (trixie)";
  out.facts.kernel = "6.12.41";
  out.facts.machine = "aarch64";
  out.facts.cpu_model = Text::missing("not in /proc/cpuinfo on this architecture");
  out.facts.virtual_machine = true;
  host::Netdev eth0;
  eth0.name = "eth0";
  eth0.mtu_bytes = Fact<int>::of(1500);
  eth0.speed_gbit_per_s = Fact<double>::missing("virtual interface");
  eth0.virtual_device = true;
  eth0.bond_slaves = {};
  eth0.addresses = {"192.0.2.55/24"};
  out.facts.netdevs = {eth0};
  out.facts.gpudirect = no_gpudirect();
  out.facts.warnings = {"eth0: operstate reads unknown although there is carrier"};
  return out;
}

}  // namespace railgauge::golden
