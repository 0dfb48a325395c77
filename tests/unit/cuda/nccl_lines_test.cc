// Single lines, and what is refused because half of it is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace railgauge::cuda {
namespace {

using ::testing::ElementsAre;

NcclLog one(const std::string& text) { return parse_nccl_log(said({text})); }

TEST(NcclLine, ChannelsBeforeTheyWereCalledChannels) {
  EXPECT_EQ(one("Ring 03 : 5 -> 6 [receive] via NET/Socket/2").net_channels.at(0).net_dev, 2);
  EXPECT_EQ(one("Ring 03 : 5 -> 6 via direct shared memory").local_channels.at(0).path, LocalPath::shm);
  const NcclLog log = one("Channel 01/02 : 3 -> 2 via NET/Socket/4");
  EXPECT_EQ(log.net_channels.at(0).direction, std::nullopt);
  EXPECT_EQ(log.net_channels.at(0).from_device, std::nullopt);
}

TEST(NcclLine, ANetworkNameMayHaveSpaces) {
  const NcclLog log = one("Channel 07/0 : 9[1] -> 0[0] [receive] via NET/AWS Libfabric v2/11/GDRDMA");
  EXPECT_EQ(log.net_channels.at(0).network, "AWS Libfabric v2");
  EXPECT_EQ(log.net_channels.at(0).net_dev, 11);
  EXPECT_TRUE(log.net_channels.at(0).gdr);
}

TEST(NcclLine, SuffixesToComeAreKept) {
  const NcclLog log = one("Channel 07/0 : 9[1] -> 0[0] [receive] via NET/IB/3/GDRDMA(C2C)/Fast/Shared");
  EXPECT_EQ(log.net_channels.at(0).more, "(C2C)/Fast");
  EXPECT_FALSE(log.net_channels.at(0).gdr_pci);
  EXPECT_TRUE(log.net_channels.at(0).shared);
}

TEST(NcclLine, HalfAChannelIsNoChannel) {
  for (const char* text : {"Channel 07/0 : 9[1] -> 0[0] [receive] via NET/IB/3/GDR", "Channel 07/0 : 9[1] -> 0[0] [receive] via NET/IB/",
                           "Channel 07/0 : 9[1] -> 0[0] [send] via NET/IB/3(1", "Channel 07/0 : 9[1] -> 0[0] [rec", "Channel 07/0 : 9[1] -> 0[",
                           "Channel 07/0 : 9", "Channel 07/0 : 9[1] -> 0[0] via P2P/CUM", "Channel 99999999999/0 : 9[1] -> 0[0] via P2P/IPC",
                           "CollNet 02/0 : 9 [send] via COLLNET/SHARP/", "Channel -3/0 : 9[1] -> 0[0] via P2P/IPC"}) {
    const NcclLog log = one(text);
    EXPECT_TRUE(log.net_channels.empty() && log.local_channels.empty() && log.rings.empty() && log.collnet_channels.empty()) << text;
    EXPECT_EQ(log.unknown.count, 1u) << text;
  }
}

TEST(NcclLine, HalfOfOtherLinesIsKeptAsUnknown) {
  for (const char* text : {"NET/IB : Using [0]mlx5_0:1/I", "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth", "AllReduce: 4096 Bytes -> Algo RING proto LL",
                           "GPU Direct RDMA Enabled for GPU 1b000 / HCA 1 (distance 4 <", "Trees [0] 1/-1->0->-1 [1] 1/-1->",
                           "Init timings - f: rank 3 nranks 8 total 1.5 (kernels 0.", "comm 0x55 rank 3 nranks 2 cudaDev 1 - Init START",
                           "NVLS multicast support is available on dev ", "Pattern 4, crossNic 0, nChannels 8, bw 1.0/1.0, type NVL/PX"}) {
    EXPECT_EQ(one(text).unknown.count, 1u) << text;
  }
}

TEST(NcclLine, ListsOfInterfaces) {
  const NcclLog log = one("NET/FastSocket : Using [0]ibs108:10.0.19.12<0> [1]ibs109:fe80::2%ibs109<0>");
  ASSERT_EQ(log.interfaces.size(), 2u);
  EXPECT_EQ(log.interfaces[1].said_by, "FastSocket");
  EXPECT_EQ(log.interfaces[1].index, 1);
  EXPECT_EQ(log.interfaces[1].name, "ibs109");
  EXPECT_EQ(log.interfaces[1].address, "fe80::2%ibs109");
  EXPECT_EQ(one("Bootstrap : Using [0]ens3:192.0.2.31<0>").interfaces.at(0).said_by, "Bootstrap");
}

TEST(NcclLine, ValuesOfVariablesAsWritten) {
  EXPECT_EQ(one("NCCL_IB_TC set by environment to 106.").environment.at(0).value, "106");
  EXPECT_EQ(one("NCCL_NET_PLUGIN set by environment to lib1.2.").environment.at(0).value, "lib1.2.");
  EXPECT_EQ(one("NCCL_SOCKET_IFNAME set by environment to ").unknown.count + one("NCCL_SOCKET_IFNAME set by environment to ").environment.size(), 1u);
  EXPECT_EQ(one("the shell set by environment to 1").environment.size(), 0u);
}

TEST(NcclLine, AFailedCallWithAndWithoutItsNumber) {
  const std::string warn = "node5:77:78 [3] misc/ibvwrap.cc:262 NCCL WARN ";
  const FailedCall plain = parse_nccl_log(warn + "Call to ibv_reg_mr failed with error Bad address\n").failed_calls.at(0);
  EXPECT_EQ(plain.call, "ibv_reg_mr");
  EXPECT_EQ(plain.error, std::nullopt);
  EXPECT_EQ(plain.error_text, "Bad address");
  const FailedCall numbered = parse_nccl_log(warn + "Call to ibv_query_gid failed with error Invalid argument errno 22\n").failed_calls.at(0);
  EXPECT_EQ(numbered.error, 22);
  EXPECT_EQ(numbered.error_text, "Invalid argument");
}

TEST(NcclLine, APointerUsedAgainIsAnotherCommunicator) {
  const NcclLog log = parse_nccl_log(said({"comm 0x7f11 rank 2 nranks 4 cudaDev 3 busId 1c000 commId 0xa1 - Init START",
                                           "comm 0x7f11 rank 2 nranks 4 cudaDev 3 busId 1c000 commId 0xa1 - Init COMPLETE",
                                           "comm 0x7f11 rank 1 nranks 3 cudaDev 3 busId 1c000 commId 0xb2 - Init START"}));
  ASSERT_EQ(log.comms.size(), 2u);
  EXPECT_EQ(log.comms[0].comm_id, "0xa1");
  EXPECT_TRUE(log.comms[0].init_complete);
  EXPECT_EQ(log.comms[1].comm_id, "0xb2");
  EXPECT_FALSE(log.comms[1].init_complete);
}

TEST(NcclLine, UnknownLinesAreKeptUpToABound) {
  std::vector<std::string> texts;
  for (int i = 0; i < 350; ++i) texts.push_back("a form of 2031, number " + std::to_string(i) + std::string(700, 'x'));
  const NcclLog log = parse_nccl_log(said(texts));
  EXPECT_EQ(log.unknown.count, 350u);
  ASSERT_EQ(log.unknown.first.size(), kKeptLines);
  EXPECT_EQ(log.unknown.first[7].first, 8u);
  EXPECT_EQ(log.unknown.first[7].second.size(), kKeptLineBytes);
}

TEST(NcclLine, OldTreesWithTheirSecondHalf) {
  const NcclLog log = one("Trees [0] 1->3->2|2->3->1/-1/-1 [1] 5/6->3->-1|-1->3->5/6/-1");
  ASSERT_EQ(log.trees.size(), 2u);
  EXPECT_EQ(log.trees[0].parent, 2);
  EXPECT_THAT(log.trees[1].children, ElementsAre(5, 6));
}

}  // namespace
}  // namespace railgauge::cuda
