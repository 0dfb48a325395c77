#include "report/pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"
#include "report/cause.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using testing::HasSubstr;

/// What is said of 60 of 98 Gbit/s where these moved on beta, over 1.1 s with the warm-up.
std::string cause_where(std::vector<std::pair<const char*, std::uint64_t>> moved) {
  Measurement m = write_at(60);
  m.plan.warm_up = std::chrono::milliseconds(100);
  for (const auto& [name, by] : moved) move_counter(m, name, by);
  return cause_of_low_bandwidth(m, Record{}).sentence;
}

TEST(Pressure, AttributesLowBandwidthByWhatMoved) {
  // A pause frame stops a port for 65,535 x 512 bits at most: 342 us of 98.04 Gbit/s. 500 of them: 171 ms of 1.1 s.
  EXPECT_THAT(cause_where({{"tx_prio3_pause", 500}}), HasSubstr("bound by the host: tx_prio3_pause +500 on beta (it told the network to wait, or waited for PCIe, up to 16 %"));
  // 300 us each: 270 ms.
  EXPECT_THAT(cause_where({{"np_cnp_sent", 900}}), HasSubstr("bound by the fabric: np_cnp_sent +900 on beta (congestion or a slow receiver, about 25 %"));
  // 32 bits each: 1.5e9 x 32 / 98.04e9 = 490 ms.
  EXPECT_THAT(cause_where({{"port_xmit_wait", 1'500'000'000}}), HasSubstr("bound by the fabric: port_xmit_wait +1500000000 on beta (congestion or a slow receiver, at least 45 %"));
  // 100 us each: 50 ms.
  EXPECT_THAT(cause_where({{"out_of_sequence", 500}}), HasSubstr("lossy path: out_of_sequence +500 on beta (repeats and waits, about 5 %"));
  // 4.096 us x 2^14 = 67.1 ms each: 201 ms.
  EXPECT_THAT(cause_where({{"local_ack_timeout_err", 3}}), HasSubstr("lossy path: local_ack_timeout_err +3 on beta (repeats and waits, about 18 %"));
  Measurement quiet = write_at(60);
  move_counter(quiet, "port_xmit_data", 5000);
  EXPECT_THAT(judge(quiet, Record{}).cause, HasSubstr("no counter of loss, pause or congestion moved"));
}

TEST(Pressure, TellsCountersThatStoodStillFromThoseNobodyRead) {
  Measurement m = write_at(60);
  EXPECT_EQ(cause_of_low_bandwidth(m, Record{}).sentence, "no counters could be read");
  m.sides[1].counters_read = 61;
  EXPECT_EQ(cause_of_low_bandwidth(m, Record{}).sentence, "no counter of loss, pause or congestion moved");
}

TEST(Pressure, BlamesAReceiverThatPostsTooFewReceives) {
  // 640 us each on one of 8 QPs: 4000 x 640 us / 8 = 320 ms of 1.1 s.
  EXPECT_THAT(cause_where({{"rnr_nak_retry_err", 4000}}), HasSubstr("bound by the receiver: rnr_nak_retry_err +4000 on beta (it had no receive posted: software, not the link, about 29 %"));
  EXPECT_THAT(cause_where({{"out_of_buffer", 4000}}), HasSubstr("bound by the receiver: out_of_buffer +4000"));
}

TEST(Pressure, NamesPfcAndEcnWhereRoceLosesPackets) {
  Measurement m = write_at(60);
  move_counter(m, "out_of_sequence", 5000);
  EXPECT_THAT(cause_of_low_bandwidth(m, Record{}).remedies, testing::Contains(testing::AllOf(HasSubstr("PFC"), HasSubstr("ECN"))));
  EXPECT_THAT(cause_of_low_bandwidth(m, Record{}).remedies, testing::Contains(HasSubstr("every switch port")));
}

TEST(Pressure, DoesNotBlameWhatHardlyMoved) {
  // One frame: 0.342 ms of 1.1 s, 0.03 %. One tick: 0.3 ns.
  EXPECT_EQ(cause_where({{"tx_prio3_pause", 1}}), "what moved does not explain it: tx_prio3_pause +1 on beta, under 1 % of the time");
  EXPECT_EQ(cause_where({{"port_xmit_wait", 1}}), "what moved does not explain it: port_xmit_wait +1 on beta, under 1 % of the time");
  // 10 ms of 1.1 s is 0.9 %, 12 ms 1.1 %.
  EXPECT_THAT(cause_where({{"rx_prio0_pause_duration", 10'000}}), HasSubstr("does not explain"));
  EXPECT_THAT(cause_where({{"rx_prio0_pause_duration", 12'000}}), HasSubstr("bound by the fabric"));
}

TEST(Pressure, BlamesTheHeaviestWhateverTheOrder) {
  // 44 frames: 15 ms at most; 900 notifications: 270 ms.
  EXPECT_THAT(cause_where({{"tx_prio3_pause", 44}, {"np_cnp_sent", 900}}), HasSubstr("bound by the fabric"));
  EXPECT_THAT(cause_where({{"np_cnp_sent", 44}, {"tx_prio3_pause", 900}}), HasSubstr("bound by the host"));
}

TEST(Pressure, TakesTheTimeOfPausesWhereItIsCounted) {
  // 5000 frames would be up to 1.7 s, but they stopped the port for 2 ms: 0.2 %.
  EXPECT_THAT(cause_where({{"tx_prio3_pause", 5000}, {"tx_prio3_pause_duration", 2000}}), HasSubstr("does not explain it: tx_prio3_pause_duration +2000"));
  EXPECT_THAT(cause_where({{"tx_prio3_pause", 5000}, {"rx_prio3_pause_duration", 2000}}), HasSubstr("bound by the host: tx_prio3_pause +5000"));
}

}  // namespace
}  // namespace railgauge::report
