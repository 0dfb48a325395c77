#include "report/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using host::Fact;
using results::Measurement;
using results::Outcome;
using results::Record;
using results::Verdict;
using results::VerdictWord;
using testing::HasSubstr;

TEST(CauseOfLowExpectation, NamesAPcieLinkThatCouldDoBetter) {
  Measurement m = write_at(50);
  rates::Term pcie;
  pcie.name = "PCIe 8 GT/s x8 at 0000:3b:00.0 on beta";
  pcie.gbit_per_s = 57.6;  // link-rates.md 2.5: g3 x8 at MaxPayload 256
  pcie.kind = rates::TermKind::pcie;
  pcie.host = "beta";
  pcie.address = "0000:3b:00.0";
  m.expectation.terms.push_back(pcie);
  m.expectation.limiting = 1;
  Record record;
  record.nodes.resize(1);
  record.nodes[0].facts.hostname = "beta";
  record.nodes[0].facts.rdma_devices.resize(1);
  record.nodes[0].facts.rdma_devices[0].pci.links = {{"0000:3b:00.0", Fact<double>::of(8), Fact<int>::of(8), Fact<double>::of(8), Fact<int>::of(16)}};
  Cause cause = cause_of_low_expectation(m, record);
  EXPECT_EQ(cause.sentence, "PCIe 8 GT/s x8 at 0000:3b:00.0 on beta carries 57.6 Gbit/s, less than the 98.0 of port 100 Gb/s (4X EDR) of mlx5_0 on beta");
  EXPECT_THAT(cause.remedies, testing::ElementsAre(HasSubstr("runs at 8 GT/s x8 and could run at 8 GT/s x16")));
}

/// The remedies for a limiting PCIe link of beta's card: how it runs, what it can, what the port above it can.
std::vector<std::string> remedies_of_slot(double now, double card, double port) {
  Measurement m = write_at(220);
  m.expectation.terms[0].gbit_per_s = 392.14;
  rates::Term pcie;
  pcie.name = "PCIe 16 GT/s x16 at 0000:3b:00.0 on node-1";
  pcie.gbit_per_s = 230.5;
  pcie.kind = rates::TermKind::pcie;
  pcie.host = "node-1";
  pcie.address = "0000:3b:00.0";
  m.expectation.terms.push_back(pcie);
  m.expectation.limiting = 1;
  auto link = [&](const char* address, double best) {
    return host::PciLink{address, Fact<double>::of(now), Fact<int>::of(16), Fact<double>::of(best), Fact<int>::of(16)};
  };
  Record record;
  record.nodes.resize(2);
  // Another host whose name contains the first one's, with a loose card at the same address.
  record.nodes[0].facts.hostname = "node-12";
  record.nodes[0].facts.netdevs.resize(1);
  record.nodes[0].facts.netdevs[0].pci.links = {{"0000:3b:00.0", Fact<double>::of(2.5), Fact<int>::of(1), Fact<double>::of(32), Fact<int>::of(16)}};
  record.nodes[1].facts.hostname = "node-1";
  record.nodes[1].facts.netdevs.resize(1);
  record.nodes[1].facts.netdevs[0].pci.links = {link("0000:3b:00.0", card), link("0000:3a:01.0", port)};
  return cause_of_low_expectation(m, record).remedies;
}

TEST(CauseOfLowExpectation, TellsALooseCardFromASlotThatIsSlower) {
  // host-facts.md 2.2: current = min(own max, parent max). A Gen5 card in a Gen4 slot runs as it should.
  EXPECT_THAT(remedies_of_slot(16, 32, 16),
              testing::ElementsAre("the slot is the limit: 0000:3b:00.0 on node-1 can run at 32 GT/s x16, 0000:3a:01.0 above it at "
                                   "16 GT/s x16: move the card to a better slot, or expect no more"));
  EXPECT_THAT(remedies_of_slot(16, 32, 32), testing::ElementsAre(HasSubstr("0000:3b:00.0 on node-1 runs at 16 GT/s x16 and could run at 32 GT/s x16: reseat")));
  EXPECT_THAT(remedies_of_slot(8, 32, 16), testing::ElementsAre(HasSubstr("runs at 8 GT/s x16 and could run at 16 GT/s x16: reseat")));
  EXPECT_THAT(remedies_of_slot(16, 16, 32), testing::ElementsAre("0000:3b:00.0 on node-1 runs at its best, 16 GT/s x16: it is the limit itself"));
}

TEST(CauseOfLowExpectation, SaysWhatASmallMtuCosts) {
  Measurement m = write_at(92);
  m.expectation.terms[0].gbit_per_s = 92.58;  // link-rates.md 2.3: 100G at path MTU 1024; 98.04 at 4096
  rates::Term better;
  better.name = "ports with path MTU 4096 instead of 1024";
  better.gbit_per_s = 98.04;
  better.informational = true;
  m.expectation.terms.push_back(better);
  // (98.04 - 92.58) / 98.04 = 5.57 %.
  EXPECT_THAT(cause_of_low_expectation(m, Record{}).sentence, HasSubstr("path MTU costs 5.6 % (92.6 Gbit/s; ports with path MTU 4096 instead of 1024 could carry 98.0)"));
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
}

/// A record in which side "client" used mlx5_0 port 1 of host alpha, running 2X NDR: half of a 400 Gb/s port.
Record half_width_record(Measurement& m) {
  m.sides[0].role = "client";
  m.sides[0].placement.device = "mlx5_0";
  m.sides[0].placement.port = 1;
  Record record;
  record.nodes.resize(1);
  record.nodes[0].role = "client";
  record.nodes[0].facts.hostname = "alpha";
  record.nodes[0].facts.rdma_devices.resize(1);
  record.nodes[0].facts.rdma_devices[0].name = "mlx5_0";
  host::RdmaPort port;
  port.link_layer = host::LinkLayer::infiniband;
  port.rate_gbit_per_s = Fact<double>::of(200);
  port.rate_text = Fact<std::string>::of("200 Gb/sec (2X NDR)");
  port.width = Fact<int>::of(2);
  port.speed = Fact<std::string>::of("NDR");
  record.nodes[0].facts.rdma_devices[0].ports = {port};
  return record;
}

TEST(CauseOfLowExpectation, NamesLanesThatAreMissing) {
  Measurement m = write_at(197);
  m.expectation.terms[0].gbit_per_s = 198.6;
  Record record = half_width_record(m);
  EXPECT_EQ(cause_of_low_expectation(m, record).sentence, "mlx5_0 port 1 on alpha runs at 200 Gb/sec (2X NDR): 2 of 4 lanes");
  record.nodes[0].facts.rdma_devices[0].ports[0].width = Fact<int>::of(4);
  EXPECT_EQ(cause_of_low_expectation(m, record).sentence, "");
}

TEST(CauseOfLowExpectation, NamesAnEndThatIsSlowerThanTheOther) {
  // Goodput at 25 and 50 Gb/s and path MTU 4096: a quarter and half of 98.04.
  Measurement m = write_at(24.4);
  m.expectation.terms.push_back(m.expectation.terms[0]);
  m.expectation.terms[0].name = "port 50 Gb/s Ethernet of p0 on alpha";
  m.expectation.terms[0].gbit_per_s = 49.02;
  m.expectation.terms[1].name = "port 25 Gb/s Ethernet of p3 on beta";
  m.expectation.terms[1].gbit_per_s = 24.51;
  m.expectation.limiting = 1;
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::met);
  EXPECT_THAT(verdict.cause, testing::StartsWith("port 25 Gb/s Ethernet of p3 on beta is slower than port 50 Gb/s Ethernet of p0 on alpha: it trained lower, or is another"));
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("reseat or replace the cable")));
  m.expectation.terms[0].gbit_per_s = 24.6;  // another header, the same rate
  EXPECT_EQ(cause_of_low_expectation(m, Record{}).sentence, "");
  m.expectation.terms[0].gbit_per_s = 49.02;
  m.expectation.terms[1].at_most_gbit_per_s = 49.02;  // one of two slaves
  EXPECT_EQ(cause_of_low_expectation(m, Record{}).sentence, "");
}

TEST(CauseOfLowExpectation, NamesAPortSlowerThanAnotherOfItsModel) {
  Measurement m = write_at(195);
  m.expectation.terms[0].gbit_per_s = 196.07;
  Record record = half_width_record(m);
  auto& devices = record.nodes[0].facts.rdma_devices;
  devices[0].ports[0].speed = Fact<std::string>::of("HDR");
  devices[0].ports[0].width = Fact<int>::of(4);
  devices[0].board_id = Fact<std::string>::of("MT_0000000838");
  devices.push_back(devices[0]);
  devices[1].name = "mlx5_3";
  EXPECT_EQ(cause_of_low_expectation(m, record).sentence, "");
  devices[1].ports[0].speed = Fact<std::string>::of("NDR");
  EXPECT_EQ(cause_of_low_expectation(m, record).sentence,
            "mlx5_0 port 1 on alpha runs at 200 Gb/s (4X HDR), and mlx5_3 port 1 there, of the same model, at 400 Gb/s (4X NDR): it trained lower, or is cabled "
            "to another kind of port");
  devices[1].board_id = Fact<std::string>::of("MT_0000000223");
  EXPECT_EQ(cause_of_low_expectation(m, record).sentence, "");
}

TEST(CauseOfLowBandwidth, BothWaysOnOneHostShareThePort) {
  Measurement m = write_at(50);
  m.plan.direction = plan::Direction::both;
  Record record;
  record.same_host = true;
  m.sides.resize(2);
  m.sides[0].role = "client";
  m.sides[1].role = "server";
  for (auto& side : m.sides) side.placement.device = "mlx5_0", side.placement.port = 1;
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("the two directions share its port"));
  m.sides[1].placement.device = "mlx5_1";
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, testing::Not(HasSubstr("share")));
  m.sides[1].placement.device = "mlx5_0";
  record.same_host = false;
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, testing::Not(HasSubstr("share")));
}

TEST(CauseOfLowBandwidth, IsFirstAPortSlowerThanTheRateGiven) {
  Measurement m = write_at(197);
  m.expectation.terms[0].gbit_per_s = 397.2;  // the user said 400
  m.expectation.terms[0].given_by_user = true;
  Verdict verdict = judge(m, half_width_record(m));
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_THAT(verdict.cause, HasSubstr("mlx5_0 port 1 on alpha runs at 200 Gb/s (2X NDR): 2 of 4 lanes, less than the rate given"));
  EXPECT_THAT(verdict.remedies, testing::Contains(HasSubstr("damaged lane")));
}

/// A record in which "client" used an Ethernet port of alpha that prints `printed` above an interface of `gbit_per_s`.
Record ethernet_record(Measurement& m, const char* driver, double printed, int width, const char* speed, double gbit_per_s) {
  Record record = half_width_record(m);
  host::RdmaDevice& device = record.nodes[0].facts.rdma_devices[0];
  device.driver = Fact<std::string>::of(driver);
  device.netdevs = {"bond0"};
  host::RdmaPort& port = device.ports[0];
  port.link_layer = host::LinkLayer::ethernet;
  port.rate_gbit_per_s = Fact<double>::of(printed);
  port.width = Fact<int>::of(width);
  port.speed = Fact<std::string>::of(speed);
  record.nodes[0].facts.netdevs.resize(1);
  record.nodes[0].facts.netdevs[0].name = "bond0";
  record.nodes[0].facts.netdevs[0].speed_gbit_per_s = Fact<double>::of(gbit_per_s);
  return record;
}

TEST(CauseOfLowBandwidth, IsNoPortThatPrintsTheRateOfOneSlave) {
  // link-rates.md 1.4: 2 x 200G as mlx5_bond_0 prints 200; 8 QPs are expected at 392.14 (2.3).
  Measurement m = write_at(250);
  m.expectation.terms[0].gbit_per_s = 392.14;
  Record record = ethernet_record(m, "mlx5_core", 200, 4, "HDR", 400);
  record.nodes[0].facts.netdevs[0].bond_slaves = {"ens1", "ens2"};
  move_counter(m, "out_of_sequence", 500);
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("lossy path: out_of_sequence +500"));
  m.expectation.terms[0].given_by_user = true;
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("lossy path"));
  record.nodes[0].facts.netdevs[0].speed_gbit_per_s = Fact<double>::of(200);
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("runs at 200 Gb/s (2 slaves of bond0), less than the rate given"));
  m.expectation.terms[0].given_by_user = false;
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("lossy path")) << "nobody gave a rate";
}

TEST(CauseInBond, NamesFlowsThatAllLeaveThroughOneSlave) {
  // Field case F69: 183 of 372 Gb/s over 2 x 200G; 392.14 are expected of 8 QPs (link-rates.md 2.3).
  Measurement m = write_at(183);
  m.expectation.terms[0].gbit_per_s = 392.14;
  Record record = ethernet_record(m, "mlx5_core", 200, 4, "HDR", 400);
  record.nodes[0].facts.netdevs[0].bond_slaves = {"ens1", "ens2"};
  Verdict verdict = judge(m, record);
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.cause, "about the rate of one of 2 slaves of bond0 on alpha: all 8 QPs leave through one port");
  EXPECT_THAT(verdict.remedies, testing::Contains(HasSubstr("xmit_hash_policy layer3+4")));
  m.plan.rdma.qps = 2;  // too few to expect more than one slave of
  m.expectation.terms[0].gbit_per_s = 196.07;
  m.expectation.terms[0].at_most_gbit_per_s = 392.14;
  m.throughput->mean_gbit_per_s = stats::Value::of(194);
  verdict = judge(m, record);
  EXPECT_EQ(verdict.word, VerdictWord::met);
  EXPECT_THAT(verdict.cause, HasSubstr("all 2 QPs leave through one port"));
  m.throughput->mean_gbit_per_s = stats::Value::of(372);
  EXPECT_EQ(judge(m, record).cause, "");
  record.nodes[0].facts.netdevs[0].bond_slaves.clear();
  m.throughput->mean_gbit_per_s = stats::Value::of(194);
  EXPECT_EQ(cause_in_bond(m, record).sentence, "");
}

TEST(CauseInBond, SaysThatADeviceIsALagByItsName) {
  Measurement m = write_at(372);
  m.expectation.terms[0].gbit_per_s = 196.07;
  Record record = ethernet_record(m, "mlx5_core", 200, 4, "HDR", 200);
  m.sides[0].placement.device = record.nodes[0].facts.rdma_devices[0].name = "mlx5_bond_0";
  Verdict verdict = judge(m, record);
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, HasSubstr("; mlx5_bond_0 on alpha is a LAG by its name, and the expectation counts one port"));
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("--link-gbps")));
  record.nodes[0].facts.netdevs[0].bond_slaves = {"ens1", "ens2"};
  EXPECT_THAT(judge(m, record).cause, testing::Not(HasSubstr("by its name")));
}

TEST(CauseOfLowBandwidth, IsNoPortWhoseDriverPrintsAFiller) {
  // link-rates.md 1.3: the generic helper of 6.1 prints "100 Gb/sec (4X EDR)" for 200G Ethernet, where 196.07 are expected.
  Measurement m = write_at(120);
  m.expectation.terms[0].gbit_per_s = 196.07;
  m.expectation.terms[0].given_by_user = true;
  Record record = ethernet_record(m, "bnxt_en", 100, 4, "EDR", 200);
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("no counters could be read"));
  record.nodes[0].facts.netdevs.clear();
  EXPECT_THAT(cause_of_low_bandwidth(m, record).sentence, HasSubstr("no counters could be read"));
}

/// A record in which "client" used RoCE GID `used` of mlx5_0 port 1 on alpha, which has a v1 link-local one at index 0, a v2
/// link-local one at 1 and, if `routable`, the v2 one of 192.0.2.7 at 3.
Record roce_record(Measurement& m, int used, bool routable) {
  m.sides[0].role = "client";
  m.sides[0].placement.device = "mlx5_0";
  m.sides[0].placement.port = 1;
  m.sides[0].placement.gid_index = used;
  Record record;
  record.nodes.resize(1);
  record.nodes[0].role = "client";
  record.nodes[0].facts.hostname = "alpha";
  record.nodes[0].facts.rdma_devices.resize(1);
  record.nodes[0].facts.rdma_devices[0].name = "mlx5_0";
  host::RdmaPort port;
  port.link_layer = host::LinkLayer::ethernet;
  port.gids = {{0, "fe80:0000:0000:0000:0a00:27ff:fe00:0007", host::GidType::roce_v1, "eth2", "fe80::a00:27ff:fe00:7"},
               {1, "fe80:0000:0000:0000:0a00:27ff:fe00:0007", host::GidType::roce_v2, "eth2", "fe80::a00:27ff:fe00:7"}};
  if (routable) port.gids.push_back({3, "0000:0000:0000:0000:0000:ffff:c000:0207", host::GidType::roce_v2, "eth2", "192.0.2.7"});
  record.nodes[0].facts.rdma_devices[0].ports = {port};
  return record;
}

TEST(CauseInGids, NamesTheRoutableIndexThatThePortHas) {
  Measurement m = write_at(98);
  Record record = roce_record(m, 0, true);
  Cause cause = cause_in_gids(m, record);
  EXPECT_EQ(cause.sentence, "RoCE v1 GID in use: index 0 (fe80::a00:27ff:fe00:7) of mlx5_0 port 1 on alpha");
  EXPECT_THAT(cause.remedies, testing::ElementsAre("use `--gid-index 3`: RoCE v2 of 192.0.2.7, which mlx5_0 port 1 on alpha has"));
  EXPECT_EQ(judge(m, record).word, VerdictWord::marginal);
  record = roce_record(m, 3, true);
  EXPECT_EQ(cause_in_gids(m, record).sentence, "");
  EXPECT_EQ(judge(m, record).word, VerdictWord::met);
}

TEST(CauseInGids, AsksForAnAddressWhereThereIsNone) {
  Measurement m = write_at(98);
  Record record = roce_record(m, 1, false);
  Cause cause = cause_in_gids(m, record);
  EXPECT_EQ(cause.sentence, "link-local GID in use: index 1 (fe80::a00:27ff:fe00:7) of mlx5_0 port 1 on alpha");
  EXPECT_THAT(cause.remedies, testing::ElementsAre(HasSubstr("on alpha: give eth2 an IPv4 address")));
  record.nodes[0].facts.rdma_devices[0].ports[0].link_layer = host::LinkLayer::infiniband;
  EXPECT_EQ(cause_in_gids(m, record).sentence, "");
}

TEST(CauseInGids, ExplainsAPeerThatDidNotAnswer) {
  Measurement m = write_at(0);
  m.throughput.reset();
  m.outcome = Outcome::failed;
  m.error = results::ErrorInfo{"verbs", 12, "run", "client", "RETRY_EXC_ERR (12), vendor 0x81"};
  Record record = roce_record(m, 0, true);
  Verdict verdict = judge(m, record);
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_THAT(verdict.cause, testing::StartsWith("not measured: RETRY_EXC_ERR (12), vendor 0x81; RoCE v1 GID in use: index 0"));
  EXPECT_THAT(verdict.remedies, testing::Contains(HasSubstr("--gid-index 3")));
}

}  // namespace
}  // namespace railgauge::report
