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
using testing::Not;

/// A thread of beta's that had no CPU for so much of a run of 2 s.
void make_wait(Measurement& m, std::chrono::milliseconds waited) {
  results::ThreadUsage thread;
  thread.elapsed = std::chrono::seconds(2);
  thread.run_queue_wait = Fact<std::chrono::nanoseconds>::of(waited);
  m.sides[1].threads.assign(3, {});
  m.sides[1].threads[2] = thread;
}

TEST(Judge, NamesAThreadWithoutACpuWhereNothingWasCounted) {
  Measurement m = write_at(0);
  make_wait(m, std::chrono::milliseconds(1900));
  m.outcome = results::Outcome::failed;
  m.reason = "nothing was counted in the measured window";
  EXPECT_THAT(judge(m, Record{}).cause, HasSubstr("measured window; CPU contention: a measuring thread on beta was ready to run but had no CPU for 95 %"));
  m.error = results::ErrorInfo{"transport", 12, "run", "client", "no answer"};
  EXPECT_THAT(judge(m, Record{}).cause, Not(HasSubstr("CPU contention")));
}

TEST(Judge, NamesCpuContentionFromFivePerCent) {
  Measurement m = write_at(70);
  make_wait(m, std::chrono::milliseconds(100));  // 5 % of 2 s: not more
  EXPECT_THAT(judge(m, Record{}).cause, Not(HasSubstr("contention")));
  make_wait(m, std::chrono::milliseconds(180));  // 9 %
  EXPECT_THAT(judge(m, Record{}).cause, HasSubstr("CPU contention: a measuring thread on beta was ready to run but had no CPU for 9 % of the time"));
  m.throughput->mean_gbit_per_s = stats::Value::of(98.0);
  EXPECT_THAT(judge(m, Record{}).cause, Not(HasSubstr("contention")));
  Measurement slow = latency_at(2000, 90000);
  make_wait(slow, std::chrono::milliseconds(600));
  EXPECT_THAT(judge(slow, Record{}).cause, HasSubstr("had no CPU for 30 % of the time"));
}

TEST(Judge, TakesAWaitForTheCauseOnlyWhereItExplainsWhatIsMissing) {
  Measurement m = write_at(70);  // 28.6 % of 98.04 are missing
  move_counter(m, "out_of_sequence", 100000);
  make_wait(m, std::chrono::milliseconds(180));  // 9 %
  EXPECT_THAT(judge(m, Record{}).cause, testing::AllOf(HasSubstr("lossy path: out_of_sequence"), HasSubstr("; beside it CPU contention")));
  make_wait(m, std::chrono::milliseconds(600));  // 30 %
  EXPECT_THAT(judge(m, Record{}).cause, testing::AllOf(HasSubstr("CPU contention"), Not(HasSubstr("lossy"))));
}

TEST(Judge, KnowsNothingOfALinkWhereAWaitForTheCpuExplainsWhatIsMissing) {
  Measurement m = write_at(70);
  make_wait(m, std::chrono::milliseconds(600));  // 30 % of the time, 28.6 % are missing
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("stop what else runs")));
  make_wait(m, std::chrono::milliseconds(180));
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::below);
}

TEST(Judge, NamesADepthThatDoesNotFillTheRoundTrip) {
  Measurement m = write_at(2);
  m.plan.rdma.depth = 8;
  m.plan.message_bytes = 65536;
  // 8 QPs x 8 x 65536 bytes in 20 ms: 4194304 x 8 bit / 0.02 s = 1.68 Gbit/s.
  Record record;
  record.measurements = {latency_at(10e6, 11e6)};
  record.measurements[0].latency_meaning = "half round trip, closed loop";
  EXPECT_THAT(judge(m, record).cause, HasSubstr("bound by --depth: 8 QPs x 8 x 64 KiB in flight over a round trip of 20.0 ms are 1.68 Gbit/s at most"));
  record.measurements[0].latency_meaning = "round trip, closed loop";
  EXPECT_THAT(judge(m, record).cause, HasSubstr("over a round trip of 10.0 ms are 3.36 Gbit/s at most"));
  // 4194304 x 8 bit / 98.04 Gbit/s = 342 us: a shorter round trip is filled.
  record.measurements[0].latency->p50_ns = stats::Value::of(340e3);
  EXPECT_THAT(judge(m, record).cause, Not(HasSubstr("--depth")));
  auto remedies = judge(m, record).remedies;
  EXPECT_THAT(remedies, testing::Contains(HasSubstr("8 QPs x 8 x 64 KiB in flight fill 98.0 Gbit/s over a round trip of 342")));
}

TEST(Judge, FailsAFastButDirtyLink) {
  for (const char* name : {"link_downed", "symbol_error", "rx_crc_errors_phy", "carrier_changes"}) {
    Measurement m = write_at(98);
    move_counter(m, name, 1);
    Verdict verdict = judge(m, Record{});
    EXPECT_EQ(verdict.word, VerdictWord::failed) << name;
    EXPECT_THAT(verdict.cause, HasSubstr(std::string("fast but dirty: ") + name + " +1 on beta")) << name;
  }
}

TEST(Judge, TakesRawErrorsBeforeFecForHealthy) {
  // mlx5 counters.rst: rx_err_lane_[l]_phy "counts errors before FEC corrections", of which PAM4 always has some.
  Measurement m = write_at(98);
  move_counter(m, "rx_err_lane_0_phy", 812345);
  move_counter(m, "rx_err_lane_3_phy", 7);
  move_counter(m, "rx_corrected_bits_phy", 812352);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::met);
  EXPECT_EQ(verdict.cause, "");
  move_counter(m, "rx_pcs_symbol_err_phy", 1);  // what FEC did not correct
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::failed);
}

TEST(Judge, AsksForTheMendOfTheCounterThatMoved) {
  // host-facts.md 3.2: a cable for lanes, the card for PCIe signals, this host for pauses that it sends.
  const std::vector<std::pair<const char*, const char*>> mends = {
      {"symbol_error", "replace the cable or optics"},     {"rx_pci_signal_integrity", "reseat the card"},
      {"tx_pause_storm_warning_events", "this host from draining"}, {"excessive_buffer_overrun_errors", "compare buffers, VLs and firmware"},
      {"rx_icrc_encapsulated", "measure over other switches"}};
  for (const auto& [name, mend] : mends) {
    Measurement m = write_at(98);
    move_counter(m, name, 1);
    Verdict verdict = judge(m, Record{});
    EXPECT_EQ(verdict.word, VerdictWord::failed) << name;
    EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr(mend))) << name;
  }
}

TEST(Judge, IgnoresTotalsThatDidNotMove) {
  Measurement m = write_at(98);
  m.sides[0].counters.push_back({"mlx5_0/1/counters", "link_downed", Fact<std::uint64_t>::of(14), Fact<std::uint64_t>::of(14), Fact<std::uint64_t>::of(0), false});
  m.sides[0].counters.push_back({"mlx5_0/1/counters", "symbol_error", Fact<std::uint64_t>::of(65535), Fact<std::uint64_t>::of(65535), Fact<std::uint64_t>::missing("saturated"), false});
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
}

TEST(Judge, LetsLossBeMarginalAtBestOnRdmaAndNothingOnTcp) {
  Measurement m = write_at(98);
  move_counter(m, "packet_seq_err", 12);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::marginal);
  m = tcp_at(98, 8);
  move_counter(m, "rx_discards_phy", 12);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
}

TEST(Judge, NamesLossOnASoftwareDeviceWithoutAVerdict) {
  Measurement m = write_at(3.1);
  m.sides[0].software_device = true;
  move_counter(m, "rcvd_seq_err", 70);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_THAT(verdict.cause, HasSubstr("lost or reordered packets"));
}

/// Of each stream at the begin and the end of the window.
void retransmit(Measurement& m, std::vector<std::pair<std::uint64_t, std::uint64_t>> totals) {
  int stream = 0;
  for (auto [before, after] : totals) {
    m.sides[0].tcp_info.push_back({stream, std::chrono::milliseconds(0), {{"total_retrans", before}}});
    m.sides[0].tcp_info.push_back({stream++, std::chrono::seconds(1), {{"total_retrans", after}}});
  }
}

TEST(CauseOfLowBandwidth, CountsTcpRetransmissionsOfTheWindow) {
  Measurement m = tcp_at(60, 2);
  retransmit(m, {{100, 107}, {30, 35}});  // 7 + 5; the rest is of the connection's slow start before it
  EXPECT_EQ(cause_of_low_bandwidth(m, Record{}).sentence, "12 TCP retransmissions");
  m.sides[0].tcp_info.clear();
  retransmit(m, {{100, 100}, {30, 30}});
  EXPECT_THAT(cause_of_low_bandwidth(m, Record{}).sentence, Not(HasSubstr("retransmissions")));
}

/// 12 whole intervals of 100 ms at 98 Gbit/s, but one, the fifth, at `lowest`, as beta received them.
Measurement dip_at(double lowest) {
  Measurement m = write_at((11 * 98 + lowest) / 12);
  for (int i = 0; i < 12; ++i) {
    const auto bytes = static_cast<std::uint64_t>((i == 4 ? lowest : 98) * 12'500'000);  // 1 Gbit/s is 12.5 MB in 100 ms
    m.sides[1].received_intervals.push_back({std::chrono::milliseconds(100 * i), std::chrono::milliseconds(100), bytes, 1, false});
  }
  m.throughput->interval = std::chrono::milliseconds(100);
  m.throughput->whole_intervals = 12;
  m.throughput->min_gbit_per_s = stats::Value::of(lowest);
  m.throughput->elapsed = std::chrono::milliseconds(1200);
  return m;
}

TEST(CauseOfDropout, LetsALinkThatWasAwayBeMarginalAtBest) {
  // (11 x 98 + 40) / 12 = 93.17: 95.03 % of 98.04 would be met.
  Measurement m = dip_at(40);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::marginal);
  EXPECT_THAT(verdict.cause, testing::StartsWith("the rate fell to 40.00 Gbit/s in the 100 ms from 400 ms on, less than half of the mean of 93.17"));
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("journalctl")));
  // (11 x 98 + 47) / 12 = 93.75, half of it 46.9.
  EXPECT_EQ(judge(dip_at(47), Record{}).word, VerdictWord::met);
  m.throughput->whole_intervals = 9;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met) << "too few to say so";
}

TEST(CauseOfDropout, BlamesNoLinkWhereAThreadHadNoCpuForAsLong) {
  // (1 - 40 / 93.17) x 100 ms = 57 ms are missing; four fifths of that are 46.
  Measurement m = dip_at(40);
  make_wait(m, std::chrono::milliseconds(110));  // 5.5 % of 2 s
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, testing::AllOf(testing::StartsWith("CPU contention: a measuring thread on beta"), testing::EndsWith("says nothing of the link"),
                                            Not(HasSubstr("drops out"))));
  m.sides[1].threads[2].elapsed = std::chrono::milliseconds(500);
  m.sides[1].threads[2].run_queue_wait = Fact<std::chrono::nanoseconds>::of(std::chrono::milliseconds(40));  // 8 %, but too little
  verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::marginal);
  EXPECT_THAT(verdict.cause, HasSubstr("drops out"));
}

TEST(CauseOfDropout, StandsBesideWhatElseIsKnown) {
  Measurement m = dip_at(40);
  move_counter(m, "link_downed", 1);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_THAT(verdict.cause, testing::AllOf(testing::StartsWith("fast but dirty: link_downed +1 on beta"), HasSubstr("the rate fell to 40.00 Gbit/s in the 100 ms from 400 ms on")));
  m = dip_at(40);
  m.sides[0].simulated = m.sides[1].simulated = true;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met) << "a stand-in has no link";
  m.sides[0].simulated = m.sides[1].simulated = false;
  m.sides[0].software_device = true;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
}

TEST(LinkState, IsSaidOfARunThatBrokeOff) {
  Measurement m = write_at(97);
  move_counter(m, "link_downed", 1);
  m.outcome = Outcome::failed;
  m.error = results::ErrorInfo{"verbs", 12, "run", "client", "RETRY_EXC_ERR (12)"};
  Record record;
  record.measurements = {m};
  Verdict& verdict = record.measurements[0].verdict;
  verdict = judge(m, record);
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_THAT(verdict.cause, testing::AllOf(testing::StartsWith("dirty link: link_downed +1 on beta"), testing::EndsWith("; not measured: RETRY_EXC_ERR (12)")));
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("replace the cable")));
  EXPECT_EQ(exit_code(record), ExitCode::below_expectation) << "a known fault, not only no figure";
  record.measurements[0].outcome = Outcome::partial;
  record.measurements[0].reason = "the peer vanished";
  verdict = judge(record.measurements[0], record);
  EXPECT_THAT(verdict.cause, testing::EndsWith("; stopped on the way: the peer vanished"));
  EXPECT_EQ(exit_code(record), ExitCode::below_expectation);
  for (auto& side : record.measurements[0].sides) side.simulated = true;
  record.measurements[0].outcome = Outcome::failed;
  EXPECT_EQ(exit_code(record), ExitCode::not_measured) << "a stand-in has no link";
}

TEST(LinkState, LossIsSaidOfARunThatBrokeOff) {
  Measurement m = write_at(97);
  move_counter(m, "packet_seq_err", 12);
  m.outcome = Outcome::partial;
  m.reason = "the peer vanished";
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, testing::StartsWith("stopped on the way: the peer vanished; packet_seq_err +12 on beta"));
}

TEST(LinkState, DoesNotHideWrongData) {
  Measurement m = write_at(97);
  move_counter(m, "link_downed", 1);
  m.sides[1].verification = results::Verification{65536, 3, 4099, 0xa5, 0xa4};
  EXPECT_THAT(judge(m, Record{}).cause, testing::AllOf(testing::StartsWith("data on beta is wrong"), HasSubstr("; link_downed +1 on beta")));
}

TEST(LinkState, APortThatFlappedIsTheCauseBeforeAllOthers) {
  Measurement m = write_at(70);
  m.throughput->steady = false;
  make_wait(m, std::chrono::milliseconds(600));
  m.sides[1].placement.device = "mlx5_3";
  m.sides[1].placement.port = 2;
  // Words of lib/verbs/event_watcher.cc.
  m.sides[1].events = {"PORT_ERR: the port went down after 391 ms", "LID_CHANGE: the port's LID changed after 395 ms",
                       "PORT_ACTIVE: the port came up after 702 ms"};
  move_counter(m, "link_downed", 1);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_EQ(verdict.cause,
            "dirty link: the link of mlx5_3/2 on beta changed during the run: PORT_ERR: the port went down after 391 ms, "
            "PORT_ACTIVE: the port came up after 702 ms");
  m = write_at(98);
  m.sides[0].events = {"GID_CHANGE: the port's GID table changed after 5 ms"};
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
}

}  // namespace
}  // namespace railgauge::report
