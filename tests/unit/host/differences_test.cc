#include "host/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

auto about(const std::string& what) { return ::testing::Field(&Difference::what, what); }

TEST(Differences, AreNoneBetweenEqualHosts) {
  Snapshot s = snapshot_of("a100_roce");
  UsedPath path{.device = "mlx5_0", .port = 1, .gid_index = 3, .netdev = {}};
  EXPECT_THAT(differences(s, path, s, path), IsEmpty());
}

TEST(Differences, NameWhatAnUnfinishedPeerHas) {
  auto found = differences(snapshot_of("a100_roce"), {.device = "mlx5_0", .port = 1, .gid_index = 3, .netdev = {}}, snapshot_of("mtu1500_roce"),
                           {.device = "rocep65s0f0", .port = 1, .gid_index = 2, .netdev = {}});
  EXPECT_THAT(found, Contains(Difference{"link rate", "200 Gb/s", "100 Gb/s", true}));
  EXPECT_THAT(found, Contains(Difference{"interface MTU", "9000", "1500", true}));
  EXPECT_THAT(found, Contains(Difference{"GID type", "RoCE v2", "RoCE v1", true}));
  EXPECT_THAT(found, Contains(Difference{"memlock limit", "unlimited", "8388608 B", true}));
  EXPECT_THAT(found, Contains(Difference{"CPU governor", "performance", "schedutil", true}));
  EXPECT_THAT(found, Contains(Difference{"BIOS", "2.7a", "2.6", false}));
  EXPECT_THAT(found, Contains(Difference{"kernel", "6.5.0-21-generic", "6.2.0-37-generic", false}));
  EXPECT_THAT(found, Contains(Difference{"congestion control", "cubic", "bbr", false}));  // not what RDMA rests on
  EXPECT_THAT(found, Not(Contains(about("firmware"))));
  EXPECT_THAT(found, Not(Contains(about("driver version"))));
}

TEST(Differences, WeighCongestionControlForTcp) {
  auto found = differences(snapshot_of("a100_roce"), {.device = {}, .port = 1, .gid_index = {}, .netdev = "enp65s0f0np0"},
                           snapshot_of("mtu1500_roce"), {.device = {}, .port = 1, .gid_index = {}, .netdev = "enp65s0f0np0"});
  EXPECT_THAT(found, Contains(Difference{"congestion control", "cubic", "bbr", true}));
  EXPECT_THAT(found, Contains(Difference{"link rate", "200 Gb/s", "100 Gb/s", true}));
  EXPECT_THAT(found, Contains(Difference{"memlock limit", "unlimited", "8388608 B", false}));
}

TEST(Differences, NameTheDegradedLink) {
  auto found = differences(snapshot_of("degraded_x8"), {.device = "mlx5_0", .port = 1, .gid_index = {}, .netdev = {}}, snapshot_of("h100_ib"),
                           {.device = "mlx5_4", .port = 1, .gid_index = {}, .netdev = {}});
  EXPECT_THAT(found, Contains(Difference{"PCIe link", "16 GT/s x8", "32 GT/s x16", true}));
  EXPECT_THAT(found, Contains(Difference{"PCIe maximum read request", "512", "4096", true}));
  EXPECT_THAT(found, Contains(Difference{"PCIe relaxed ordering", "false", "true", true}));
  EXPECT_THAT(found, Not(Contains(about("link rate"))));
}

TEST(Differences, CompareRatesAndNotTheirNames) {
  Snapshot here = snapshot_of("a100_roce");  // mlx5_0: 200 Gb/sec (4X HDR)
  Snapshot there = here;
  RdmaPort& port = there.rdma_devices.at(0).ports.at(0);
  port.rate_text = Fact<std::string>::of("200 Gb/sec (2X NDR)");
  port.width = Fact<int>::of(2);
  port.speed = Fact<std::string>::of("NDR");
  UsedPath path{.device = "mlx5_0", .port = 1, .gid_index = 3, .netdev = {}};
  EXPECT_THAT(differences(here, path, there, path), ::testing::ElementsAre(Difference{"lanes of the link", "4X HDR", "2X NDR", false}));
}

TEST(Differences, SayUnknownAndNeverCallItAFault) {
  auto found = differences(snapshot_of("degraded_x8"), {.device = "mlx5_0", .port = 1, .gid_index = {}, .netdev = {}}, snapshot_of("down_polling"),
                           {.device = "mlx5_0", .port = 1, .gid_index = {}, .netdev = {}});
  EXPECT_THAT(found, Contains(Difference{"link rate", "400 Gb/s", "unknown (the physical state is not LinkUp (Polling))", false}));
}

TEST(Differences, FindPartitionsWithoutAFullMember) {
  Snapshot s = snapshot_of("h100_ib");
  Snapshot t = s;
  UsedPath path{.device = "mlx5_0", .port = 1, .gid_index = {}, .netdev = {}};
  s.rdma_devices[0].ports[0].pkeys = {0x0007, 0x7fff};
  t.rdma_devices[0].ports[0].pkeys = {0x0007, 0x8009};
  EXPECT_THAT(differences(s, path, t, path), Contains(Difference{"P_Key", "0x0007 0x7fff", "0x0007 0x8009", true}));
  t.rdma_devices[0].ports[0].pkeys = {0x8007};
  EXPECT_THAT(differences(s, path, t, path), Not(Contains(about("P_Key"))));
}

}  // namespace
}  // namespace railgauge::host
