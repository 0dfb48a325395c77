#include "host/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/snapshot.h"
#include "host/topology.h"
#include "unit/host/built_tree.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The address part of an A100's and an H100's configuration space: the A100 has a 32-bit BAR0 and BAR1 in slots 1 and 2, the H100
// a 64-bit BAR0 in slots 0 and 1 and BAR1 in slots 2 and 3 (a published hexadecimal dump of an H100 reads 0200000c 38c0, 0000000c
// 38a0, 0000000c 38c0 from offset 0x10). Sizes are end - start + 1 by hand.
constexpr const char* kAmpereResource =
    "0x00000000b4000000 0x00000000b4ffffff 0x0000000000040200\n"
    "0x0000380000000000 0x0000381fffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000382000000000 0x0000382001ffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
constexpr const char* kHopperResource =
    "0x000038c002000000 0x000038c002ffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x000038a000000000 0x000038bfffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x000038c000000000 0x000038c001ffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";

TEST(ParseBar1, IsTheSecondMemoryRegionWhateverItsSlot) {
  EXPECT_EQ(*parse_bar1_bytes(kAmpereResource), 137438953472u);  // 128 GiB = 2^37
  EXPECT_EQ(*parse_bar1_bytes(kHopperResource), 137438953472u);
  // A small card: 256 MiB, and its I/O ports (0x101) before the expansion ROM.
  EXPECT_EQ(*parse_bar1_bytes("0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
                              "0x00000000e0000000 0x00000000efffffff 0x000000000014220c\n"),
            268435456u);
}

TEST(ParseBar1, IsMissingWithoutASecondRegion) {
  // The kernel found no room for BAR1: slot 1 is zero, and what follows the six slots (the ROM) is none of them.
  const std::string zero = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  const std::string regs = "0x00000000b4000000 0x00000000b4ffffff 0x0000000000040200\n";
  const std::string io = "0x0000000000003000 0x000000000000307f 0x0000000000040101\n";
  const std::string rom = "0x00000000b5000000 0x00000000b507ffff 0x0000000000046200\n";
  EXPECT_EQ(parse_bar1_bytes(regs + zero + zero + zero + zero + io + rom).reason, "the kernel gave the GPU 1 memory regions, BAR1 would be the second");
  // A region without address (IORESOURCE_UNSET) keeps its size, and the driver does not count it (NV_PCI_RESOURCE_VALID).
  EXPECT_FALSE(parse_bar1_bytes(regs + "0x0000000000000000 0x0000001fffffffff 0x000000002014220c\n"));
  EXPECT_FALSE(parse_bar1_bytes(""));
  EXPECT_EQ(parse_bar1_bytes(regs + "0x0 what 0x200").reason, "\"0x0 what 0x200\" is no region");
}

TEST(ParseNvidiaVersion, KnowsOpenAndProprietaryModules) {
  const NvidiaDriver open = parse_nvidia_version(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@host)  Thu Jan 23 2025\nGCC version:  gcc version 12.3.0\n");
  EXPECT_EQ(*open.version, "570.86.15");
  EXPECT_TRUE(*open.open_kernel_modules);
  const NvidiaDriver closed = parse_nvidia_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n");
  EXPECT_EQ(*closed.version, "550.90.07");
  EXPECT_FALSE(*closed.open_kernel_modules);
  const NvidiaDriver other = parse_nvidia_version("something else\n");
  EXPECT_EQ(other.version.reason, "not in \"something else\"");
  EXPECT_FALSE(other.open_kernel_modules);
}

/// Two NVIDIA GPUs below two host bridges, a NIC beside the first, and functions that are no GPUs.
class Host : public ::testing::Test {
 protected:
  Host() {
    const std::string gpu = pci({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:04.0", "0000:3c:00.0"}, 1, "0x10de", "0x2330", "0x030200");
    links(gpu, "2.5 GT/s PCIe", "32.0 GT/s PCIe");
    tree_.file(gpu + "/resource", kHopperResource);
    tree_.file(gpu + "/local_cpulist", "48-95");
    tree_.link(gpu + "/driver", "/sys/bus/pci/drivers/nvidia");
    tree_.file("/sys/bus/pci/drivers/nvidia/bind", "");
    tree_.link(gpu + "/iommu_group", "/sys/kernel/iommu_groups/37");
    tree_.file("/sys/kernel/iommu_groups/37/type", "DMA-FQ");
    tree_.file("/proc/driver/nvidia/gpus/0000:3c:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 310");
    pci({"pci0000:15", "0000:15:01.0", "0000:16:00.0"}, 0, "0x10de", "0x26b9", "0x030000");
    pci({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:0c.0", "0000:3e:00.0"}, 1, "0x10de", "0x22a3", "0x068000");  // NVSwitch
    pci({"pci0000:15", "0000:15:01.0", "0000:16:00.1"}, 0, "0x10de", "0x22ba", "0x040300");                                 // its sound
    const std::string virtual_function = pci({"pci0000:15", "0000:15:01.0", "0000:16:00.4"}, 0, "0x10de", "0x26b9", "0x030200");
    tree_.link(virtual_function + "/physfn", "/sys/bus/pci/devices/0000:16:00.0");
    tree_.rdma("mlx5_3", pci({"pci0000:39", "0000:39:01.0", "0000:3a:00.0", "0000:3b:08.0", "0000:3d:00.0"}, 1, "0x15b3", "0x1021", "0x020700"));
  }
  std::string pci(const std::vector<std::string>& chain, int node, const char* vendor, const char* device, const char* kind) {
    std::string directory = tree_.function(chain, node);
    tree_.file(directory + "/vendor", vendor);
    tree_.file(directory + "/device", device);
    tree_.file(directory + "/class", kind);
    return directory;
  }
  void links(const std::string& directory, const char* current, const char* max) {
    tree_.file(directory + "/current_link_speed", current);
    tree_.file(directory + "/max_link_speed", max);
    tree_.file(directory + "/current_link_width", "16");
    tree_.file(directory + "/max_link_width", "16");
  }
  BuiltTree tree_;
};

TEST_F(Host, ShowsItsGpus) {
  const Snapshot s = read_snapshot(tree_.root());
  ASSERT_EQ(s.gpus.size(), 2u);
  EXPECT_EQ(s.gpus[0].address, "0000:16:00.0");
  const Gpu& gpu = s.gpus[1];
  EXPECT_EQ(gpu.address, "0000:3c:00.0");
  EXPECT_EQ(gpu.vendor, "NVIDIA");
  EXPECT_EQ(*gpu.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(*gpu.driver, "nvidia");
  EXPECT_EQ(*gpu.numa_node, 1);
  EXPECT_EQ(*gpu.local_cpulist, "48-95");
  EXPECT_EQ(*gpu.bar1_bytes, 137438953472u);
  EXPECT_EQ(*gpu.iommu_type, "DMA-FQ");
  EXPECT_EQ(*gpu.pci.id, "10de:2330");
  ASSERT_EQ(gpu.pci.links.size(), 4u);
  EXPECT_EQ(*gpu.pci.links[0].current_gt_per_s, 2.5);
  EXPECT_EQ(*gpu.pci.links[0].max_gt_per_s, 32);
  EXPECT_EQ(gpu.pci.links[3].address, "0000:39:01.0");
}

TEST_F(Host, SaysWhatItDoesNotKnowOfAGpu) {
  const Gpu gpu = read_snapshot(tree_.root()).gpus.at(0);
  EXPECT_EQ(gpu.model.reason, "absent");
  EXPECT_EQ(gpu.driver.reason, "no driver is bound");
  EXPECT_EQ(gpu.bar1_bytes.reason, "absent");
  EXPECT_EQ(gpu.iommu_type.reason, "no IOMMU group");
}

TEST_F(Host, HoldsTheDistanceOfEachGpuToEachNic) {
  tree_.file("/sys/devices/virtual/infiniband/rxe0/parent", "eth4");
  tree_.link("/sys/class/infiniband/rxe0", "/sys/devices/virtual/infiniband/rxe0");
  const Snapshot s = read_snapshot(tree_.root());
  ASSERT_EQ(s.gpus.at(1).nics.size(), 2u);
  EXPECT_EQ(s.gpus[1].nics[0], (NicDistance{"mlx5_3", Distance::pix, "0000:3a:00.0", "GPU 0000:3c:00.0 and mlx5_3 0000:3d:00.0 sit below one switch, 0000:3a:00.0"}));
  EXPECT_EQ(s.gpus[1].nics[1], (NicDistance{"rxe0", Distance::unknown, std::nullopt, "rxe0 is not a PCI device"}));
  EXPECT_EQ(s.gpus[0].nics.at(0).distance, Distance::sys);
  EXPECT_EQ(nearest_gpu(s, "mlx5_3").address, "0000:3c:00.0");
}

TEST_F(Host, BelievesNoFlatTreeOfAVirtualMachine) {
  tree_.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
  tree_.rdma("mlx5_8", pci({"pci0000:15", "0000:15:02.0", "0000:17:00.0"}, 0, "0x15b3", "0x101e", "0x020000"));
  const Snapshot s = read_snapshot(tree_.root());
  ASSERT_TRUE(s.virtual_machine);
  EXPECT_EQ(s.gpus.at(0).nics.at(1).device, "mlx5_8");
  EXPECT_EQ(s.gpus[0].nics[1].distance, Distance::unknown);
  EXPECT_EQ(s.gpus[1].nics[0].distance, Distance::pix);  // the hypervisor shows that switch
}

TEST(ReadGpus, KnowsAmdsFromNvidias) {
  BuiltTree tree;
  for (const auto& [address, kind] : {std::pair("0000:06:00.0", "0x120000"), std::pair("0000:09:00.0", "0x038000"), std::pair("0000:0a:00.0", "0x060400")}) {
    const std::string directory = tree.function({"pci0000:00", "0000:00:01.1", address}, 0);
    tree.file(directory + "/vendor", "0x1002");
    tree.file(directory + "/device", "0x740f");
    tree.file(directory + "/class", kind);
  }
  const Snapshot s = read_snapshot(tree.root());
  ASSERT_EQ(s.gpus.size(), 2u);
  for (const Gpu& gpu : s.gpus) EXPECT_EQ(gpu.vendor, "AMD");
  EXPECT_EQ(s.gpus[1].bar1_bytes.reason, "which region it is, is only known of NVIDIA's");
}

TEST(ReadGpus, SortsLongDomainsLast) {
  BuiltTree tree;
  for (const char* domain : {"10000", "f000"}) {
    const std::string bus = std::string(domain) + ":06:00.0";
    const std::string directory = tree.function({std::string("pci") + domain + ":00", std::string(domain) + ":00:01.1", bus});
    tree.file(directory + "/vendor", "0x10de");
    tree.file(directory + "/class", "0x030200");
  }
  const Snapshot s = read_snapshot(tree.root());
  ASSERT_EQ(s.gpus.size(), 2u);
  EXPECT_EQ(s.gpus[0].address, "f000:06:00.0");
}

TEST(ReadGpus, InventsNothing) {
  BuiltTree tree;
  tree.file(tree.function({"pci0000:00", "0000:00:01.1", "0000:06:00.0"}) + "/vendor", "0x15b3");
  const Snapshot s = read_snapshot(tree.root());
  EXPECT_THAT(s.gpus, IsEmpty());
  EXPECT_EQ(s.gpudirect.driver_version.reason, "absent");
  EXPECT_EQ(s.gpudirect.open_kernel_modules.reason, "absent");
  EXPECT_FALSE(s.gpudirect.peermem_loaded);
  EXPECT_FALSE(s.gpudirect.memory_peers);
  EXPECT_EQ(s.gpudirect.nv_mem_nc_version.reason, "absent");
  EXPECT_EQ(peermem_doubt(s.gpudirect), "");
}

TEST(ReadGpudirect, ReadsDriverAndClients) {
  BuiltTree tree;
  tree.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build");
  tree.file("/sys/module/nvidia_peermem/version", "570.86.15");
  tree.file("/sys/kernel/mm/memory_peers/nv_mem/version", "570.86.16");
  tree.file("/sys/kernel/mm/memory_peers/nv_mem_nc/version", "570.86.17");
  const GpuDirectFacts facts = read_gpudirect(tree.root());
  EXPECT_EQ(*facts.driver_version, "570.86.15");
  EXPECT_TRUE(*facts.open_kernel_modules);
  EXPECT_TRUE(facts.peermem_loaded);
  EXPECT_EQ(*facts.peermem_version, "570.86.15");
  EXPECT_TRUE(facts.memory_peers);
  EXPECT_EQ(*facts.nv_mem_version, "570.86.16");
  EXPECT_EQ(*facts.nv_mem_nc_version, "570.86.17");
  EXPECT_EQ(peermem_doubt(facts), "");
}

// Field case F17: the module is loaded, /sys/kernel/mm/memory_peers is absent.
TEST(PeermemDoubt, KnowsLoadedFromRegistered) {
  BuiltTree tree;
  tree.file("/sys/module/nvidia_peermem/version", "550.90.07");
  EXPECT_THAT(peermem_doubt(read_gpudirect(tree.root())), HasSubstr("not registered with the RDMA stack (/sys/kernel/mm/memory_peers is absent)"));
  tree.file("/sys/kernel/mm/memory_peers/other/version", "3");
  EXPECT_THAT(peermem_doubt(read_gpudirect(tree.root())), HasSubstr("/sys/kernel/mm/memory_peers has no client nv_mem"));
  tree.file("/sys/kernel/mm/memory_peers/nv_mem/version", "1.3");
  EXPECT_EQ(peermem_doubt(read_gpudirect(tree.root())), "");
}

}  // namespace
}  // namespace railgauge::host
