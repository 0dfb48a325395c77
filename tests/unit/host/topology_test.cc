#include "host/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/host/built_tree.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Chain = std::vector<std::string>;

/// Relation of a GPU and a NIC that lie at the ends of two paths, each from the host bridge down.
class Relation : public ::testing::Test {
 protected:
  PciRelation between(const Chain& gpu, const Chain& nic) { return between_directories(tree_.function(gpu, gpu_node_), tree_.function(nic, nic_node_)); }
  PciRelation between_directories(const std::string& gpu, const std::string& nic) {
    const Root root = tree_.root();
    PciReader reader(root);
    return relation_of(root, {{"GPU", reader.place_of(gpu)}, {"mlx5_4", reader.place_of(nic)}, virtual_machine_});
  }
  BuiltTree tree_;
  int gpu_node_ = 1;
  int nic_node_ = 1;
  bool virtual_machine_ = false;
};

// Classes: legend of `nvidia-smi topo -m`. Two devices below one switch: its upstream port 3a:00.0, a downstream port for each.
TEST_F(Relation, IsPixBelowOneSwitch) {
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0"},
                                {"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"});
  EXPECT_EQ(r.distance, Distance::pix);
  EXPECT_EQ(r.meet_at, "0000:3a:00.0");
  EXPECT_THAT(r.first_bridges, ElementsAre("0000:3b:04.0"));
  EXPECT_THAT(r.second_bridges, ElementsAre("0000:3b:08.0"));
  EXPECT_EQ(r.why, "GPU and mlx5_4 sit below one switch, 0000:3a:00.0");
}

// A second switch below the first on the GPU's side: ports 3e:00.0 (up) and 3f:10.0 (down) more.
TEST_F(Relation, IsPxbWithASecondSwitchOnOneSide) {
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3e:00.0", "0000:3f:10.0", "0000:40:00.0"},
                                {"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"});
  EXPECT_EQ(r.distance, Distance::pxb);
  EXPECT_EQ(r.meet_at, "0000:3a:00.0");
  EXPECT_THAT(r.first_bridges, ElementsAre("0000:3f:10.0", "0000:3e:00.0", "0000:3b:04.0"));
  EXPECT_THAT(r.second_bridges, ElementsAre("0000:3b:08.0"));
  EXPECT_EQ(r.why, "GPU and mlx5_4 have several switches between them, and meet at 0000:3a:00.0");
}

TEST_F(Relation, IsPxbWithASecondSwitchOnTheOtherSide) {
  EXPECT_EQ(between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"},
                    {"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3e:00.0", "0000:3f:10.0", "0000:40:00.0"})
                .distance,
            Distance::pxb);
}

TEST_F(Relation, IsPhbBelowTwoRootPortsOfOneHostBridge) {
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}, {"pci0000:39", "0000:39:03.0", "0000:5b:00.0"});
  EXPECT_EQ(r.distance, Distance::phb);
  EXPECT_EQ(r.meet_at, "pci0000:39");
  EXPECT_THAT(r.first_bridges, ElementsAre("0000:39:01.0"));
  EXPECT_THAT(r.why, HasSubstr("only at the host bridge pci0000:39"));
}

TEST_F(Relation, IsNodeBetweenHostBridgesOfOneNumaNode) {
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}, {"pci0000:5d", "0000:5d:01.0", "0000:5e:00.0"});
  EXPECT_EQ(r.distance, Distance::node);
  EXPECT_EQ(r.meet_at, std::nullopt);
  EXPECT_EQ(r.why, "GPU and mlx5_4 hang from two host bridges, pci0000:39 and pci0000:5d, of NUMA node 1");
}

TEST_F(Relation, IsSysBetweenNumaNodes) {
  nic_node_ = 3;
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}, {"pci0000:d7", "0000:d7:01.0", "0000:d8:00.0"});
  EXPECT_EQ(r.distance, Distance::sys);
  EXPECT_THAT(r.why, HasSubstr("pci0000:39 and pci0000:d7, of NUMA nodes 1 and 3"));
}

// verbs-facts 6.2: numa_node may be -1, then NODE and SYS cannot be told apart.
TEST_F(Relation, IsUnknownBetweenHostBridgesWithoutNumaNode) {
  nic_node_ = -1;
  const PciRelation r = between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}, {"pci0000:d7", "0000:d7:01.0", "0000:d8:00.0"});
  EXPECT_EQ(r.distance, Distance::unknown);
  EXPECT_THAT(r.why, HasSubstr("the NUMA node of mlx5_4 is unknown: -1"));
}

TEST_F(Relation, DoesNotNeedTheNumaNodeBelowOneHostBridge) {
  gpu_node_ = nic_node_ = -1;
  EXPECT_EQ(between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}, {"pci0000:39", "0000:39:03.0", "0000:5b:00.0"}).distance, Distance::phb);
}

TEST_F(Relation, IsLocForFunctionsOfOneCardAndTheirVirtualFunctions) {
  const std::string gpu = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"});
  EXPECT_EQ(between_directories(gpu, tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.1"})).distance, Distance::loc);
  // A virtual function has another device number, even another bus.
  const std::string virtual_function = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3b:02.5"});
  tree_.link(virtual_function + "/physfn", gpu);
  const PciRelation r = between_directories(gpu, virtual_function);
  EXPECT_EQ(r.distance, Distance::loc);
  EXPECT_EQ(r.why, "GPU and mlx5_4 are functions of one device");
}

TEST_F(Relation, IsThatOfThePhysicalFunctionForAVirtualOne) {
  const std::string gpu = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0"});
  const std::string physical = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"});
  const std::string virtual_function = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:01.2"});
  tree_.link(virtual_function + "/physfn", physical);
  EXPECT_EQ(between_directories(gpu, virtual_function).distance, Distance::pix);
}

TEST_F(Relation, IsUnknownForASoftwareDevice) {
  tree_.file("/sys/devices/virtual/infiniband/rxe0/parent", "eth4");
  tree_.link("/sys/class/infiniband/rxe0", "/sys/devices/virtual/infiniband/rxe0");
  const PciRelation r = between_directories(tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0"}), "/sys/class/infiniband/rxe0/device");
  EXPECT_EQ(r.distance, Distance::unknown);
  EXPECT_EQ(r.why, "mlx5_4 is not a PCI device");
}

// Volume Management Device: its own domain and host bridge below a function of another one.
TEST_F(Relation, TakesTheInnermostHostBridge) {
  const Chain vmd = {"pci0000:80", "0000:80:00.5", "pci10001:80", "10001:80:02.0"};
  const PciRelation r = between({vmd[0], vmd[1], vmd[2], vmd[3], "10001:81:00.0"}, {vmd[0], vmd[1], vmd[2], "10001:80:04.0", "10001:82:00.0"});
  EXPECT_EQ(r.meet_at, "pci10001:80");
  EXPECT_EQ(r.distance, Distance::phb);
}

/// Two levels of switches: 3a:00.0 above 3c:00.0 (GPU's side) and 3d:00.0 (NIC's side).
class TwoLevels : public Relation {
 protected:
  void mark(const std::string& bridge, const std::string& device, const std::string& subsystem, const std::string& maker = "0x1000") {
    const std::string directory = "/sys/bus/pci/devices/" + bridge;
    tree_.file(directory + "/vendor", "0x1000");
    tree_.file(directory + "/device", device);
    tree_.file(directory + "/subsystem_vendor", maker);
    tree_.file(directory + "/subsystem_device", subsystem);
  }
  PciRelation relation() { return between_directories(gpu_, nic_); }
  std::string gpu_ = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0", "0000:3e:00.0", "0000:3f:00.0"});
  std::string nic_ = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0", "0000:40:00.0", "0000:41:00.0"});
};

// NCCL src/graph/topo.cc: generation 4 is 1000:c010 with subsystem 1000:aXXX on both levels, generation 5 is 1000:c030 with
// subsystem 1000:0XXX above and 1000:1XXX below.
TEST_F(TwoLevels, OfOneBroadcomSwitchAreOne) {
  for (const char* bridge : {"0000:3a:00.0", "0000:3c:00.0", "0000:3d:00.0"}) mark(bridge, "0xc010", "0xa096");
  const PciRelation r = relation();
  EXPECT_EQ(r.distance, Distance::pix);
  EXPECT_EQ(r.why, "GPU and mlx5_4 sit below one switch, 0000:3a:00.0, which shows two levels");
  EXPECT_THAT(r.first_bridges, ElementsAre("0000:3e:00.0", "0000:3c:00.0", "0000:3b:04.0"));  // they are there all the same
}

TEST_F(TwoLevels, OfOneGeneration5SwitchAreOne) {
  mark("0000:3a:00.0", "0xc030", "0x0037");
  mark("0000:3c:00.0", "0xc030", "0x1037");
  mark("0000:3d:00.0", "0xc030", "0x1037");
  EXPECT_EQ(relation().distance, Distance::pix);
}

TEST_F(TwoLevels, OfDifferentSwitchesStaySeveral) {
  EXPECT_EQ(relation().distance, Distance::pxb);
  mark("0000:3a:00.0", "0xc030", "0x0037");
  mark("0000:3c:00.0", "0xc010", "0xa037");
  mark("0000:3d:00.0", "0xc030", "0x1037");
  EXPECT_EQ(relation().distance, Distance::pxb);
}

TEST_F(TwoLevels, OfASwitchInAnotherModeStaySeveral) {
  for (const char* bridge : {"0000:3a:00.0", "0000:3c:00.0", "0000:3d:00.0"}) mark(bridge, "0xc010", "0xb096");
  EXPECT_EQ(relation().distance, Distance::pxb);
  for (const char* bridge : {"0000:3a:00.0", "0000:3c:00.0", "0000:3d:00.0"}) mark(bridge, "0xc010", "0xa096", "0x1028");
  EXPECT_EQ(relation().distance, Distance::pxb);
}

// Two levels are one switch, a third below them is another.
TEST_F(TwoLevels, AreNotThree) {
  gpu_ = tree_.function({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0", "0000:3e:00.0", "0000:43:00.0", "0000:44:00.0", "0000:45:00.0"});
  for (const char* bridge : {"0000:3a:00.0", "0000:3c:00.0", "0000:3d:00.0", "0000:43:00.0"}) mark(bridge, "0xc010", "0xa096");
  EXPECT_EQ(relation().distance, Distance::pxb);
}

// A hypervisor's usual tree: each device on the root bus or below a root port of its own.
TEST_F(Relation, IsUnknownInTheFlatTreeOfAVirtualMachine) {
  virtual_machine_ = true;
  const PciRelation own_ports = between({"pci0000:00", "0000:00:02.4", "0000:05:00.0"}, {"pci0000:00", "0000:00:02.6", "0000:07:00.0"});
  EXPECT_EQ(own_ports.distance, Distance::unknown);
  EXPECT_THAT(own_ports.why, HasSubstr("the virtual machine shows GPU and mlx5_4 without the switches above them"));
  EXPECT_EQ(between({"pci0000:00", "0000:00:1e.0"}, {"pci0000:00", "0000:00:1d.0"}).distance, Distance::unknown);
  EXPECT_EQ(between({"pci9a31:00", "9a31:00:00.0"}, {"pci0101:00", "0101:00:02.0"}).distance, Distance::unknown);  // a domain each
  EXPECT_EQ(between({"pci0000:00", "0000:00:03.0", "0000:0a:01.0"}, {"pci0000:00", "0000:00:03.0", "0000:0a:02.0"}).distance, Distance::unknown);
}

TEST_F(Relation, IsBelievedInAVirtualMachineThatShowsSwitches) {
  virtual_machine_ = true;
  EXPECT_EQ(between({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0"},
                    {"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"})
                .distance,
            Distance::pix);
  EXPECT_EQ(between({"pci0000:50", "0000:50:01.0", "0000:51:00.0", "0000:52:04.0", "0000:53:00.0"},
                    {"pci0000:50", "0000:50:02.0", "0000:61:00.0", "0000:62:08.0", "0000:63:00.0"})
                .distance,
            Distance::phb);
}

TEST(GpuDirectFit, FollowsTheTable) {
  // verbs-facts 6.1: PIX and PXB yes, PHB works, NODE as PHB or worse, SYS avoid.
  EXPECT_EQ(gpudirect_fit(Distance::loc), GpuDirectFit::good);
  EXPECT_EQ(gpudirect_fit(Distance::pix), GpuDirectFit::good);
  EXPECT_EQ(gpudirect_fit(Distance::pxb), GpuDirectFit::good);
  EXPECT_EQ(gpudirect_fit(Distance::phb), GpuDirectFit::works);
  EXPECT_EQ(gpudirect_fit(Distance::node), GpuDirectFit::avoid);
  EXPECT_EQ(gpudirect_fit(Distance::sys), GpuDirectFit::avoid);
  EXPECT_EQ(gpudirect_fit(Distance::unknown), GpuDirectFit::unknown);
  EXPECT_THAT(text_of(GpuDirectFit::works), HasSubstr("depends on the CPU"));
}

Gpu gpu_at(const std::string& address, Distance distance, std::optional<int> numa_node = 0) {
  Gpu gpu;
  gpu.address = address;
  gpu.vendor = "NVIDIA";
  gpu.numa_node = numa_node ? Fact<int>::of(*numa_node) : Fact<int>::missing("-1");
  gpu.nics = {{"mlx5_3", Distance::sys, std::nullopt, "far"}, {"mlx5_7", distance, std::nullopt, "because"}};
  return gpu;
}

Snapshot host_with(std::vector<Gpu> gpus) {
  Snapshot snapshot;
  snapshot.hostname = "node-5";
  for (const char* name : {"mlx5_3", "mlx5_7"}) {
    snapshot.rdma_devices.emplace_back().name = name;
    snapshot.rdma_devices.back().numa_node = Fact<int>::of(1);
  }
  snapshot.gpus = std::move(gpus);
  return snapshot;
}

TEST(NearestGpu, TakesTheNearestOfThatDevice) {
  const Snapshot s = host_with({gpu_at("0000:1b:00.0", Distance::node), gpu_at("0000:9a:00.0", Distance::pxb), gpu_at("0000:ba:00.0", Distance::phb)});
  const GpuChoice choice = nearest_gpu(s, "mlx5_7");
  EXPECT_EQ(choice.address, "0000:9a:00.0");
  EXPECT_EQ(choice.distance, Distance::pxb);
  EXPECT_EQ(choice.reason, "GPU 0000:9a:00.0: the nearest of 3 GPUs, PXB: because");
  EXPECT_EQ(nearest_gpu(s, "mlx5_3").address, "0000:1b:00.0");  // SYS to all three
}

TEST(NearestGpu, EndsTiesWithTheLowestAddress) {
  const Snapshot s = host_with({gpu_at("10000:01:00.0", Distance::pix), gpu_at("0000:c1:00.0", Distance::pix), gpu_at("0000:9a:00.0", Distance::pix)});
  EXPECT_EQ(nearest_gpu(s, "mlx5_7").address, "0000:9a:00.0");
  EXPECT_THAT(nearest_gpu(s, "mlx5_7").reason, HasSubstr("the first of the 3 nearest of 3 GPUs, PIX"));
  const Snapshot long_domain = host_with({gpu_at("10000:01:00.0", Distance::pix), gpu_at("f000:c1:00.0", Distance::pix)});
  EXPECT_EQ(nearest_gpu(long_domain, "mlx5_7").address, "f000:c1:00.0");
}

TEST(NearestGpu, LooksAtNumaNodesOnlyWithoutDistance) {
  const Snapshot s = host_with({gpu_at("0000:9a:00.0", Distance::sys, 1), gpu_at("0000:1b:00.0", Distance::sys, 0)});
  EXPECT_EQ(nearest_gpu(s, "mlx5_7").address, "0000:1b:00.0");
}

TEST(NearestGpu, PrefersTheNumaNodeWhereNoDistanceIsKnown) {
  const Snapshot s = host_with({gpu_at("0000:1b:00.0", Distance::unknown, 0), gpu_at("0000:9a:00.0", Distance::unknown, 1), gpu_at("0000:ba:00.0", Distance::unknown, {})});
  EXPECT_EQ(nearest_gpu(s, "mlx5_7").address, "0000:9a:00.0");
  EXPECT_EQ(nearest_gpu(s, "mlx5_7").reason, "GPU 0000:9a:00.0: the first of its NUMA node, of 3 GPUs whose distance to mlx5_7 is unknown: because");
  EXPECT_EQ(nearest_gpu(host_with({gpu_at("0000:1b:00.0", Distance::unknown, 1), gpu_at("0000:9a:00.0", Distance::sys)}), "mlx5_7").address, "0000:9a:00.0");
}

TEST(NearestGpu, SaysWhenThereIsNone) {
  Snapshot s = host_with({});
  auto message = [&](const char* device) -> std::string {
    try {
      nearest_gpu(s, device);
    } catch (const Error& e) {
      return std::string(e.kind() == ErrorKind::unsupported ? "unsupported: " : "usage: ") + e.what();
    }
    return "nothing thrown";
  };
  EXPECT_EQ(message("mlx5_9"), "usage: no RDMA device mlx5_9 on node-5");
  EXPECT_EQ(message("mlx5_7"), "unsupported: no NVIDIA GPU is present on node-5 (/sys/bus/pci/devices shows no GPU)");
  s.gpus = {gpu_at("0000:1b:00.0", Distance::pix)};
  s.gpus.front().vendor = "AMD";
  EXPECT_THAT(message("mlx5_7"), HasSubstr("GPUs of another vendor only"));
}

TEST(PciAddressOf, TakesEveryForm) {
  EXPECT_EQ(pci_address_of("00000000:3B:00.0"), "0000:3b:00.0");  // NVML, verbs-facts 6.2
  EXPECT_EQ(pci_address_of("0000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pci_address_of("3b:00.1"), "0000:3b:00.1");
  EXPECT_EQ(pci_address_of("00010000:E1:0a.7"), "10000:e1:0a.7");
  EXPECT_EQ(pci_address_of("0009A31F:00:00.0"), "9a31f:00:00.0");
  for (const char* text : {"", "3b:00", "0000:3b:00", "GPU0", "0000:3b:00.0 ", "0000:3g:00.0", "000:3b:00.0", "3b00.0", "0"})
    EXPECT_EQ(pci_address_of(text), std::nullopt) << text;
}

}  // namespace
}  // namespace railgauge::host
