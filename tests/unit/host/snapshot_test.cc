#include "host/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::string> names_of(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const RdmaDevice& device : snapshot.rdma_devices) names.push_back(device.name);
  return names;
}

TEST(ReadSnapshot, ReadsTheHost) {
  Snapshot s = snapshot_of("a100_roce");
  EXPECT_EQ(s.hostname, "node-a3");
  EXPECT_EQ(s.os, "Example Linux 22.04.3 LTS");
  EXPECT_EQ(s.kernel, "6.5.0-21-generic");
  EXPECT_EQ(s.machine, "x86_64");
  EXPECT_EQ(*s.cpu_model, "Examplium 9000 32-Core Processor");
  EXPECT_EQ(*s.microcode, "0xa101148");
  EXPECT_EQ(*s.online_cpus, 64);
  EXPECT_EQ(*s.last_level_cache_bytes, 262144u * 1024);
  EXPECT_EQ(*s.governor, "performance");
  EXPECT_EQ(*s.clocksource, "tsc");
  EXPECT_EQ(*s.memory_bytes, 131072000u * 1024ull);
  EXPECT_EQ(*s.hugepages_free, 37u);
  EXPECT_EQ(*s.hugepage_bytes, 2097152u);
  EXPECT_EQ(*s.transparent_hugepages, "madvise");
  EXPECT_EQ(*s.numa_balancing, 0);
  EXPECT_EQ(*s.product_name, "XE-8A");
  EXPECT_EQ(*s.bios_version, "2.7a");
  EXPECT_EQ(*s.load_average_1min, 3.25);
  EXPECT_FALSE(s.virtual_machine);
  EXPECT_THAT(s.numa_cpulists, ElementsAre(Pair(0, "0-31"), Pair(1, "32-63")));
  EXPECT_THAT(s.warnings, IsEmpty());
}

TEST(ReadSnapshot, ReadsSysctlsAndModules) {
  Snapshot s = snapshot_of("a100_roce");
  EXPECT_EQ(s.sysctls.at("net.ipv4.tcp_congestion_control"), "cubic");
  EXPECT_EQ(s.sysctls.at("net.ipv4.tcp_rmem"), "4096 131072 67108864");  // tabs become blanks
  EXPECT_EQ(s.sysctls.at("net.core.default_qdisc"), "fq_codel");
  EXPECT_EQ(s.sysctls.count("net.ipv4.tcp_window_scaling"), 0u);  // absent is absent
  EXPECT_EQ(s.modules.at("mlx5_core"), "24.10-1.1.4");
  EXPECT_EQ(s.modules.at("mlx5_ib"), "");  // inbox: no version
  EXPECT_EQ(s.modules.count("rdma_rxe"), 0u);
}

TEST(ReadSnapshot, KeepsUnlimitedMemlockApartFromANumber) {
  Snapshot a = snapshot_of("a100_roce");
  EXPECT_FALSE(a.memlock_limit_bytes);
  EXPECT_EQ(a.memlock_limit_bytes.reason, "unlimited");
  EXPECT_EQ(*snapshot_of("mtu1500_roce").memlock_limit_bytes, 8388608u);
}

TEST(ReadSnapshot, SortsDevicesByNumberAndBearsHoles) {
  EXPECT_THAT(names_of(snapshot_of("h100_ib")),
              ElementsAre("mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9", "mlx5_bond_0"));
  EXPECT_THAT(names_of(snapshot_of("simulated")), ElementsAre("sim0", "sim2", "sim10"));
  EXPECT_THAT(names_of(snapshot_of("restricted")), ElementsAre("hfi1_0", "mlx4_0"));
}

TEST(ReadSnapshot, ReadsADevice) {
  Snapshot s = snapshot_of("h100_ib");
  const RdmaDevice& device = *find_device(s, "mlx5_8");  // seventh in position 6: NUMA node 6 / 4 = 1
  EXPECT_EQ(*device.firmware, "28.42.1234");
  EXPECT_EQ(*device.hca_type, "MT4129");
  EXPECT_EQ(*device.board_id, "EX_0000000555");
  EXPECT_EQ(*device.driver, "mlx5_core");
  EXPECT_EQ(*device.numa_node, 1);
  EXPECT_EQ(*device.local_cpulist, "48-95,144-191");
  EXPECT_EQ(*device.char_device, "/dev/infiniband/uverbs8");
  EXPECT_THAT(device.netdevs, ElementsAre("ib6"));
  EXPECT_FALSE(device.software);
  EXPECT_FALSE(device.simulated);
  EXPECT_EQ(*s.iommu_type, "identity");
}

TEST(ReadSnapshot, HoldsGpusAndTheirDistances) {
  Snapshot s = snapshot_of("h100_ib");
  ASSERT_EQ(s.gpus.size(), 8u);
  const Gpu& gpu = s.gpus[5];  // bus 0x10 + 5 · 0x10 + 4; beside the sixth NIC, on NUMA node 5 / 4 = 1
  EXPECT_EQ(gpu.address, "0000:64:00.0");
  EXPECT_EQ(*gpu.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(*gpu.bar1_bytes, 137438953472u);  // 128 GiB
  EXPECT_EQ(*gpu.pci.links.at(0).current_gt_per_s, 2.5);
  std::map<std::string, std::string> distances;
  for (const NicDistance& nic : gpu.nics) distances[nic.device] = name_of(nic.distance);
  EXPECT_THAT(distances, ElementsAre(Pair("mlx5_0", "SYS"), Pair("mlx5_1", "SYS"), Pair("mlx5_4", "SYS"), Pair("mlx5_5", "SYS"), Pair("mlx5_6", "NODE"),
                                     Pair("mlx5_7", "PIX"), Pair("mlx5_8", "NODE"), Pair("mlx5_9", "NODE"), Pair("mlx5_bond_0", "NODE")));
  EXPECT_EQ(*s.gpudirect.driver_version, "550.90.07");
  EXPECT_TRUE(s.gpudirect.peermem_loaded);
  EXPECT_FALSE(s.gpudirect.memory_peers);
}

TEST(ReadSnapshot, NamesTheBondBeforeItsSlave) {
  Snapshot s = snapshot_of("h100_ib");
  EXPECT_THAT(find_device(s, "mlx5_bond_0")->netdevs, ElementsAre("bond0", "ens20f0np0"));
  EXPECT_THAT(find_netdev(s, "bond0")->bond_slaves, ElementsAre("ens20f0np0", "ens20f1np1"));
  EXPECT_EQ(*find_device(s, "mlx5_bond_0")->ports[0].rate_gbit_per_s, 200);
}

TEST(ReadSnapshot, KnowsSoftwareDevices) {
  Snapshot s = snapshot_of("rxe_host");
  const RdmaDevice& rxe = *find_device(s, "rxe0");
  EXPECT_TRUE(rxe.software);
  EXPECT_THAT(rxe.netdevs, ElementsAre("veth7"));
  EXPECT_TRUE(rxe.pci.links.empty());
  EXPECT_EQ(rxe.numa_node.reason, "not a PCI device");
  EXPECT_EQ(rxe.firmware.reason, "empty");
  EXPECT_EQ(rxe.ports[0].gids.size(), 2u);
  const RdmaDevice& siw = *find_device(s, "siw0");
  EXPECT_TRUE(siw.software);
  EXPECT_EQ(*siw.node_type, "4: RNIC");
  EXPECT_EQ(*siw.char_device, "/dev/infiniband/uverbs1");
}

TEST(ReadSnapshot, KnowsAStandInByItsFirmware) {
  Snapshot s = snapshot_of("simulated");
  EXPECT_TRUE(s.rdma_devices.at(0).simulated);
  EXPECT_EQ(s.rdma_devices[0].char_device.reason, "no uverbs node (`modprobe ib_uverbs`)");
}

TEST(ReadSnapshot, ReadsTwoPortsAndBearsMissingNames) {
  Snapshot s = snapshot_of("restricted");
  const RdmaDevice& mlx4 = *find_device(s, "mlx4_0");
  ASSERT_EQ(mlx4.ports.size(), 2u);
  EXPECT_EQ(mlx4.ports[1].port, 2);
  EXPECT_EQ(*mlx4.ports[1].rate_gbit_per_s, 40);
  EXPECT_FALSE(mlx4.numa_node);
  const RdmaDevice& hfi = *find_device(s, "hfi1_0");
  EXPECT_EQ(hfi.hca_type.reason, "absent");
  EXPECT_THAT(*hfi.board_id, HasSubstr("1-port Adapter"));
  EXPECT_THAT(s.warnings, ElementsAre(HasSubstr("mlx4_0 port 1: phys_state reads \"4: ACTIVE\"")));
}

TEST(ReadSnapshot, KnowsAVirtualMachine) {
  Snapshot s = snapshot_of("vm_no_pci");
  EXPECT_TRUE(s.virtual_machine);
  EXPECT_EQ(s.governor.reason, "absent");
  EXPECT_EQ(*s.last_level_cache_bytes, 33792u * 1024);
  EXPECT_FALSE(find_device(s, "mana_0")->software);
  EXPECT_EQ(s.iommu_type.reason, "no IOMMU group");
}

TEST(ReadSnapshot, TakesTheGovernorOfTheFirstAllowedCpu) {
  Snapshot s = snapshot_of("vf_roce");  // CPUs 4-7 allowed, and only cpu4 has a governor
  EXPECT_EQ(*s.allowed_cpulist, "4-7");
  EXPECT_EQ(*s.governor, "performance");
}

TEST(ReadSnapshot, BearsAHostWithoutRdma) {
  Snapshot s = snapshot_of("no_rdma");
  EXPECT_THAT(s.rdma_devices, IsEmpty());
  ASSERT_EQ(s.netdevs.size(), 1u);
  EXPECT_EQ(s.netdevs[0].pci.links.at(0).address, "0000:00:03.0");  // above the virtio device
  EXPECT_THAT(s.modules, Contains(Pair("mlx5_core", "24.10-1.1.4")));
}

TEST(ReadSnapshot, BearsAnEmptyRoot) {
  Snapshot s = read_snapshot(Root(::testing::TempDir() + "railgauge_no_such_root"));
  EXPECT_EQ(s.hostname, "");
  EXPECT_EQ(s.cpu_model.reason, "absent");
  EXPECT_EQ(s.memory_bytes.reason, "absent");
  EXPECT_EQ(s.memlock_limit_bytes.reason, "absent");
  EXPECT_THAT(s.rdma_devices, IsEmpty());
  EXPECT_THAT(s.netdevs, IsEmpty());
}

TEST(ReadSnapshot, IsAFunctionOfTheTree) { EXPECT_EQ(snapshot_of("h100_ib"), snapshot_of("h100_ib")); }

TEST(ReadSnapshot, ReadsTheRunningHost) {
  Snapshot s = read_snapshot(Root());
  EXPECT_FALSE(s.kernel.empty());
  EXPECT_FALSE(s.machine.empty());
  EXPECT_TRUE(s.memory_bytes);
  EXPECT_TRUE(s.allowed_cpulist);
  EXPECT_GE(s.online_cpus.value.value_or(0), 1);
}

TEST(FindNetdevByAddress, ComparesTheWholeAddress) {
  Snapshot s = snapshot_of("a100_roce");
  ASSERT_NE(find_netdev_by_address(s, "10.8.3.21"), nullptr);
  EXPECT_EQ(find_netdev_by_address(s, "10.8.3.21")->name, "enp65s0f0np0.700");
  EXPECT_EQ(find_netdev_by_address(s, "10.8.3.2"), nullptr);
  EXPECT_EQ(find_port(*find_device(s, "mlx5_0"), 2), nullptr);
}

TEST(FindNetdevByAddress, ScopeTellsEqualLinkLocalAddressesApart) {
  Snapshot s;
  for (const char* name : {"eth4", "eth5"}) {
    Netdev netdev;
    netdev.name = name;
    netdev.addresses = {"fe80::21/64"};
    s.netdevs.push_back(netdev);
  }
  ASSERT_NE(find_netdev_by_address(s, "fe80::21%eth5"), nullptr);
  EXPECT_EQ(find_netdev_by_address(s, "fe80::21%eth5")->name, "eth5");
  EXPECT_EQ(find_netdev_by_address(s, "fe80::21%7")->name, "eth4");  // a number says nothing here: the first
  EXPECT_EQ(find_netdev_by_address(s, "fe80::22%eth5"), nullptr);
}

}  // namespace
}  // namespace railgauge::host
