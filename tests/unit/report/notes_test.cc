#include "report/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/examples.h"
#include "measurements.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using host::Fact;
using results::Record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Record record_of(std::vector<results::Measurement> measurements) {
  Record record;
  record.measurements = std::move(measurements);
  for (auto& m : record.measurements) m.verdict = judge(m, record);
  return record;
}

TEST(Notes, NameWhatMovedBesideAVerdictThatIsMet) {
  // Counters of class "warn": host-facts.md 3.2.
  for (const char* name : {"module_high_temp", "rx_oversize_pkts_phy", "rx_global_pause", "port_rcv_remote_physical_errors", "rnr_nak_retry_err", "out_of_buffer",
                           "tx_prio3_pause", "rx_prio5_pause", "rp_cnp_ignored"}) {
    results::Measurement m = write_at(97);
    move_counter(m, name, 40000);
    const Record record = record_of({m});
    EXPECT_EQ(record.measurements[0].verdict.word, results::VerdictWord::met) << name;
    EXPECT_THAT(notes_of(record), ElementsAre(testing::StartsWith(std::string(name) + " +40000 on beta: "))) << name;
  }
}

TEST(Notes, SayWhatAMovementMeansAndWhatMendsIt) {
  results::Measurement m = write_at(97);
  move_counter(m, "rnr_nak_retry_err", 40000, 0);
  move_counter(m, "tx_prio3_pause", 7);
  EXPECT_THAT(notes_of(record_of({m})), ElementsAre("rnr_nak_retry_err +40000 on alpha: the receiver posts too few receives: software, not the link",
                                                    testing::AllOf(HasSubstr("it drains slowly"), HasSubstr("MaxReadReq"))));
}

TEST(Notes, CountACounterOnceOverAllMeasurements) {
  results::Measurement m = write_at(97);
  move_counter(m, "module_high_temp", 2);
  results::Measurement other = m;
  move_counter(other, "module_high_temp", 3, 0);
  EXPECT_THAT(notes_of(record_of({m, other})), ElementsAre(testing::StartsWith("module_high_temp +4 on beta in 2 measurements: "), testing::StartsWith("module_high_temp +3 on alpha: ")));
}

TEST(Notes, LeaveOutWhatAVerdictNamesAndWhatIsNormal) {
  results::Measurement slow = write_at(60);
  move_counter(slow, "tx_prio3_pause", 5000);
  results::Measurement met = write_at(97);
  move_counter(met, "tx_prio3_pause", 3);
  move_counter(met, "np_cnp_sent", 12);
  move_counter(met, "port_xmit_data", 12);
  EXPECT_THAT(notes_of(record_of({slow, met})), IsEmpty());
}

TEST(Notes, NameACounterThatIsFull) {
  results::Measurement m = write_at(97);
  // PortCounters, InfiniBand Architecture 16.1.3.5: 8 bits.
  m.sides[0].counters.push_back({"mlx5_0/1/counters", "link_downed", Fact<std::uint64_t>::of(255), Fact<std::uint64_t>::of(255),
                                 Fact<std::uint64_t>::missing("saturated at 255 (8 bits): clear it (`perfquery -R`)"), false});
  m.sides[0].counters.push_back({"mlx5_0/1/counters", "symbol_error", Fact<std::uint64_t>::of(7), Fact<std::uint64_t>::of(5),
                                 Fact<std::uint64_t>::missing("fell from 7 to 5: cleared meanwhile"), false});
  EXPECT_THAT(notes_of(record_of({m, m})), ElementsAre("link_downed on alpha cannot move any more: saturated at 255 (8 bits): clear it (`perfquery -R`)"));
}

TEST(Notes, NameAGovernorThatSavesPowerBesideALatency) {
  Record record = golden::example("check-met");
  EXPECT_THAT(notes_of(record), IsEmpty());
  record.nodes[0].facts.governor = record.nodes[1].facts.governor = Fact<std::string>::of("powersave");
  EXPECT_THAT(notes_of(record), ElementsAre("CPU governor is powersave on both hosts: latency is likely worse: `cpupower frequency-set -g performance`"));
  record.nodes[1].facts.governor = Fact<std::string>::of("ondemand");
  EXPECT_THAT(notes_of(record), ElementsAre(HasSubstr("powersave on node-07"), HasSubstr("ondemand on node-12")));
  record.nodes[1].facts.governor = Fact<std::string>::missing("absent");
  EXPECT_THAT(notes_of(record), ElementsAre(HasSubstr("powersave on node-07")));
  for (auto& m : record.measurements) m.latency.reset();
  EXPECT_THAT(notes_of(record), IsEmpty());
}

TEST(Notes, NameTheDataNetworkWhereTcpRanOverAnother) {
  Record record = golden::example("check-met");
  for (results::Node& node : record.nodes) {
    host::Netdev eth0 = node.facts.netdevs[0];
    eth0.name = "eth0";
    eth0.speed_gbit_per_s = Fact<double>::of(1);
    node.facts.netdevs.push_back(eth0);
  }
  auto run_over = [&](std::size_t side, const std::string& interface) {
    for (auto& m : record.measurements)
      if (m.plan.transport == plan::Transport::tcp) m.sides[side].placement.interface = interface;
  };
  run_over(1, "eth0");
  EXPECT_THAT(notes_of(record), ElementsAre("TCP ran over eth0 (1 Gb/s) on node-12, not eth2: name 192.0.2.12 (an address of eth2) to test the data network"));
  record.nodes[1].facts.netdevs[0].addresses.clear();
  EXPECT_THAT(notes_of(record), ElementsAre(HasSubstr("give eth2 an address and name it")));
  record.nodes[1].facts.netdevs[1].bond_slaves = {"eth2", "eth3"};
  EXPECT_THAT(notes_of(record), IsEmpty()) << "a bond of it";
  run_over(1, "eth2");
  run_over(0, "eth0");
  EXPECT_THAT(notes_of(record), ElementsAre("TCP ran over eth0 (1 Gb/s) on node-07, not eth2: name an address of the server there to test the data network"));
  record.nodes[0].facts.netdevs[1].name = "eth2.100";
  run_over(0, "eth2.100");
  EXPECT_THAT(notes_of(record), IsEmpty()) << "a VLAN on it";
}

}  // namespace
}  // namespace railgauge::report
