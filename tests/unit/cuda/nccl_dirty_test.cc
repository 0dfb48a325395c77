// What launchers, terminals and races leave of a log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/nccl_used.h"
#include "samples.h"

namespace railgauge::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const std::string kReceive = "Channel 02/0 : 4[2] -> 7[1] [receive] via NET/IB/1";

TEST(DirtyLog, TheSampleIsReadThroughItsDirt) {
  const NcclLog log = sample("dirty.log");
  ASSERT_EQ(log.net_channels.size(), 2u);  // the third is glued to a host that nothing names
  EXPECT_EQ(log.net_channels[0].net_dev, 5);
  EXPECT_FALSE(log.net_channels[0].gdr);
  EXPECT_EQ(log.processes[*log.net_channels[0].origin.process].host, "node3");
  EXPECT_EQ(log.net_channels[1].channel, 3);
  EXPECT_TRUE(log.net_channels[1].gdr);
  EXPECT_EQ(log.processes[*log.net_channels[1].origin.process].host, "node2");
  EXPECT_EQ(log.networks.at(0).name, "IB");
  EXPECT_EQ(log.networks.size(), 1u);
  EXPECT_EQ(log.channel_counts.at(0).p2p, 6);
  EXPECT_EQ(log.connected.size(), 1u);
  EXPECT_TRUE(log.last_line_cut);
  EXPECT_EQ(log.unknown.count, 1u);
}

TEST(DirtyLog, LaunchersPrefixesAreNoPartOfTheHost) {
  for (const char* prefix : {"[1,5]<stdout>:", "node1: ", "12: ", "[default3]:", "(Worker pid=31) ", "2026-03-04T05:06:07Z stdout F ", "[2026-03-04 05:06:07] "}) {
    const NcclLog log = parse_nccl_log(prefix + said({kReceive}));
    ASSERT_EQ(log.net_channels.size(), 1u) << prefix;
    ASSERT_EQ(log.processes.size(), 1u) << prefix;
    EXPECT_EQ(log.processes[0].host, "node5") << prefix;
    EXPECT_EQ(log.processes[0].pid, 77u) << prefix;
    EXPECT_EQ(log.net_channels[0].origin.cuda_dev, 3) << prefix;
  }
}

TEST(DirtyLog, WithoutAPrefixTheProcessIsMissing) {
  const NcclLog log = parse_nccl_log("NCCL INFO Using network Socket\ntransport/net_ib.cc:7 NCCL WARN NET/IB : No device found.\n");
  EXPECT_EQ(log.networks.at(0).origin.process, std::nullopt);
  EXPECT_EQ(log.warnings.at(0).file_line, 7);
  EXPECT_TRUE(log.processes.empty());
}

TEST(DirtyLog, AGluedLineOfAnUnknownHostIsTorn) {
  // "GDRDMAnode9": where the channel ends and the host begins cannot be told.
  const NcclLog log = parse_nccl_log("node5:77:78 [3] NCCL INFO " + kReceive + "/GDRDMAnode9:1:2 [0] NCCL INFO Using network IB\n");
  EXPECT_TRUE(log.net_channels.empty());
  EXPECT_EQ(log.unknown.count, 1u);
  EXPECT_EQ(log.networks.at(0).name, "IB");
  EXPECT_EQ(log.networks.at(0).origin.process, std::nullopt);
  // Not a value "mlx5_0,".
  EXPECT_TRUE(parse_nccl_log("node5:77:78 [3] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1node9:1:2 [0] NCCL INFO Connected all trees\n")
                  .environment.empty());
}

TEST(DirtyLog, AGluedLineOfAKnownHostIsDivided) {
  const std::string glued = "node5:77:78 [3] NCCL INFO " + kReceive + "/GDRDMAnode9:1:2 [0] NCCL INFO Using network IB\n";
  const NcclLog log = parse_nccl_log(glued + "node9:1:2 [0] NCCL INFO Connected all trees\n");
  EXPECT_TRUE(log.net_channels.at(0).gdr);
  EXPECT_EQ(log.processes[log.networks.at(0).origin.process.value()].host, "node9");
  EXPECT_EQ(log.unknown.count, 0u);
}

TEST(DirtyLog, TheEndOfACutFileIsNotRead) {
  const std::string whole = said({kReceive + "2/GDRDMA"});
  EXPECT_EQ(parse_nccl_log(whole).net_channels.at(0).net_dev, 12);
  const NcclLog cut = parse_nccl_log(whole.substr(0, whole.size() - 9));  // "… via NET/IB/1"
  EXPECT_TRUE(cut.net_channels.empty());
  EXPECT_TRUE(cut.last_line_cut);
  EXPECT_EQ(cut.unknown.count, 1u);
}

TEST(DirtyLog, ASuffixOnTheNextLineBelongsToItsChannel) {
  EXPECT_TRUE(parse_nccl_log(said({kReceive}) + "/GDRDMA\n").net_channels.at(0).gdr);
  const NcclLog other = parse_nccl_log(said({kReceive}) + "/usr/bin/train: step 3\n");
  EXPECT_FALSE(other.net_channels.at(0).gdr);
  EXPECT_THAT(other.foreign.first, ElementsAre(Pair(2u, "/usr/bin/train: step 3")));
}

TEST(DirtyLog, AWrappedCompletionIsJoinedAndAnUnfinishedOneIsNot) {
  const std::string begin = "node5:77:78 [3] transport/net_ib.cc:9 NCCL WARN NET/IB : Got completion from peer 10.1.2.3<4> with error 4, opcode 2,\n";
  const NcclLog joined = parse_nccl_log(begin + "len 7, vendor\nerr 81 (Send)\n");
  EXPECT_EQ(joined.completions.at(0).vendor_err, 81u);
  EXPECT_EQ(joined.completions.at(0).side, "Send");
  EXPECT_EQ(joined.foreign.count, 0u);
  const NcclLog alone = parse_nccl_log(begin + "step 12\nstep 13\n");
  EXPECT_EQ(alone.completions.at(0).status, 4);
  EXPECT_EQ(alone.completions.at(0).vendor_err, std::nullopt);
  EXPECT_THAT(alone.foreign.first, ElementsAre(Pair(2u, "step 12"), Pair(3u, "step 13")));
}

TEST(DirtyLog, OverlongLinesAreCountedNotRead) {
  const NcclLog log = parse_nccl_log(said({"Using network " + std::string(kLongestLineBytes, 'I'), kReceive}));
  EXPECT_TRUE(log.networks.empty());
  EXPECT_EQ(log.unknown.count, 1u);
  EXPECT_EQ(log.net_channels.at(0).origin.line, 2u);
}

TEST(DirtyLog, ANulInANumberDoesNotMakeAnotherNumber) {
  using std::string_literals::operator""s;
  EXPECT_TRUE(parse_nccl_log("node5:77:78 [3] NCCL INFO Channel 02/0 : 4[2] -> 1\0007[1] [receive] via NET/IB/1\n"s).net_channels.empty());
}

TEST(DirtyLog, OneProcessWithSeveralGpusHasNoSingleRank) {
  const NcclLog log = parse_nccl_log(said({"comm 0x7f11 rank 2 nranks 8 cudaDev 2 busId 1c000 commId 0xa1 - Init START",
                                           "comm 0x7f22 rank 3 nranks 8 cudaDev 3 busId 1d000 commId 0xa1 - Init START"}));
  EXPECT_EQ(rank_of(log, 0), std::nullopt);
}

TEST(DirtyLog, NothingIsUnknownOfAnEmptyFile) {
  const NcclLog log = parse_nccl_log("");
  EXPECT_FALSE(log.last_line_cut);
  EXPECT_EQ(network_used(log).kind, NetworkKind::unknown);
  EXPECT_EQ(gdr_used(log).both, Share::unknown);
}

}  // namespace
}  // namespace railgauge::cuda
