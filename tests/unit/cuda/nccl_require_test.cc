#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/nccl_used.h"
#include "samples.h"

namespace railgauge::cuda {
namespace {

using ::testing::HasSubstr;

Satisfied asked(const std::vector<std::string>& lines, Requirement requirement) { return satisfies(parse_nccl_log(said(lines)), requirement); }

TEST(RequireGdr, IsMetByChannelsOnly) {
  const Satisfied met = satisfies(sample("nccl_2.18.log"), Requirement::gdr);
  EXPECT_TRUE(met.met);
  EXPECT_EQ(met.sentence, "gdr: all 3 NET channel ends have GDRDMA");
  const Satisfied capable = asked({"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"}, Requirement::gdr);
  EXPECT_FALSE(capable.met);
  EXPECT_THAT(capable.sentence, HasSubstr("no NET channel line"));
}

TEST(RequireGdr, NamesTheLinesThatFail) {
  const Satisfied failed = satisfies(sample("nccl_2.21.log"), Requirement::gdr);
  EXPECT_FALSE(failed.met);
  EXPECT_EQ(failed.sentence,
            "gdr is required, but 2 of 4 NET channel ends are without GDRDMA: line 20 \"Channel 00/0 : 5[5] -> 0[0] [send] via NET/IB/1\", "
            "line 21 \"Channel 01/0 : 4[4] -> 0[0] [send] via NET/IB/1\"; NCCL says line 15 \"NET/IB : GPU Direct RDMA Disabled for HCA 2 'mlx5_6+mlx5_7'\"");
}

TEST(RequireGdr, QuotesThreeLinesAndCountsTheRest) {
  const std::string line = "Channel 03/0 : 5[5] -> 9[1] [send] via NET/IB/2";
  EXPECT_THAT(asked({line, line, line, line, line}, Requirement::gdr).sentence, HasSubstr("line 3 \"" + line + "\" and 2 more"));
}

TEST(RequireIb, FailsOnSocketsWithWhatNcclSaid) {
  const Satisfied failed = satisfies(sample("sockets.log"), Requirement::ib);
  EXPECT_FALSE(failed.met);
  EXPECT_THAT(failed.sentence, HasSubstr("the network is Socket"));
  EXPECT_THAT(failed.sentence, HasSubstr("line 6 \"Channel 00/0 : 3[0] -> 4[0] [send] via NET/Socket/1\""));
  EXPECT_THAT(failed.sentence, HasSubstr("NCCL says line 3 \"NET/IB : No device found.\""));
  EXPECT_THAT(failed.sentence, HasSubstr("No plugin found"));
}

TEST(RequireIb, IsMetByNcclsOwnAndByAPluginOverVerbs) {
  EXPECT_TRUE(satisfies(sample("nccl_2.21.log"), Requirement::ib).met);
  EXPECT_TRUE(satisfies(sample("nccl_2.18.log"), Requirement::ib).met);
  EXPECT_TRUE(asked({"Using network IB"}, Requirement::ib).met);
}

TEST(RequireIb, IsNotMetByWhatTheLogDoesNotShow) {
  EXPECT_FALSE(asked({"Using network AWS Libfabric"}, Requirement::ib).met);
  EXPECT_FALSE(asked({"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.5<0>"}, Requirement::ib).met);
  const Satisfied none = asked({"comm 0x5a rank 3 nRanks 8 nNodes 1 localRanks 8 localRank 3 MNNVL 0"}, Requirement::ib);
  EXPECT_FALSE(none.met);
  EXPECT_THAT(none.sentence, HasSubstr("one node"));
  const Satisfied mixed = asked({"Using network IB", "Using network Socket"}, Requirement::ib);
  EXPECT_FALSE(mixed.met);
  EXPECT_THAT(mixed.sentence, HasSubstr("line 2 \"Using network Socket\""));
}

TEST(RequireNvlink, FailsOnHostMemory) {
  const Satisfied failed = satisfies(sample("nccl_2.30.log"), Requirement::nvlink);
  EXPECT_FALSE(failed.met);
  EXPECT_THAT(failed.sentence, HasSubstr("via SHM/direct\""));
}

TEST(RequireNvlink, RestsOnTheGraphSearch) {
  const std::string p2p = "Channel 00/0 : 4[4] -> 5[5] via P2P/CUMEM";
  EXPECT_TRUE(asked({p2p, "Pattern 4, crossNic 0, nChannels 8, bw 48.0/24.0, type NVL/PXB, sameChannels 1"}, Requirement::nvlink).met);
  const Satisfied pcie = asked({p2p, "Pattern 4, crossNic 0, nChannels 8, bw 12.0/12.0, type PHB/PHB, sameChannels 1"}, Requirement::nvlink);
  EXPECT_FALSE(pcie.met);
  EXPECT_THAT(pcie.sentence, HasSubstr("line 2 \"Pattern 4"));
  const Satisfied open = asked({p2p}, Requirement::nvlink);
  EXPECT_FALSE(open.met);
  EXPECT_THAT(open.sentence, HasSubstr("GRAPH in NCCL_DEBUG_SUBSYS"));
  // A search without result says nothing, and neither does one GPU a node.
  EXPECT_TRUE(asked({"Pattern 1, crossNic 0, nChannels 0, bw 0.0/0.0, type SYS/SYS, sameChannels 1",
                     "Pattern 4, crossNic 0, nChannels 8, bw 48.0/24.0, type NVL/PXB, sameChannels 1"}, Requirement::nvlink).met);
  EXPECT_FALSE(asked({"Pattern 4, crossNic 0, nChannels 8, bw 48.0/24.0, type LOC/PXB, sameChannels 1"}, Requirement::nvlink).met);
}

TEST(RequireNvlink, IsMetByMultiNodeNvlink) {
  EXPECT_TRUE(asked({"Channel 00/0 : 4[0] -> 5[1] via P2P/MNNVL"}, Requirement::nvlink).met);
}

}  // namespace
}  // namespace railgauge::cuda
