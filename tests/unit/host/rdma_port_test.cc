#include "host/rdma_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseRate, ReadsNumberWidthAndWord) {
  PortRate ndr = parse_rate("400 Gb/sec (4X NDR)").value();
  EXPECT_EQ(ndr.gbit_per_s, 400);
  EXPECT_EQ(ndr.width, 4);
  EXPECT_EQ(ndr.speed, "NDR");
  PortRate half = parse_rate("200 Gb/sec (2X NDR)").value();
  EXPECT_EQ(half.width, 2);
  EXPECT_EQ(parse_rate("10 Gb/sec (1X FDR10)").value().speed, "FDR10");
  EXPECT_EQ(parse_rate("600 Gb/sec (12X HDR)").value().width, 12);
}

TEST(ParseRate, KeepsTheFraction) { EXPECT_EQ(parse_rate("2.5 Gb/sec (1X SDR)").value().gbit_per_s, 2.5); }

TEST(ParseRate, LeavesOutWhatIsNotPrinted) {
  PortRate bare = parse_rate("14 Gb/sec").value();
  EXPECT_EQ(bare.gbit_per_s, 14);
  EXPECT_EQ(bare.width, std::nullopt);
  PortRate nameless = parse_rate("25 Gb/sec (1X)").value();
  EXPECT_EQ(nameless.gbit_per_s, 25);
  EXPECT_EQ(nameless.speed, std::nullopt);
}

TEST(ParseRate, RefusesOtherText) {
  for (const char* text : {"", "Unknown", "400", "400 Gbps", "-1 Gb/sec", "0 Gb/sec (4X NDR)"}) EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(ParsePhysicalState, BelievesTheNumber) {
  EXPECT_EQ(*parse_physical_state("5: LinkUp").word, "LinkUp");
  EXPECT_EQ(*parse_physical_state("7: Phy Test").word, "Phy Test");
  EXPECT_FALSE(parse_physical_state("5: LinkUp").warning);
  NumberedWord odd = parse_physical_state("4: ACTIVE");
  EXPECT_EQ(*odd.word, "PortConfigurationTraining");
  EXPECT_THAT(odd.warning.value(), HasSubstr("\"4: ACTIVE\""));
  EXPECT_FALSE(parse_physical_state("9: <unknown>").word);
  EXPECT_FALSE(parse_physical_state("LinkUp").word);
}

TEST(ParsePortState, KnowsAllSix) {
  EXPECT_EQ(*parse_port_state("0: NOP").word, "NOP");
  EXPECT_EQ(*parse_port_state("1: DOWN").word, "DOWN");
  EXPECT_EQ(*parse_port_state("2: INIT").word, "INIT");
  EXPECT_EQ(*parse_port_state("3: ARMED").word, "ARMED");
  EXPECT_EQ(*parse_port_state("4: ACTIVE").word, "ACTIVE");
  EXPECT_EQ(*parse_port_state("5: ACTIVE_DEFER").word, "ACTIVE_DEFER");
  EXPECT_FALSE(parse_port_state("6: ?").word);
}

TEST(IsEmptyGid, KnowsBothForms) {
  EXPECT_TRUE(is_empty_gid("0000:0000:0000:0000:0000:0000:0000:0000"));
  EXPECT_TRUE(is_empty_gid("fe80:0000:0000:0000:0000:0000:0000:0000"));
  EXPECT_FALSE(is_empty_gid("fe80:0000:0000:0000:a088:c2ff:fe12:3456"));
  EXPECT_FALSE(is_empty_gid("0000:0000:0000:0000:0000:ffff:c0a8:0a64"));
}

TEST(IpOfGid, MapsIpv4) {
  EXPECT_EQ(ip_of_gid("0000:0000:0000:0000:0000:ffff:c0a8:0a64"), "192.168.10.100");  // host-facts, section 2.1
  EXPECT_EQ(ip_of_gid("fe80:0000:0000:0000:a088:c2ff:fe12:3456"), "fe80::a088:c2ff:fe12:3456");
  EXPECT_EQ(ip_of_gid("fd00:0000:0000:0007:0000:0000:0000:0012"), "fd00:0:0:7::12");
  EXPECT_EQ(ip_of_gid("fe80::1"), std::nullopt);
  EXPECT_EQ(ip_of_gid("zzzz:0000:0000:0000:0000:ffff:c0a8:0a64"), std::nullopt);
}

RdmaPort port_of(const std::string& name, const std::string& device, int number, std::vector<std::string>& warnings) {
  return read_rdma_port(tree(name), "/sys/class/infiniband/" + device + "/ports/" + std::to_string(number), device, warnings);
}

TEST(ReadRdmaPort, ReadsAnInfinibandPort) {
  std::vector<std::string> warnings;
  RdmaPort port = port_of("h100_ib", "mlx5_4", 1, warnings);
  EXPECT_EQ(*port.state, "ACTIVE");
  EXPECT_EQ(*port.physical_state, "LinkUp");
  EXPECT_EQ(*port.rate_gbit_per_s, 400);
  EXPECT_EQ(*port.width, 4);
  EXPECT_EQ(*port.speed, "NDR");
  EXPECT_EQ(port.link_layer, LinkLayer::infiniband);
  EXPECT_EQ(*port.lid, 0x23);
  EXPECT_EQ(*port.sm_lid, 3);
  EXPECT_THAT(port.pkeys, ElementsAre(0xffff, 0x8007));  // past the hole at index 1
  ASSERT_EQ(port.gids.size(), 1u);
  EXPECT_EQ(port.gids[0].type, GidType::ib);
  EXPECT_EQ(port.gids[0].netdev, std::nullopt);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ReadRdmaPort, ReadsTheGidsOfARocePortWithoutEmptySlots) {
  std::vector<std::string> warnings;
  RdmaPort port = port_of("a100_roce", "mlx5_0", 1, warnings);
  ASSERT_EQ(port.gids.size(), 6u);  // of eight slots
  EXPECT_EQ(port.gids[3].index, 3);
  EXPECT_EQ(port.gids[3].type, GidType::roce_v2);
  EXPECT_EQ(port.gids[3].ip, "10.7.3.21");
  EXPECT_EQ(port.gids[3].netdev, "enp65s0f0np0");
  EXPECT_EQ(port.gids[4].type, GidType::roce_v1);
  EXPECT_EQ(port.gids[5].netdev, "enp65s0f0np0.700");
  EXPECT_EQ(*port.lid, 0);  // present: 0 is RoCE's LID
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ReadRdmaPort, IgnoresTheRateOfAPortWithoutLink) {
  std::vector<std::string> warnings;
  RdmaPort polling = port_of("down_polling", "mlx5_0", 1, warnings);
  EXPECT_EQ(*polling.state, "DOWN");
  EXPECT_FALSE(polling.rate_gbit_per_s);
  EXPECT_FALSE(polling.rate_text);
  EXPECT_EQ(polling.rate_gbit_per_s.reason, "the physical state is not LinkUp (Polling)");
  EXPECT_FALSE(port_of("disabled", "mlx5_0", 1, warnings).width);
}

TEST(ReadRdmaPort, WarnsWhenNumberAndWordDisagree) {
  std::vector<std::string> warnings;
  RdmaPort port = port_of("restricted", "mlx4_0", 1, warnings);
  EXPECT_EQ(*port.state, "ACTIVE");
  EXPECT_EQ(*port.physical_state, "PortConfigurationTraining");
  EXPECT_FALSE(port.rate_gbit_per_s);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("mlx4_0: phys_state reads \"4: ACTIVE\"")));
}

TEST(ReadRdmaPort, FindsNoGidInEmptySlots) {
  std::vector<std::string> warnings;
  EXPECT_THAT(port_of("empty_gids", "mlx5_3", 1, warnings).gids, IsEmpty());
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ReadRdmaPort, LivesWithoutGidTableAndWithUnreadableFiles) {
  std::vector<std::string> warnings;
  RdmaPort port = port_of("restricted", "hfi1_0", 1, warnings);
  EXPECT_THAT(port.gids, IsEmpty());
  EXPECT_EQ(port.sm_lid.reason, "EISDIR (Is a directory)");
  EXPECT_EQ(port.link_layer, LinkLayer::unknown);
  EXPECT_EQ(*port.rate_gbit_per_s, 100);
}

}  // namespace
}  // namespace railgauge::host
