#include "host/pci.h"

#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

TEST(ParseLinkSpeed, KnowsEveryTextForm) {
  // host-facts, section 2.2: "16.0 GT/s PCIe" (kernel ≥ 5.7), "16 GT/s", "8 GT/s"
  EXPECT_EQ(*parse_link_speed("16.0 GT/s PCIe"), 16.0);
  EXPECT_EQ(*parse_link_speed("16 GT/s"), 16.0);
  EXPECT_EQ(*parse_link_speed("2.5 GT/s PCIe"), 2.5);
  EXPECT_EQ(*parse_link_speed("64.0 GT/s PCIe"), 64.0);
  for (const char* text : {"Unknown", "Unknown speed", "", "16", "GT/s", "0 GT/s", "-8 GT/s", "16 GT/second"})
    EXPECT_FALSE(parse_link_speed(text)) << text;
  EXPECT_EQ(parse_link_speed("Unknown speed").reason, "\"Unknown speed\"");
}

TEST(ParseLinkWidth, TakesZeroAnd255AsUnknown) {
  EXPECT_EQ(*parse_link_width("16"), 16);
  EXPECT_EQ(*parse_link_width("1"), 1);
  for (const char* text : {"0", "255", "63", "-1", "x16", ""}) EXPECT_FALSE(parse_link_width(text)) << text;
}

/// 256 bytes with one capability of `id` at `at`.
std::string space_with(unsigned char id, unsigned char at, unsigned char next = 0) {
  std::string space(256, '\0');
  space[0x06] = 0x10;
  space[0x34] = static_cast<char>(at);
  space[at & 0xfc] = static_cast<char>(id);
  space[(at & 0xfc) + 1] = static_cast<char>(next);
  return space;
}

TEST(DecodePciConfig, DecodesDeviceControl) {
  std::string space = space_with(0x10, 0x62);  // the two low bits of a pointer are to be masked
  space[0x60 + 0x08] = 0x36;
  space[0x60 + 0x09] = 0x59;
  space[0x60 + 0x0c] = 0x05;
  space[0x60 + 0x0d] = 0x01;
  space[0x60 + 0x12] = static_cast<char>(0x84);
  PciConfig config = decode_pci_config(space);
  // host-facts, section 2.2: 0x5936 = MPS 256, MRRS 4096, relaxed ordering on; LnkCap 0x105 = 32 GT/s x16, LnkSta 0x84 = 16 GT/s x8
  EXPECT_EQ(*config.max_payload_bytes, 256);
  EXPECT_EQ(*config.max_read_request_bytes, 4096);
  EXPECT_TRUE(*config.relaxed_ordering);
  EXPECT_EQ(*config.max_gt_per_s, 32.0);
  EXPECT_EQ(*config.max_width, 16);
  EXPECT_EQ(*config.current_gt_per_s, 16.0);
  EXPECT_EQ(*config.current_width, 8);
}

TEST(DecodePciConfig, SaysReservedCodesAreUnknown) {
  std::string space = space_with(0x10, 0x60);
  space[0x60 + 0x08] = static_cast<char>(0xe0);  // MaxPayload code 7
  space[0x60 + 0x09] = 0x60;                     // MaxReadReq code 6
  PciConfig config = decode_pci_config(space);
  EXPECT_FALSE(config.max_payload_bytes);
  EXPECT_FALSE(config.max_read_request_bytes);
  EXPECT_FALSE(*config.relaxed_ordering);
  EXPECT_FALSE(config.current_gt_per_s);
  EXPECT_FALSE(config.current_width);
}

TEST(DecodePciConfig, TakesNothingFromThe64BytesOfAnUnprivilegedReader) {
  PciConfig config = decode_pci_config(space_with(0x10, 0x60).substr(0, 64));
  EXPECT_FALSE(config.max_read_request_bytes);
  EXPECT_EQ(config.max_read_request_bytes.reason, "unreadable beyond byte 64 (run as root)");
  EXPECT_FALSE(config.relaxed_ordering);
}

TEST(DecodePciConfig, EndsOnBrokenLists) {
  std::string loop = space_with(0x01, 0x40, 0x40);
  EXPECT_EQ(decode_pci_config(loop).max_payload_bytes.reason, "capability list without end");
  EXPECT_EQ(decode_pci_config(space_with(0x10, 0xf0)).max_payload_bytes.reason, "PCI Express capability cut off");
  EXPECT_EQ(decode_pci_config(space_with(0x10, 0x60).substr(0, 0x50)).max_payload_bytes.reason,
            "capability list leaves the configuration space");
  EXPECT_EQ(decode_pci_config(space_with(0x01, 0x40)).max_payload_bytes.reason, "no PCI Express capability");
  std::string none = space_with(0x10, 0x60);
  none[0x06] = 0;
  EXPECT_EQ(decode_pci_config(none).max_payload_bytes.reason, "no capability list");
  EXPECT_FALSE(decode_pci_config("").max_payload_bytes);
}

TEST(PciReader, WalksFromTheDeviceToTheRootPort) {
  Root root = tree("h100_ib");
  PciPlace place = PciReader(root).place_of("/sys/class/infiniband/mlx5_5/device");
  // the fourth device: bus 0x10 + 3 · 0x10 = 0x40
  ASSERT_EQ(place.path.links.size(), 4u);
  EXPECT_EQ(place.path.links[0].address, "0000:43:00.0");
  EXPECT_EQ(place.path.links[1].address, "0000:42:03.0");
  EXPECT_EQ(place.path.links[3].address, "0000:40:01.0");
  EXPECT_EQ(*place.path.links[3].current_gt_per_s, 32.0);
  EXPECT_EQ(*place.numa_node, 0);
  EXPECT_EQ(*place.local_cpulist, "0-47,96-143");
  EXPECT_EQ(*place.path.id, "15b3:1021");
}

TEST(PciReader, SeesADegradedLink) {
  Root root = tree("degraded_x8");
  PciPath path = PciReader(root).place_of("/sys/class/infiniband/mlx5_0/device").path;
  EXPECT_EQ(*path.links[0].current_gt_per_s, 16.0);
  EXPECT_EQ(*path.links[0].current_width, 8);
  EXPECT_EQ(*path.links[0].max_gt_per_s, 32.0);
  EXPECT_EQ(*path.links[0].max_width, 16);
  // 0x2826: MPS code 1 = 256, MRRS code 2 = 512, relaxed ordering bit 4 clear
  EXPECT_EQ(*path.max_payload_bytes, 256);
  EXPECT_EQ(*path.max_read_request_bytes, 512);
  EXPECT_FALSE(*path.relaxed_ordering);
}

TEST(PciReader, KnowsNothingOfAVirtualMachinesLink) {
  Root root = tree("vm_no_pci");
  PciPlace place = PciReader(root).place_of("/sys/class/infiniband/mlx5_1/device");
  ASSERT_EQ(place.path.links.size(), 1u);
  EXPECT_EQ(place.path.links[0].address, "d3f1:00:02.0");
  EXPECT_EQ(place.path.links[0].current_gt_per_s.reason, "\"Unknown\"");
  EXPECT_EQ(place.path.links[0].current_width.reason, "unknown (\"255\")");
  EXPECT_EQ(place.path.links[0].max_gt_per_s.reason, "\"Unknown speed\"");
  EXPECT_EQ(place.path.links[0].max_width.reason, "unknown (\"0\")");
  EXPECT_FALSE(place.numa_node);  // −1 is no node
  EXPECT_EQ(place.local_cpulist.reason, "absent");
}

TEST(PciReader, SaysWhatIsNoPciDevice) {
  Root root = tree("vm_no_pci");
  PciPlace place = PciReader(root).place_of("/sys/class/infiniband/mana_0/device");
  EXPECT_TRUE(place.path.links.empty());
  EXPECT_EQ(place.path.max_payload_bytes.reason, "not a PCI device");
  EXPECT_EQ(place.numa_node.reason, "not a PCI device");
}

TEST(PciReader, AsksTheRegistersWhereSysfsDoesNotKnow) {
  Root root = tree("a100_roce");
  PciPath path = PciReader(root).place_of("/sys/class/net/eno1/device").path;
  EXPECT_EQ(*path.links[0].current_gt_per_s, 8.0);  // LnkSta 0x23: code 3, x2
  EXPECT_EQ(*path.links[0].current_width, 2);
  EXPECT_EQ(*path.links[0].max_gt_per_s, 16.0);     // LnkCap 0x84: code 4, x8
  EXPECT_EQ(*path.links[0].max_width, 8);
}

TEST(PciReader, TakesAVirtualFunctionsLinkFromThePhysicalOne) {
  Root root = tree("vf_roce");
  PciPath path = PciReader(root).place_of("/sys/class/infiniband/mlx5_5/device").path;
  EXPECT_EQ(path.virtual_function, "0000:c1:00.3");
  ASSERT_EQ(path.links.size(), 2u);
  EXPECT_EQ(path.links[0].address, "0000:c1:00.0");
  EXPECT_EQ(*path.links[0].current_width, 8);
  EXPECT_EQ(*path.max_read_request_bytes, 1024);  // 0x3936: code 3
  EXPECT_EQ(*path.id, "15b3:101c");               // the VF's own
}

TEST(PciReader, ReadsCorrectableErrors) {
  Root root = tree("a100_roce");
  PciPath path = PciReader(root).place_of("/sys/class/infiniband/mlx5_0/device").path;
  EXPECT_EQ(path.aer_correctable.at("BadTLP"), 3u);
  EXPECT_EQ(path.aer_correctable.at("TOTAL_ERR_COR"), 7u);
}

TEST(PciReader, KeepsUnreadableFilesUnknown) {
  Root root = tree("restricted");
  PciReader reader(root);
  PciPath hfi = reader.place_of("/sys/class/infiniband/hfi1_0/device").path;
  EXPECT_EQ(hfi.links[0].current_gt_per_s.reason, "EISDIR (Is a directory)");
  EXPECT_EQ(hfi.links[0].current_width.reason, "absent");
  EXPECT_EQ(hfi.max_payload_bytes.reason, "EISDIR (Is a directory)");
  PciPath mlx4 = reader.place_of("/sys/class/infiniband/mlx4_0/device").path;
  EXPECT_EQ(*mlx4.links[0].current_gt_per_s, 8.0);
  EXPECT_EQ(*mlx4.links[1].max_width, 8);  // a root port wider than its card
  EXPECT_EQ(mlx4.max_payload_bytes.reason, "unreadable beyond byte 64 (run as root)");
  EXPECT_TRUE(mlx4.aer_correctable.empty());
}

}  // namespace
}  // namespace railgauge::host
