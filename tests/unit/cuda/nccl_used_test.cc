#include "cuda/nccl_used.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace railgauge::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kNics = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_4:1/RoCE [RO]; OOB eth0:10.0.0.5<0>";

TEST(NetworkUsed, WhatChannelsRunOverCountsMostly) {
  const NetworkUsed used = network_used(sample("nccl_2.21.log"));
  EXPECT_EQ(used.kind, NetworkKind::ib);
  EXPECT_EQ(used.evidence, Evidence::channels);
  EXPECT_TRUE(used.over_verbs);
}

TEST(NetworkUsed, APluginOverVerbsAndOneOverSomethingElse) {
  const NetworkUsed ibext = network_used(sample("nccl_2.18.log"));
  EXPECT_EQ(ibext.kind, NetworkKind::plugin);
  EXPECT_EQ(ibext.name, "IBext");
  EXPECT_TRUE(ibext.over_verbs);
  const NetworkUsed ofi = network_used(parse_nccl_log(said({"Using network AWS Libfabric"})));
  EXPECT_EQ(ofi.kind, NetworkKind::plugin);
  EXPECT_EQ(ofi.evidence, Evidence::chosen);
  EXPECT_FALSE(ofi.over_verbs);
}

TEST(NetworkUsed, SocketsAndMixtures) {
  EXPECT_EQ(network_used(sample("sockets.log")).kind, NetworkKind::socket);
  const NetworkUsed mixed = network_used(parse_nccl_log(said({"Using network IB", "Using network Socket"})));
  EXPECT_EQ(mixed.kind, NetworkKind::mixed);
  EXPECT_EQ(mixed.name, "IB, Socket");
}

TEST(NetworkUsed, OneNodeUsesNone) {
  // By NCCL's own count, and in releases without it by all ranks having one host.
  EXPECT_EQ(network_used(parse_nccl_log(said({"Using network IB", "comm 0x5a rank 3 nRanks 8 nNodes 1 localRanks 8 localRank 3 MNNVL 0"}))).kind,
            NetworkKind::none);
  const std::string third = "Using network IB", old = "comm 0x5a rank 0 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE";
  const std::string first = said({third, old});
  EXPECT_EQ(network_used(parse_nccl_log(first)).kind, NetworkKind::ib);
  EXPECT_EQ(network_used(parse_nccl_log(first + said({"comm 0x6b rank 1 nranks 2 cudaDev 1 busId 3b000 - Init COMPLETE"}, "node5:99:99 [1] NCCL INFO "))).kind,
            NetworkKind::none);
  EXPECT_EQ(network_used(parse_nccl_log(first + said({"comm 0x6b rank 1 nranks 2 cudaDev 1 busId 3b000 - Init COMPLETE"}, "node6:99:99 [1] NCCL INFO "))).kind,
            NetworkKind::ib);
}

TEST(NetworkUsed, AListOfNicsAloneProvesLittle) {
  const NetworkUsed used = network_used(parse_nccl_log(said({kNics})));
  EXPECT_EQ(used.kind, NetworkKind::ib);
  EXPECT_EQ(used.evidence, Evidence::listed);
}

TEST(GdrUsed, SendAndReceiveAreJudgedApart) {
  const GdrUsed used = gdr_used(sample("nccl_2.21.log"));
  EXPECT_EQ(used.both, Share::some);
  EXPECT_EQ(used.receive, Share::all);
  EXPECT_EQ(used.send, Share::none);
  EXPECT_EQ(used.ends, 4u);
  EXPECT_THAT(used.without, ElementsAre(1u, 2u));
  EXPECT_THAT(used.reason, HasSubstr("2 of 4 NET channel ends are without GDRDMA: line 20 \"Channel 00/0 : 5[5] -> 0[0] [send] via NET/IB/1\""));
}

TEST(GdrUsed, AllNoneAndUnknown) {
  EXPECT_EQ(gdr_used(sample("nccl_2.18.log")).both, Share::all);
  EXPECT_EQ(gdr_used(sample("nccl_2.10.log")).both, Share::none);
  // A NIC that could, with no channel in the log, proves nothing.
  const GdrUsed unknown = gdr_used(parse_nccl_log(said({"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"})));
  EXPECT_EQ(unknown.both, Share::unknown);
  EXPECT_THAT(unknown.reason, HasSubstr("no NET channel line"));
}

TEST(NicName, OfItsOwnHostNotOfAnother) {
  const NcclLog log = parse_nccl_log(said({kNics}) + said({"NET/IB : Using [1]ibp7:2/RoCE [RO]; OOB eth0:10.0.0.6<0>"}, "node6:5:5 [0] NCCL INFO ") +
                                     said({"Channel 00/0 : 9[1] -> 3[3] [receive] via NET/IB/1"}) +
                                     said({"Channel 00/0 : 3[3] -> 9[1] [receive] via NET/IB/1"}, "node6:5:6 [1] NCCL INFO ") +
                                     said({"Channel 00/0 : 3[3] -> 8[1] [receive] via NET/IB/1"}, "node7:5:6 [1] NCCL INFO "));
  EXPECT_EQ(nic_name_of(log, log.net_channels.at(0).origin, "IB", 1)->name, "mlx5_1:1");
  EXPECT_EQ(nic_name_of(log, log.net_channels.at(1).origin, "IB", 1)->name, "ibp7:2");
  EXPECT_EQ(nic_name_of(log, log.net_channels.at(1).origin, "IB", 1)->link, "RoCE");
  EXPECT_FALSE(nic_name_of(log, log.net_channels.at(2).origin, "IB", 1));
  EXPECT_FALSE(nic_name_of(log, log.net_channels.at(0).origin, "IB", 5));
}

TEST(NicName, OfSocketsIsTheInterface) {
  const NcclLog log = sample("sockets.log");
  EXPECT_EQ(nic_name_of(log, log.net_channels.at(0).origin, "Socket", 1)->name, "net1");
}

/// Two ranks of node5 on mlx5_1, of three NICs.
std::string shared_nic(const std::string& comm) {
  return said({kNics, comm, "Channel 00/0 : 9[1] -> 2[2] [receive] via NET/IB/1", "Channel 00/0 : 2[2] -> 9[1] [send] via NET/IB/1"}) +
         said({comm.empty() ? comm : "comm 0x6b rank 3 nRanks 12 nNodes 6 localRanks 2 localRank 1 MNNVL 0",
               "Channel 01/0 : 9[1] -> 3[3] [receive] via NET/IB/1"}, "node5:88:88 [3] NCCL INFO ");
}

TEST(NicsUsed, CountsChannelEndsAndKeepsIdleNics) {
  const NicsUsed used = nics_used(parse_nccl_log(shared_nic("comm 0x5a rank 2 nRanks 12 nNodes 6 localRanks 2 localRank 0 MNNVL 0")));
  ASSERT_EQ(used.nics.size(), 3u);
  EXPECT_EQ(used.nics[1].receive, 2u);
  EXPECT_EQ(used.nics[1].send, 1u);
  EXPECT_THAT(used.nics[1].ranks, ElementsAre(2, 3));
  EXPECT_EQ(used.nics[1].name->name, "mlx5_1:1");
  EXPECT_EQ(used.nics[2].receive + used.nics[2].send, 0u);
  EXPECT_EQ(used.nics[2].name->name, "mlx5_4:1");
}

TEST(NicsUsed, TwoRanksOnOneNicWhileAnotherIdlesIsFound) {
  // Field case F49 (NVIDIA/nccl#820).
  const NicsUsed used = nics_used(parse_nccl_log(shared_nic("comm 0x5a rank 2 nRanks 12 nNodes 6 localRanks 2 localRank 0 MNNVL 0")));
  EXPECT_THAT(used.findings, ElementsAre("host node5: ranks 2, 3 share mlx5_1:1 (NET/IB/1) while mlx5_0:1 (NET/IB/0), mlx5_4:1 (NET/IB/2) carry no channel"));
}

TEST(NicsUsed, WithHalfTheRanksNothingIsFound) {
  EXPECT_THAT(nics_used(parse_nccl_log(shared_nic("comm 0x5a rank 2 nRanks 12 nNodes 3 localRanks 4 localRank 0 MNNVL 0"))).findings, IsEmpty());
  EXPECT_THAT(nics_used(parse_nccl_log(shared_nic(""))).findings, ElementsAre(HasSubstr("it does not say")));
}

TEST(NicsUsed, PxnIsNoSharing) {
  const std::string log = said({kNics, "Channel 00/0 : 9[1] -> 2[2] [receive] via NET/IB/1", "Channel 00/0 : 3[3] -> 8[0] [send] via NET/IB/1(2)/GDRDMA"});
  const NicsUsed used = nics_used(parse_nccl_log(log));
  EXPECT_THAT(used.nics.at(1).ranks, ElementsAre(2));
  EXPECT_EQ(used.nics.at(1).send, 1u);
  EXPECT_THAT(used.findings, IsEmpty());
}

TEST(ShmInsteadOfP2p, IsFlagged) {
  EXPECT_THAT(shm_instead_of_p2p(sample("nccl_2.10.log")), ElementsAre(0u, 1u));
  EXPECT_THAT(shm_instead_of_p2p(sample("nccl_2.30.log")), ElementsAre(1u));
  EXPECT_THAT(shm_instead_of_p2p(sample("nccl_2.18.log")), IsEmpty());
}

}  // namespace
}  // namespace railgauge::cuda
