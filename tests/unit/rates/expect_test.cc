#include <gtest/gtest.h>

#include "rates/overview.h"
#include "unit/rates/ends.h"

namespace railgauge::rates {
namespace {

using namespace testing_ends;
using host::LinkLayer;

constexpr std::uint64_t kMebibyte = 1 << 20;

RdmaEnd ndr_end(const std::string& host_name, const std::string& address, double gt_per_s) {
  RdmaEnd end = end_of(host_name, "mlx5_2", port_of(LinkLayer::infiniband, 400, 4, "NDR"));
  end.device.pci.links = {pci_link(address, gt_per_s, 16)};
  return end;
}

RdmaEnd roce_end(const std::string& host_name, double gbit_per_s, int mtu) {
  RdmaEnd end = end_of(host_name, "mlx5_5", port_of(LinkLayer::ethernet, gbit_per_s, 4, "HDR", mtu));
  end.netdev = netdev_of("ens1", gbit_per_s);
  end.gid = roce_v2_ipv4("ens1");
  return end;
}

TEST(ExpectRdma, NamesThePcieLinkThatLimitsA400GPort) {
  const Expectation e = expect_rdma({.message_bytes = kMebibyte}, ndr_end("hostA", "0000:81:00.0", 32), ndr_end("hostB", "0000:41:00.0", 16));
  ASSERT_TRUE(e.limiting) << e.reason;
  const Term& limit = e.terms[*e.limiting];
  EXPECT_EQ(limit.name, "PCIe 16 GT/s x16 at 0000:41:00.0 on hostB");
  EXPECT_NEAR(limit.gbit_per_s, 230.5, 0.05);   // link-rates, section 2.5: g4 x16 at 256 B
  ASSERT_EQ(e.terms.size(), 4U);
  EXPECT_EQ(e.terms[0].name, "port 400 Gb/s (4X NDR) of mlx5_2 on hostA");
  EXPECT_NEAR(e.terms[0].gbit_per_s, 397.28, 0.005);
  EXPECT_EQ(e.terms[0].formula, "400 Gb/s x 1048576 / (1048576 + 256 x 28 + 16) (InfiniBand write, path MTU 4096)");
}

TEST(ExpectRdma, TakesCompletionsOnTheSendersSideAndWritesOnTheReceivers) {
  const RdmaEnd a = ndr_end("hostA", "0000:81:00.0", 16), b = ndr_end("hostB", "0000:41:00.0", 16);
  // g4 x16 at 256 B: raw 252.06; 92.75 % as completions 233.80, 91.43 % as writes 230.46.
  auto pcie = [&](Flow flow) {
    const Expectation e = expect_rdma({.flow = flow}, a, b);
    return std::pair(e.terms[2].gbit_per_s, e.terms[3].gbit_per_s);
  };
  EXPECT_NEAR(pcie(Flow::to_server).first, 233.80, 0.01);
  EXPECT_NEAR(pcie(Flow::to_server).second, 230.46, 0.01);
  EXPECT_NEAR(pcie(Flow::to_client).first, 230.46, 0.01);
  EXPECT_NEAR(pcie(Flow::to_client).second, 233.80, 0.01);
  EXPECT_NEAR(pcie(Flow::both).first, 230.46, 0.01);
  EXPECT_NEAR(pcie(Flow::both).second, 230.46, 0.01);
}

TEST(ExpectRdma, AgreesWithPublishedRunsAtTheirCheckPoints) {
  // link-rates, section 2.3: 2 x 100G at MTU 1024 with 8 QPs: 185.2; 400G RoCE at 4096: 392.14.
  RdmaEnd bond = roce_end("hostA", 100, 1024);
  bond.netdev = netdev_of("bond0", 200);
  bond.netdev->bond_slaves = {"ens1", "ens2"};
  EXPECT_NEAR(*expect_rdma({.message_bytes = kMebibyte, .qps = 8}, bond, bond).gbit_per_s(), 185.2, 0.05);
  const RdmaEnd fast = roce_end("hostA", 400, 4096);
  EXPECT_NEAR(*expect_rdma({.message_bytes = kMebibyte}, fast, fast).gbit_per_s(), 392.14, 0.005);
}

TEST(ExpectRdma, TakesTheSmallerMtuAndSaysWhatTheBetterOneWouldGive) {
  const Expectation e = expect_rdma({.message_bytes = kMebibyte}, roce_end("hostA", 100, 4096), roce_end("hostB", 100, 1024));
  EXPECT_NEAR(*e.gbit_per_s(), 92.58, 0.005);
  const Term& better = e.terms[2];
  EXPECT_TRUE(better.informational);
  EXPECT_EQ(better.name, "ports with path MTU 4096 instead of 1024");
  EXPECT_NEAR(better.gbit_per_s, 98.04, 0.005);
  const RdmaEnd best = roce_end("hostA", 100, 4096);
  for (const Term& term : expect_rdma({}, best, best).terms) EXPECT_FALSE(term.informational);
}

TEST(ExpectRdma, TakesTheSlowerPort) {
  const Expectation e = expect_rdma({}, roce_end("hostA", 200, 4096), roce_end("hostB", 100, 4096));
  EXPECT_EQ(e.terms[*e.limiting].name, "port 100 Gb/s Ethernet of mlx5_5 on hostB");
}

TEST(ExpectRdma, DerivesTheMtuOfEthernetFromTheInterfaceAndOtherwiseSaysSo) {
  RdmaEnd end = roce_end("hostA", 100, 4096);
  end.port.active_mtu_bytes = Fact<int>::missing("not asked");
  end.netdev->mtu_bytes = Fact<int>::of(1500);
  EXPECT_NEAR(*expect_rdma({.message_bytes = kMebibyte}, end, end).gbit_per_s(), 92.58, 0.005);
  RdmaEnd infiniband = ndr_end("hostB", "0000:41:00.0", 32);
  infiniband.port.active_mtu_bytes = Fact<int>::missing("not asked");
  const Expectation none = expect_rdma({}, infiniband, infiniband);
  EXPECT_FALSE(none.limiting);
  EXPECT_EQ(none.reason, "path MTU of mlx5_2 on hostB unknown");
  EXPECT_TRUE(expect_rdma({.path_mtu_bytes = 2048}, infiniband, infiniband).limiting);
}

TEST(ExpectRdma, CountsTheHeadersOfTheGidInUse) {
  RdmaEnd end = roce_end("hostA", 100, 4096);
  auto expected = [&] { return *expect_rdma({.message_bytes = kMebibyte}, end, end).gbit_per_s(); };
  EXPECT_NEAR(expected(), 98.04, 0.005);
  end.gid->gid = "fe80:0000:0000:0000:a088:c2ff:fe12:3456";
  EXPECT_NEAR(expected(), 97.57, 0.005);     // IPv6
  end.gid->type = host::GidType::roce_v1;
  EXPECT_NEAR(expected(), 100 * 4096 / (4096 + 94.0), 0.01);
  end.gid.reset();
  const Expectation assumed = expect_rdma({.message_bytes = kMebibyte}, end, end);
  EXPECT_NEAR(*assumed.gbit_per_s(), 98.04, 0.005);
  ASSERT_EQ(assumed.notes.size(), 1U);
  const RdmaEnd infiniband = ndr_end("hostB", "0000:41:00.0", 32);
  EXPECT_NEAR(*expect_rdma({.message_bytes = kMebibyte, .grh = true}, infiniband, infiniband).gbit_per_s(), 400 * .9837, 0.03);
}

TEST(ExpectRdma, ExpectsNothingOfSoftwareDevicesButComputesSimulatedOnes) {
  RdmaEnd rxe = roce_end("hostB", 10, 1024);
  rxe.device.name = "rxe0";
  rxe.device.software = true;
  const Expectation none = expect_rdma({}, roce_end("hostA", 10, 1024), rxe);
  EXPECT_FALSE(none.gbit_per_s());
  EXPECT_EQ(none.reason, "software device (rxe0 on hostB)");
  rxe.device.simulated = true;
  EXPECT_TRUE(expect_rdma({}, rxe, rxe).gbit_per_s());
}

TEST(ExpectRdma, GivesNoFigureWhenOneRateIsUnknown) {
  RdmaEnd down = ndr_end("hostB", "0000:41:00.0", 32);
  down.port.physical_state = Fact<std::string>::of("Disabled");
  const Expectation e = expect_rdma({}, ndr_end("hostA", "0000:81:00.0", 32), down);
  EXPECT_FALSE(e.limiting);
  EXPECT_EQ(e.reason, "link rate of mlx5_2 port 1 on hostB unknown: the port is Disabled");
  EXPECT_EQ(e.terms.size(), 3U) << "what is known stands there";
}

TEST(ExpectRdma, NotesWhatItCouldNotReadOfPcie) {
  RdmaEnd end = ndr_end("hostA", "0000:81:00.0", 32);
  end.device.pci.max_payload_bytes = Fact<int>::missing("run as root");
  end.device.pci.links.push_back(pci_link("0000:80:01.0", 16, 8));
  end.device.pci.links[0].current_width = Fact<int>::missing("EINVAL");
  const Expectation e = expect_rdma({}, end, ndr_end("hostB", "0000:41:00.0", 32));
  ASSERT_EQ(e.notes.size(), 2U);
  EXPECT_EQ(e.notes[0], "PCIe link at 0000:81:00.0 on hostA is not part of the expectation: EINVAL");
  EXPECT_EQ(e.notes[1], "MaxPayload on hostA unknown (run as root): 256 B assumed");
  EXPECT_EQ(e.terms[*e.limiting].name, "PCIe 16 GT/s x8 at 0000:80:01.0 on hostA");
  EXPECT_NE(e.terms[*e.limiting].formula.find("MaxPayload 256 assumed"), std::string::npos);
}

/// 2 x 200G as mlx5_bond_0 of hostA: each slave on a function of `cards` below one of `ports`, PCIe `gt_per_s` x16.
RdmaEnd bond_end(std::vector<std::string> cards, std::vector<std::string> ports, double gt_per_s) {
  RdmaEnd end = end_of("hostA", "mlx5_bond_0", port_of(LinkLayer::ethernet, 200, 4, "HDR"));
  end.gid = roce_v2_ipv4("bond0");
  end.netdev = netdev_of("bond0", 400);
  for (std::size_t i = 0; i < cards.size(); ++i) {
    host::Netdev slave = netdev_of(i == 0 ? "ens1" : "ens2", 200);
    slave.pci.max_payload_bytes = Fact<int>::of(256);
    slave.pci.links = {pci_link(cards[i], gt_per_s, 16), pci_link(ports[i], gt_per_s, 16)};
    end.netdev->bond_slaves.push_back(slave.name);
    end.slaves.push_back(slave);
  }
  end.device.pci = end.slaves[0].pci;
  return end;
}

std::vector<std::string> pcie_names(const Expectation& expectation) {
  std::vector<std::string> out;
  for (const Term& term : expectation.terms)
    if (term.kind == TermKind::pcie) out.push_back(term.name);
  return out;
}

TEST(ExpectRdma, CountsTheSlotThatBothPortsOfACardShareOnce) {
  // One card with two 200G ports in g4 x16: 400 x 0.9804 = 392.1 of both ports, 230.5 of the slot (link-rates, section 2.5).
  const RdmaEnd end = bond_end({"0000:41:00.0", "0000:41:00.1"}, {"0000:40:01.0", "0000:40:01.0"}, 16);
  const Expectation e = expect_rdma({.message_bytes = kMebibyte, .flow = Flow::both, .qps = 8}, end, ndr_end("hostB", "0000:81:00.0", 32));
  EXPECT_NEAR(*e.gbit_per_s(), 230.46, 0.01);
  EXPECT_EQ(e.terms[*e.limiting].name, "PCIe 16 GT/s x16 at 0000:41:00.0 on hostA");
  EXPECT_EQ(e.terms[*e.limiting].host, "hostA");
  EXPECT_EQ(e.terms[*e.limiting].address, "0000:41:00.0");
  EXPECT_EQ(pcie_names(e).size(), 3U) << "card and port above it of hostA, the card of hostB";
  EXPECT_EQ(e.at_most_gbit_per_s(), e.gbit_per_s());
}

TEST(ExpectRdma, AddsTheSlotsOfSlavesOnTwoCards) {
  // g3 x16 carries 115.2 per card (link-rates, section 2.5), two of them 230.5; few QPs may all use one, or both.
  const RdmaEnd end = bond_end({"0000:41:00.0", "0000:81:00.0"}, {"0000:40:01.0", "0000:80:01.0"}, 8);
  const RdmaEnd peer = ndr_end("hostB", "0000:81:00.0", 32);
  const Expectation many = expect_rdma({.flow = Flow::both, .qps = 8}, end, peer);
  EXPECT_NEAR(*many.gbit_per_s(), 230.46, 0.05);
  EXPECT_EQ(many.terms[*many.limiting].name, "PCIe 8 GT/s x16 at 0000:41:00.0 on hostA (1 of 2 slaves)");
  EXPECT_EQ(many.terms[*many.limiting].formula.rfind("2 / 1 x 16 x 0.9846 GB/s x 8 x 256 / (256 + 24)", 0), 0U);
  const Expectation two = expect_rdma({.flow = Flow::both, .qps = 2}, end, peer);
  EXPECT_NEAR(*two.gbit_per_s(), 115.23, 0.05);
  EXPECT_NEAR(*two.at_most_gbit_per_s(), 230.46, 0.05);
  const Expectation one = expect_rdma({.flow = Flow::both, .qps = 1}, end, peer);
  EXPECT_NEAR(*one.at_most_gbit_per_s(), 115.23, 0.05);
}

TEST(ExpectRdma, TakesTheDevicesOwnPathWhereNoSlaveHasOne) {
  RdmaEnd end = bond_end({"0000:41:00.0"}, {"0000:40:01.0"}, 16);
  end.netdev->bond_slaves = {"ens1", "ens2"};
  end.slaves.clear();
  EXPECT_NEAR(*expect_rdma({.flow = Flow::both, .qps = 8}, end, end).gbit_per_s(), 230.46, 0.01);
}

TEST(ExpectTcp, ABondHasThePcieLinksOfItsSlaves) {
  const RdmaEnd bond = bond_end({"0000:41:00.0", "0000:41:00.1"}, {"0000:40:01.0", "0000:40:01.0"}, 8);
  const TcpEnd end{"hostA", *bond.netdev, bond.slaves, std::nullopt};
  const Expectation e = expect_tcp({.streams = 8}, {"hostB", netdev_of("ens9", 400), {}, std::nullopt}, end);
  EXPECT_NEAR(*e.gbit_per_s(), 115.2, 0.05);   // g3 x16, DMA write
  EXPECT_EQ(e.terms[*e.limiting].kind, TermKind::pcie);
}

TEST(ExpectRdma, IsOnlyAWireLimitForSmallMessagesAndRates) {
  const RdmaEnd end = roce_end("hostA", 100, 4096);
  EXPECT_TRUE(expect_rdma({.message_bytes = 64}, end, end).wire_limit_only);
  EXPECT_TRUE(expect_rdma({.message_bytes = 16383}, end, end).wire_limit_only);
  EXPECT_FALSE(expect_rdma({.message_bytes = 16384}, end, end).wire_limit_only);
  EXPECT_TRUE(expect_rdma({.message_rate = true}, end, end).wire_limit_only);
  EXPECT_TRUE(expect_rdma({.operation = RdmaOperation::atomic}, end, end).wire_limit_only);
  EXPECT_NEAR(*expect_rdma({.message_bytes = 64}, end, end).gbit_per_s(), 39.5, 0.05);
}

TEST(ExpectRdma, ExpectsNoMoreThanThePlanAskedFor) {
  // --rate-limit 10G is of each side, whatever its QPs: 10 of a link that carries 98.04. A limit above the link limits nothing.
  const RdmaEnd end = roce_end("hostA", 100, 4096);
  const Expectation slow = expect_rdma({.message_bytes = kMebibyte, .qps = 8, .asked_gbit_per_s = 10}, end, end);
  EXPECT_NEAR(*slow.gbit_per_s(), 10, 1e-9);
  EXPECT_TRUE(slow.is_as_asked());
  EXPECT_EQ(slow.limit()->name, "rate limit 10 Gb/s as asked");
  const Expectation fast = expect_rdma({.message_bytes = kMebibyte, .qps = 8, .asked_gbit_per_s = 200}, end, end);
  EXPECT_NEAR(*fast.gbit_per_s(), 98.04, 0.005);
  EXPECT_FALSE(fast.is_as_asked());
}

TEST(ExpectTcp, ExpectsNoMoreThanThePacingAskedFor) {
  // --pacing 10G over all streams. Where the fq qdisc paces, frames of 14 + 1500 B carry 1448 B: 10 x 1448 / 1514 = 9.564.
  const TcpEnd end{"hostA", netdev_of("ens1", 100, 1500), {}, std::nullopt};
  const Expectation e = expect_tcp({.streams = 8, .asked_gbit_per_s = 10}, end, end);
  EXPECT_NEAR(*e.gbit_per_s(), 9.564, 0.0005);
  EXPECT_NEAR(*e.at_most_gbit_per_s(), 10, 1e-9);
  EXPECT_EQ(e.limit()->name, "pacing 10 Gb/s as asked");
}

TEST(ExpectTcp, RestsOnTheMssReadBack) {
  // --mss 536 leaves 524 beside the timestamps: 524 / (524 + 12 + 20 + 20 + 38) = 524 / 614 of 100 Gb/s.
  const TcpEnd end{"hostA", netdev_of("ens1", 100, 9000), {}, std::nullopt};
  const Expectation e = expect_tcp({.mss_bytes = 524, .streams = 8}, end, end);
  EXPECT_NEAR(*e.gbit_per_s(), 85.342, 0.0005);
  EXPECT_NE(e.limit()->formula.find("524 / 614 (MSS 524, IPv4"), std::string::npos) << e.limit()->formula;
  // 9000 - 20 - 32 = 8948 is what the MTU has room for; without timestamps the kernel reports 8960, which changes nothing.
  const double full = *expect_tcp({.streams = 8}, end, end).gbit_per_s();
  EXPECT_NEAR(*expect_tcp({.mss_bytes = 8948, .streams = 8}, end, end).gbit_per_s(), full, 1e-9);
  EXPECT_NEAR(*expect_tcp({.mss_bytes = 8960, .streams = 8}, end, end).gbit_per_s(), full, 1e-9);
}

TEST(ExpectTcp, TakesTheSmallerMtuAndTheSlowerLink) {
  const TcpEnd a{"hostA", netdev_of("ens1", 100, 9000), {}, std::nullopt}, b{"hostB", netdev_of("ens5", 25, 1500), {}, std::nullopt};
  const Expectation e = expect_tcp({}, a, b);
  EXPECT_NEAR(*e.gbit_per_s(), 25 * .9415, 0.002);
  EXPECT_EQ(e.terms[*e.limiting].name, "link 25 Gb/s Ethernet of ens5 on hostB");
  EXPECT_NEAR(*expect_tcp({.mtu_bytes = 9000, .ipv6 = true}, a, a).gbit_per_s(), 98.78, 0.005);
}

TEST(ExpectTcp, SaysWhyThereIsNoExpectation) {
  TcpEnd lo{"hostA", netdev_of("lo", 0, 65536), {}, std::nullopt};
  lo.netdev.type = Fact<int>::of(772);
  EXPECT_EQ(expect_tcp({}, lo, lo).reason, "link rate of lo on hostA unknown: loopback has no link");
  lo.link_gbit_per_s = 40;
  EXPECT_TRUE(expect_tcp({}, lo, lo).gbit_per_s());
}

TEST(ExpectTcp, NamesANarrowPcieLink) {
  TcpEnd end{"hostB", netdev_of("ens5", 100, 9000), {}, std::nullopt};
  end.netdev.pci.links = {pci_link("0000:17:00.1", 8, 8)};
  end.netdev.pci.max_payload_bytes = Fact<int>::of(256);
  const Expectation e = expect_tcp({}, {"hostA", netdev_of("ens1", 100, 9000), {}, std::nullopt}, end);
  EXPECT_EQ(e.terms[*e.limiting].name, "PCIe 8 GT/s x8 at 0000:17:00.1 on hostB");
  EXPECT_NEAR(*e.gbit_per_s(), 57.6, 0.05);     // link-rates, section 2.5: "g3 x8 caps at ≈ 57.6 Gb/s"
}

TEST(ExpectLink, NamesTheSmallest) {
  // NVIDIA's own rule of thumb, and link-rates 2.5: 400G needs g5 x16; on g4 x16 PCIe limits.
  LinkQuestion question{.data_gbit_per_s = 400, .link_name = "4X NDR", .rdma = Message{}, .tcp = std::nullopt, .pcie = PcieLink{4, 16, 256}};
  const Expectation e = expect_link(question);
  EXPECT_EQ(e.terms[*e.limiting].name, "PCIe 16 GT/s x16 at the receiver");
  question.pcie = PcieLink{5, 16, 256};
  EXPECT_EQ(expect_link(question).limiting, 0U);
}

TEST(Overview, HasEveryLinkAtEveryMtu) {
  const auto tables = overview();
  ASSERT_EQ(tables.size(), 7U);
  EXPECT_EQ(tables[0].rows.size(), kLaneSpeeds.size() * kWidths.size());
  for (const OverviewTable& table : tables) {
    for (const OverviewRow& row : table.rows) {
      for (const auto& [bytes, gbit_per_s] : row.goodput) {
        EXPECT_GT(gbit_per_s, 0) << row.link << bytes;
        EXPECT_LT(gbit_per_s, row.data_gbit_per_s) << row.link << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace railgauge::rates
