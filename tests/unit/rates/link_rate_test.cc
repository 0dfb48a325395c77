#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/rates/ends.h"

namespace railgauge::rates {
namespace {

using namespace testing_ends;
using host::LinkLayer;

RdmaEnd infiniband_end(double printed, int width, const std::string& speed) {
  return end_of("hostA", "mlx5_3", port_of(LinkLayer::infiniband, printed, width, speed));
}

RdmaEnd ethernet_end(double printed, int width, const std::string& speed) {
  return end_of("hostA", "mlx5_3", port_of(LinkLayer::ethernet, printed, width, speed));
}

TEST(LinkRate, TakesTheDataRateOnInfiniband) {
  const auto ndr = link_rate(infiniband_end(400, 4, "NDR"), 1);
  EXPECT_DOUBLE_EQ((*ndr).gbit_per_s, 400);
  EXPECT_EQ((*ndr).name, "400 Gb/s (4X NDR)");
  // "40 Gb/sec (4X QDR)" carries 32, "56 Gb/sec (4X FDR)" 54.55: link-rates, section 1.1.
  const auto qdr = link_rate(infiniband_end(40, 4, "QDR"), 1);
  EXPECT_DOUBLE_EQ((*qdr).gbit_per_s, 32);
  EXPECT_EQ((*qdr).name, "40 Gb/s (4X QDR), 32 Gb/s after 8b/10b");
  EXPECT_NEAR((*link_rate(infiniband_end(56, 4, "FDR"), 1)).gbit_per_s, 54.545, 0.001);
}

TEST(LinkRate, DoesNotApplyTheInfinibandCodeToEthernet) {
  // 40G Ethernet reads "40 Gb/sec (4X QDR)" and carries 40: link-rates, section 1.3.
  EXPECT_DOUBLE_EQ((*link_rate(ethernet_end(40, 4, "QDR"), 1)).gbit_per_s, 40);
  EXPECT_DOUBLE_EQ((*link_rate(ethernet_end(10, 1, "QDR"), 1)).gbit_per_s, 10);
}

TEST(LinkRate, PrefersTheNetdevOnEthernetAndTheUserEverywhere) {
  RdmaEnd end = ethernet_end(100, 4, "EDR");
  end.netdev = netdev_of("ens7np0", 50);
  EXPECT_DOUBLE_EQ((*link_rate(end, 1)).gbit_per_s, 50);
  EXPECT_EQ((*link_rate(end, 1)).source, "/sys/class/net/ens7np0/speed");
  end.link_gbit_per_s = 25;
  EXPECT_DOUBLE_EQ((*link_rate(end, 1)).gbit_per_s, 25);
  EXPECT_EQ((*link_rate(end, 1)).source, "given by the user");
  EXPECT_TRUE((*link_rate(end, 1)).given_by_user);
}

TEST(LinkRate, IsMissingWhileTheLinkIsDown) {
  RdmaEnd end = infiniband_end(40, 4, "QDR");   // what a port that is down prints
  end.port.physical_state = Fact<std::string>::of("Polling");
  EXPECT_FALSE(link_rate(end, 1));
  EXPECT_EQ(link_rate(end, 1).reason, "the port is Polling");
  end.port.physical_state = Fact<std::string>::of("LinkUp");
  end.port.state = Fact<std::string>::of("INIT");
  EXPECT_EQ(link_rate(end, 1).reason, "the port is INIT");
  end.port.state = Fact<std::string>::of("ACTIVE_DEFER");
  EXPECT_TRUE(link_rate(end, 1));
}

TEST(LinkRate, TakesNoFillerForARate) {
  // link-rates, section 1.3: unknown speed and 1G both print 2.5; the generic helper prints 4X EDR from 50G up on 6.1.
  EXPECT_FALSE(link_rate(ethernet_end(2.5, 1, "SDR"), 1));
  RdmaEnd bnxt = ethernet_end(100, 4, "EDR");
  bnxt.device.driver = Fact<std::string>::of("bnxt_en");
  EXPECT_FALSE(link_rate(bnxt, 1));
  bnxt.netdev = netdev_of("ens2", 200);
  EXPECT_DOUBLE_EQ((*link_rate(bnxt, 1)).gbit_per_s, 200);
  EXPECT_TRUE(link_rate(ethernet_end(100, 4, "EDR"), 1)) << "mlx5 translates its own";
}

TEST(LinkRate, KnowsASpeedNewerThanTheTableByItsPrintedRate) {
  EXPECT_DOUBLE_EQ((*link_rate(infiniband_end(1600, 4, "GDR"), 1)).gbit_per_s, 1600);
}

TEST(LinkRate, JudgesOneQpAgainstOneSlave) {
  // link-rates, section 1.4: 2 x 200G, one QP 183, eight QPs 372 Gb/s.
  RdmaEnd end = ethernet_end(200, 4, "HDR");
  end.netdev = netdev_of("bond0", 400);
  end.netdev->virtual_device = true;
  end.netdev->bond_slaves = {"ens1", "ens2"};
  end.slaves = {netdev_of("ens1", 200), netdev_of("ens2", 200)};
  for (int qps : {1, 3}) EXPECT_DOUBLE_EQ((*link_rate(end, qps)).gbit_per_s, 200);
  for (int qps : {4, 8}) EXPECT_DOUBLE_EQ((*link_rate(end, qps)).gbit_per_s, 400);
  EXPECT_EQ((*link_rate(end, 1)).name, "200 Gb/s (one of 2 slaves of bond0)");
  end.slaves.clear();
  EXPECT_DOUBLE_EQ((*link_rate(end, 1)).gbit_per_s, 200) << "an equal share where the slaves are unknown";
}

TEST(LinkRate, SaysWhatFewFlowsReachOverABondAtBest) {
  // Two QPs may leave through both slaves of 2 x 200G, three QPs through no more than that.
  TcpEnd end{"hostA", netdev_of("bond0", 400), {netdev_of("ens1", 200), netdev_of("ens2", 200)}, std::nullopt};
  end.netdev.bond_slaves = {"ens1", "ens2"};
  auto at_most = [&](int flows) { return (*link_rate(end, flows)).at_most_gbit_per_s; };
  EXPECT_EQ(at_most(1), std::nullopt);
  EXPECT_EQ(at_most(2), 400);
  EXPECT_EQ(at_most(3), 400);
  EXPECT_EQ(at_most(4), std::nullopt) << "the rate is their sum already";
  EXPECT_EQ((*link_rate(end, 2)).name, "200 Gb/s (one of 2 slaves of bond0, 400 at best)");
  // Slaves that differ: one flow may have the faster one.
  end.slaves = {netdev_of("ens1", 100), netdev_of("ens2", 200)};
  end.netdev.speed_gbit_per_s = Fact<double>::of(300);
  EXPECT_DOUBLE_EQ((*link_rate(end, 1)).gbit_per_s, 100);
  EXPECT_EQ(at_most(1), 200);
  EXPECT_EQ(at_most(2), 300);
  // Active-backup: the kernel gives the speed of the one that sends.
  end.slaves = {netdev_of("ens1", 200), netdev_of("ens2", 200)};
  end.netdev.speed_gbit_per_s = Fact<double>::of(200);
  EXPECT_EQ(at_most(2), std::nullopt);
}

TEST(LinkRate, DescribesASimulatedPortByItsOwnAttributes) {
  RdmaEnd end = ethernet_end(400, 4, "NDR");
  end.device.simulated = true;
  end.device.driver = Fact<std::string>::missing("absent");
  end.netdev = netdev_of("eth0", 1);    // the host's real interface
  EXPECT_DOUBLE_EQ((*link_rate(end, 1)).gbit_per_s, 400);
}

TEST(LinkRate, IsMissingForInterfacesWithoutALink) {
  TcpEnd lo{"hostA", netdev_of("lo", 10), {}, std::nullopt};
  lo.netdev.type = Fact<int>::of(772);
  EXPECT_EQ(link_rate(lo, 4).reason, "loopback has no link");
  TcpEnd veth{"hostA", netdev_of("veth3", 10), {}, std::nullopt};
  veth.netdev.virtual_device = true;
  EXPECT_EQ(link_rate(veth, 4).reason, "virtual interface");
  TcpEnd virtio{"hostA", netdev_of("eth0", 10), {}, std::nullopt};
  virtio.netdev.speed_gbit_per_s = Fact<double>::missing("EINVAL");
  EXPECT_EQ(link_rate(virtio, 4).reason, "speed: EINVAL");
}

host::Snapshot snapshot() {
  host::Snapshot s;
  s.hostname = "hostB";
  host::RdmaDevice device;
  device.name = "mlx5_1";
  device.netdevs = {"ens3"};
  host::RdmaPort port = port_of(LinkLayer::ethernet, 100, 4, "EDR");
  port.port = 2;
  host::Gid gid = roce_v2_ipv4("bond1");
  port.gids = {gid};
  device.ports = {port};
  s.rdma_devices = {device};
  s.netdevs = {netdev_of("ens3", 100), netdev_of("bond1", 50)};
  s.netdevs[1].bond_slaves = {"ens3", "gone"};
  s.netdevs[1].addresses = {"192.168.10.100/24", "fe80::5/64"};
  return s;
}

TEST(Ends, ArePickedOutOfASnapshot) {
  const host::Snapshot s = snapshot();
  const RdmaEnd by_gid = rdma_end(s, "mlx5_1", 2, 3);
  EXPECT_EQ(by_gid.host, "hostB");
  EXPECT_EQ(by_gid.netdev->name, "bond1");
  ASSERT_EQ(by_gid.slaves.size(), 1U);
  EXPECT_EQ(by_gid.slaves[0].name, "ens3");
  EXPECT_EQ(rdma_end(s, "mlx5_1", 2, std::nullopt).netdev->name, "ens3");
  EXPECT_EQ(tcp_end(s, "bond1").slaves.size(), 1U);
}

TEST(Ends, NameWhatIsNotThere) {
  const host::Snapshot s = snapshot();
  EXPECT_THROW(rdma_end(s, "mlx5_9", 2, 3), Error);
  EXPECT_THROW(rdma_end(s, "mlx5_1", 1, 3), Error);
  EXPECT_THROW(rdma_end(s, "mlx5_1", 2, 7), Error);
  EXPECT_THROW(tcp_end(s, "ens9"), Error);
}

}  // namespace
}  // namespace railgauge::rates
