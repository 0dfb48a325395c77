#include "host/gid_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "host/subnet.h"
#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Gid gid_of(int index, const std::string& ip, GidType type, const std::string& netdev = "eth2") {
  bool ipv4 = ip.find(':') == std::string::npos;
  std::string text = ipv4 ? "0000:0000:0000:0000:0000:ffff:0000:0000" : ip.substr(0, 4) + ":0000:0000:0000:0000:0000:0000:0099";
  return {index, text, type, netdev, ip};
}

Netdev netdev_of(const std::string& name, std::vector<std::string> addresses, bool is_virtual = false, const char* operstate = "up") {
  Netdev netdev;
  netdev.name = name;
  netdev.addresses = std::move(addresses);
  netdev.virtual_device = is_virtual;
  netdev.operstate = Fact<std::string>::of(operstate);
  return netdev;
}

GidQuestion ethernet(std::vector<Gid> gids) {
  GidQuestion q;
  q.device = "mlx5_2";
  q.port.port = 1;
  q.port.link_layer = LinkLayer::ethernet;
  q.port.gids = std::move(gids);
  return q;
}

/// A question about a fixture's only port, with the GIDs of another fixture's as the peer's.
GidQuestion between(const std::string& own, const std::string& peer) {
  Snapshot a = snapshot_of(own);
  GidQuestion q;
  q.device = a.rdma_devices.at(0).name;
  q.port = a.rdma_devices[0].ports.at(0);
  q.netdevs = a.netdevs;
  q.peer = snapshot_of(peer).rdma_devices.at(0).ports.at(0).gids;
  return q;
}

std::string message_of(const GidQuestion& q, ErrorKind kind) {
  try {
    choose_gid(q);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(GidType, WordsReadBack) {
  for (GidType type : {GidType::ib, GidType::roce_v1, GidType::roce_v2}) EXPECT_EQ(gid_type_from(name_of(type)), type);
  EXPECT_EQ(gid_type_from("RoCE v2"), GidType::roce_v2);
  EXPECT_FALSE(gid_type_from("RoCE v3"));
}

TEST(ChooseGid, TakesRoceV2WithIpv4) {
  GidChoice choice = choose_gid(between("a100_roce", "mtu1500_roce"));
  EXPECT_EQ(choice.index, 3);  // not the VLAN's index 5, which is in the peer's VLAN subnet as well
  EXPECT_EQ(choice.reason,
            "GID index 3 (10.7.3.21, RoCE v2, enp65s0f0np0) of mlx5_0 port 1: RoCE v2 with an IPv4 address, in the peer's subnet 10.7.3.0/24");
  EXPECT_THAT(choice.warnings, IsEmpty());
}

TEST(ChooseGid, FollowsTheControlConnectionOntoTheVlan) {
  GidQuestion q = between("a100_roce", "mtu1500_roce");
  q.local_ip = "10.8.3.21";
  EXPECT_EQ(choose_gid(q).index, 5);
}

TEST(ChooseGid, TakesWhatTheUserAsksFor) {
  GidQuestion q = between("a100_roce", "mtu1500_roce");
  q.index = 4;
  GidChoice choice = choose_gid(q);
  EXPECT_EQ(choice.index, 4);
  EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("RoCE v1")));
}

TEST(ChooseGid, NamesWhatIsThereWhenTheWishIsEmpty) {
  GidQuestion q = ethernet({gid_of(0, "fe80::99", GidType::roce_v2), gid_of(3, "10.0.0.1", GidType::roce_v2)});
  q.index = 7;
  EXPECT_EQ(message_of(q, ErrorKind::usage),
            "GID index 7 of mlx5_2 port 1 is empty; present: 0 (fe80::99, RoCE v2, eth2), 3 (10.0.0.1, RoCE v2, eth2)");
}

TEST(ChooseGid, RanksKinds) {
  std::vector<Gid> gids = {gid_of(0, "fe80::99", GidType::roce_v1), gid_of(1, "10.0.0.1", GidType::roce_v1), gid_of(2, "fe80::99", GidType::roce_v2),
                           gid_of(3, "169.254.3.4", GidType::roce_v2), gid_of(4, "fd00::99", GidType::roce_v2), gid_of(5, "10.0.0.1", GidType::roce_v2)};
  // from the best down: each is chosen once those above are gone
  for (int expected : {5, 4, 3, 2, 1, 0}) {
    EXPECT_EQ(choose_gid(ethernet(gids)).index, expected);
    gids.erase(std::find_if(gids.begin(), gids.end(), [&](const Gid& g) { return g.index == expected; }));
  }
}

TEST(ChooseGid, LeavesOutWhatVerbsCannotName) {
  // 259 cut to eight bits would be 3, another address.
  GidChoice choice = choose_gid(ethernet({gid_of(259, "10.0.0.1", GidType::roce_v2), gid_of(3, "10.0.0.2", GidType::roce_v1)}));
  EXPECT_EQ(choice.index, 3);
}

TEST(ChooseGid, WarnsOfVersion1) {
  GidChoice choice = choose_gid(ethernet({gid_of(2, "10.0.0.1", GidType::roce_v1)}));
  EXPECT_EQ(choice.index, 2);
  EXPECT_THAT(choice.warnings, ElementsAre("GID index 2 of mlx5_2 port 1 is RoCE v1: not routed and not ECN-marked"));
}

TEST(ChooseGid, StaysWithinTheKindsOfThePeer) {
  GidQuestion q = ethernet({gid_of(1, "10.0.0.1", GidType::roce_v2), gid_of(2, "fd00::99", GidType::roce_v2)});
  q.peer = {gid_of(6, "fd00::77", GidType::roce_v2)};
  EXPECT_EQ(choose_gid(q).index, 2);
  q.peer = {gid_of(6, "10.0.0.7", GidType::roce_v1)};
  EXPECT_THAT(message_of(q, ErrorKind::system), HasSubstr("no GID of the same RoCE version and address family"));
}

TEST(ChooseGid, PrefersThePeersSubnet) {
  GidQuestion q = ethernet({gid_of(1, "10.1.0.1", GidType::roce_v2, "eth1"), gid_of(2, "10.2.0.1", GidType::roce_v2, "eth2")});
  q.netdevs = {netdev_of("eth1", {"10.1.0.1/16"}), netdev_of("eth2", {"10.2.0.1/16"})};
  q.peer = {gid_of(4, "10.2.200.9", GidType::roce_v2)};
  GidChoice choice = choose_gid(q);
  EXPECT_EQ(choice.index, 2);
  EXPECT_THAT(choice.reason, HasSubstr("in the peer's subnet 10.2.0.0/16"));
  q.peer = {gid_of(4, "10.3.0.9", GidType::roce_v2)};
  choice = choose_gid(q);
  EXPECT_EQ(choice.index, 1);
  EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("the traffic is routed")));
}

TEST(ChooseGid, TakesTheControlConnectionsPeerWhileItsGidsAreNotKnown) {
  GidQuestion q = ethernet({gid_of(1, "10.1.0.1", GidType::roce_v2, "eth1"), gid_of(2, "10.2.0.1", GidType::roce_v2, "eth2")});
  q.netdevs = {netdev_of("eth1", {"10.1.0.1/16"}), netdev_of("eth2", {"10.2.0.1/16"})};
  q.peer_ip = "10.2.9.9";
  EXPECT_EQ(choose_gid(q).index, 2);
  q.peer_ip = "192.0.2.7";
  EXPECT_EQ(choose_gid(q).index, 1);
}

TEST(ChooseGid, MeetsThePeerInOneSubnetThoughBothChooseAlone) {
  std::vector<Netdev> here = {netdev_of("eth1", {"10.1.0.1/24"}), netdev_of("eth2", {"10.2.0.1/24"})};
  std::vector<Netdev> there = {netdev_of("eth1", {"10.2.0.2/24"}), netdev_of("eth2", {"10.1.0.2/24"})};
  GidQuestion a = ethernet({gid_of(3, "10.1.0.1", GidType::roce_v2, "eth1"), gid_of(5, "10.2.0.1", GidType::roce_v2, "eth2")});
  GidQuestion b = ethernet({gid_of(3, "10.2.0.2", GidType::roce_v2, "eth1"), gid_of(5, "10.1.0.2", GidType::roce_v2, "eth2")});
  a.netdevs = here, a.peer = b.port.gids;
  b.netdevs = there, b.peer = a.port.gids;
  EXPECT_EQ(choose_gid(a).index, 3);
  EXPECT_EQ(choose_gid(b).index, 5);
}

TEST(ChooseGid, TakesAVlanOnlyWhenThereIsNothingElse) {
  GidQuestion q = ethernet({gid_of(1, "10.1.0.1", GidType::roce_v2, "eth1.5"), gid_of(2, "10.2.0.1", GidType::roce_v2, "bond1")});
  q.netdevs = {netdev_of("eth1.5", {"10.1.0.1/16"}, true), netdev_of("bond1", {"10.2.0.1/16"}, true)};
  q.netdevs[1].bond_slaves = {"eth1"};  // virtual as well, but the port's own
  EXPECT_EQ(choose_gid(q).index, 2);    // though the VLAN has the lower subnet and index
  q.port.gids.pop_back();
  EXPECT_EQ(choose_gid(q).index, 1);
}

TEST(ChooseGid, PrefersAnInterfaceThatIsUp) {
  GidQuestion q = ethernet({gid_of(1, "10.1.0.1", GidType::roce_v2, "eth1"), gid_of(2, "10.2.0.1", GidType::roce_v2, "eth2")});
  q.netdevs = {netdev_of("eth1", {"10.1.0.1/16"}, false, "down"), netdev_of("eth2", {"10.2.0.1/16"})};
  EXPECT_EQ(choose_gid(q).index, 2);
}

TEST(ChooseGid, NeedsNoneOnInfinibandWithinOneSubnet) {
  GidQuestion q = between("h100_ib", "degraded_x8");
  GidChoice choice = choose_gid(q);
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_THAT(choice.reason, HasSubstr("addressed by LID 33"));  // 0x21
  q.peer[0].gid.replace(0, 19, "fec0:0000:0000:0001");
  choice = choose_gid(q);
  EXPECT_EQ(choice.index, 0);
  EXPECT_THAT(choice.reason, HasSubstr("different InfiniBand subnets"));
  q.index = 2;
  EXPECT_THAT(message_of(q, ErrorKind::usage), HasSubstr("GID index 2 of mlx5_0 port 1 is empty"));
}

TEST(ChooseGid, SaysWhatMendsAnEmptyTable) {
  EXPECT_EQ(message_of(between("empty_gids", "a100_roce"), ErrorKind::system),
            "mlx5_3 port 1 has no GID but all-zero ones: give its interface an address, in this network namespace");
}

TEST(Subnet, MasksAndContains) {
  Subnet subnet = subnet_of("10.40.7.17/23").value();
  EXPECT_EQ(text_of(subnet), "10.40.6.0/23");
  EXPECT_TRUE(contains(subnet, "10.40.6.255"));
  EXPECT_FALSE(contains(subnet, "10.40.8.1"));
  EXPECT_EQ(text_of(subnet_of("fd00:0:0:7::12/64").value()), "fd00:0:0:7::/64");
  for (const char* text : {"10.0.0.1", "10.0.0.1/33", "10.0.0/24", "fe80::1/129", "10.0.0.1/x"}) EXPECT_FALSE(subnet_of(text)) << text;
}

}  // namespace
}  // namespace railgauge::host
