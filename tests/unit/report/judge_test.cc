#include "report/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/cause.h"

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

/// 8-QP write on a 100G RoCE link at path MTU 4096: 98.04 Gbit/s (link-rates.md 2.3).
constexpr double kExpected = 98.04;

Measurement write_at(double mean_gbit_per_s) {
  Measurement m;
  m.plan.transport = plan::Transport::rdma;
  m.plan.operation = plan::Operation::write;
  m.plan.rdma.qps = 8;
  m.outcome = Outcome::done;
  m.sides.resize(2);
  m.sides[0].host = "alpha";
  m.sides[1].host = "beta";
  m.throughput.emplace();
  m.throughput->mean_gbit_per_s = stats::Value::of(mean_gbit_per_s);
  m.throughput->ci95_half_width_gbit_per_s = stats::Value::of(0.3);
  m.throughput->steady = true;
  rates::Term port;
  port.name = "port 100 Gb/s (4X EDR) of mlx5_0 on beta";
  port.gbit_per_s = kExpected;
  m.expectation.terms = {port};
  m.expectation.limiting = 0;
  return m;
}

Measurement tcp_at(double mean_gbit_per_s, int streams) {
  Measurement m = write_at(mean_gbit_per_s);
  m.plan.transport = plan::Transport::tcp;
  m.plan.operation = plan::Operation::stream;
  m.plan.streams = streams;
  return m;
}

Measurement latency_at(double p50_ns, double p99_ns) {
  Measurement m = write_at(1);
  m.throughput.reset();
  m.plan.metric = plan::Metric::latency;
  m.latency.emplace();
  m.latency->p50_ns = stats::Value::of(p50_ns);
  m.latency->p99_ns = stats::Value::of(p99_ns);
  return m;
}

void move_counter(Measurement& m, const std::string& name, std::uint64_t by, std::size_t side = 1) {
  m.sides[side].counters.push_back({"mlx5_0/1", name, Fact<std::uint64_t>::of(7), Fact<std::uint64_t>::of(7 + by), Fact<std::uint64_t>::of(by), false});
}

TEST(Judge, SeparatesMetMarginalAndBelow) {
  // 0.95 x 98.04 = 93.138; 0.90 x 98.04 = 88.236.
  EXPECT_EQ(judge(write_at(93.14), Record{}).word, VerdictWord::met);
  EXPECT_EQ(judge(write_at(93.13), Record{}).word, VerdictWord::marginal);
  EXPECT_EQ(judge(write_at(88.24), Record{}).word, VerdictWord::marginal);
  EXPECT_EQ(judge(write_at(88.23), Record{}).word, VerdictWord::below);
}

/// A thread of beta's that had no CPU for so much of a run of 2 s.
void make_wait(Measurement& m, std::chrono::milliseconds waited) {
  results::ThreadUsage thread;
  thread.elapsed = std::chrono::seconds(2);
  thread.run_queue_wait = Fact<std::chrono::nanoseconds>::of(waited);
  m.sides[1].threads.assign(3, {});
  m.sides[1].threads[2] = thread;
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

TEST(Judge, RestsOnTheCriterionItNames) {
  Verdict verdict = judge(write_at(88), Record{});
  EXPECT_EQ(verdict.criterion, "computed");
  EXPECT_EQ(verdict.observed, 88);
  EXPECT_EQ(verdict.expected, kExpected);
  EXPECT_NEAR(*verdict.fraction, 0.8976, 1e-4);
  EXPECT_EQ(verdict.unit, "Gbit/s");
  EXPECT_EQ(verdict.limiting_term, "port 100 Gb/s (4X EDR) of mlx5_0 on beta");
  EXPECT_FALSE(verdict.cause.empty());
}

TEST(Judge, AsksToExplainWhatALinkCannotCarry) {
  // 1.02 x 98.04 = 100.0008.
  EXPECT_EQ(judge(write_at(100.0), Record{}).word, VerdictWord::met);
  Verdict verdict = judge(write_at(100.1), Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, HasSubstr("102.1 % of what the link can carry"));
}

TEST(Judge, TakesTheUsersWordOverTheComputed) {
  Thresholds user;
  user.required_gbit_per_s = 99;
  Verdict verdict = judge(write_at(98), Record{}, user);
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.criterion, "user");
  user.required_gbit_per_s = 40;
  EXPECT_EQ(judge(write_at(98), Record{}, user).word, VerdictWord::met);
  EXPECT_EQ(judge(tcp_at(41, 1), Record{}, user).word, VerdictWord::met);
  Thresholds strict;
  strict.met_fraction = 0.99;
  EXPECT_EQ(judge(write_at(97), Record{}, strict).word, VerdictWord::marginal);
}

TEST(Judge, NeverPassesWithoutACriterion) {
  Measurement m = write_at(98);
  m.expectation = {};
  m.expectation.reason = "link rate of mlx5_0 port 1 on beta unknown: EINVAL";
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_EQ(verdict.cause, "link rate of mlx5_0 port 1 on beta unknown: EINVAL");
  m = write_at(98);
  m.expectation.wire_limit_only = true;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
}

TEST(Judge, RefusesToPassAnUnsteadyRun) {
  Measurement m = write_at(97);
  m.throughput->steady = false;
  m.throughput->steady_reason = "drift 4.1 %";
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_EQ(verdict.cause, "not steady: drift 4.1 %");
}

TEST(Judge, CallsAnUnsteadyRunBelowOnlyWhenNoiseDoesNotExplainIt) {
  Measurement m = write_at(70);
  m.throughput->steady = false;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::below);
  // 88 + 0.3 is above 88.236: it might be marginal.
  m.throughput->mean_gbit_per_s = stats::Value::of(88.0);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
}

TEST(Judge, FailsOnWrongDataWhateverTheSpeed) {
  Measurement m = write_at(98);
  m.sides[1].verification = results::Verification{65536, 3, 4099, 0xa5, 0xa4};
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_EQ(verdict.cause, "data on beta is wrong: 3 of 65536 bytes checked differ, first at offset 4099: expected 0xa5, found 0xa4");
  m.sides[1].verification->mismatched_bytes = 0;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
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

TEST(Judge, AttributesLowBandwidthByWhatMoved) {
  Measurement host_bound = write_at(60);
  move_counter(host_bound, "tx_prio3_pause", 44);
  EXPECT_THAT(judge(host_bound, Record{}).cause, HasSubstr("bound by the host: tx_prio3_pause +44 on beta"));
  Measurement fabric_bound = write_at(60);
  move_counter(fabric_bound, "np_cnp_sent", 9, 0);
  EXPECT_THAT(judge(fabric_bound, Record{}).cause, HasSubstr("bound by the fabric: np_cnp_sent +9 on alpha"));
  Measurement lossy = write_at(60);
  move_counter(lossy, "out_of_sequence", 5);
  EXPECT_THAT(judge(lossy, Record{}).cause, HasSubstr("lossy path: out_of_sequence +5"));
  Measurement quiet = write_at(60);
  move_counter(quiet, "port_xmit_data", 5000);
  EXPECT_THAT(judge(quiet, Record{}).cause, HasSubstr("no counter of loss, pause or congestion moved"));
}

TEST(Judge, DoesNotBlameALinkForOneQp) {
  Measurement m = write_at(60);
  m.plan.rdma.qps = 1;
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_THAT(verdict.cause, HasSubstr("one QP alone"));
  m.throughput->mean_gbit_per_s = stats::Value::of(97.0);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
  // Below half of the link is not explained by there being one QP.
  m.throughput->mean_gbit_per_s = stats::Value::of(24.3);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::below);
}

TEST(Judge, JudgesSeveralTcpStreamsAndNamesTheLimiterOfOne) {
  Measurement one = tcp_at(31, 1);
  one.sides[0].limiter = "receive window";
  Verdict verdict = judge(one, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_THAT(verdict.cause, HasSubstr("limited by the receive window"));
  EXPECT_EQ(judge(tcp_at(31, 6), Record{}).word, VerdictWord::below);
  EXPECT_EQ(judge(tcp_at(95, 6), Record{}).word, VerdictWord::met);
}

TEST(Judge, JudgesTheWorseOfBothDirections) {
  Measurement m = write_at(98);
  m.plan.direction = plan::Direction::both;
  m.throughput_reverse = m.throughput;
  m.throughput_reverse->mean_gbit_per_s = stats::Value::of(71.5);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.observed, 71.5);
}

TEST(Judge, GivesSoftwareDevicesAndLoopbackNoVerdict) {
  Measurement m = write_at(3.1);
  m.sides[0].software_device = true;
  move_counter(m, "link_downed", 2);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_THAT(verdict.cause, HasSubstr("no hardware verdict"));
  Record loopback;
  loopback.same_host = true;
  EXPECT_EQ(judge(tcp_at(300, 6), loopback).word, VerdictWord::no_criterion);
}

TEST(Judge, NamesLossOnASoftwareDeviceWithoutAVerdict) {
  Measurement m = write_at(3.1);
  m.sides[0].software_device = true;
  move_counter(m, "rcvd_seq_err", 70);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_THAT(verdict.cause, HasSubstr("lost or reordered packets"));
}

TEST(Judge, MarksARehearsal) {
  Measurement m = write_at(60);
  m.sides[0].simulated = m.sides[1].simulated = true;
  Record same;
  same.same_host = true;
  Verdict verdict = judge(m, same);
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.criterion, "simulated");
}

TEST(Judge, KeepsOutcomesApart) {
  Measurement m = write_at(98);
  m.outcome = Outcome::partial;
  m.reason = "the peer vanished";
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
  m.outcome = Outcome::failed;
  m.reason.clear();
  m.error = results::ErrorInfo{"verbs", 12, "run", "client", "RETRY_EXC_ERR"};
  EXPECT_EQ(judge(m, Record{}).cause, "not measured: RETRY_EXC_ERR");
  m.outcome = Outcome::skipped;
  m.reason = "no RDMA device";
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::skipped);
}

TEST(Judge, WithheldPercentilesSpoilALatencyOnlyWhereTheUserSetALimit) {
  Measurement m = latency_at(1700, 2100);
  m.latency->samples = 17;
  m.latency->p50_ns = stats::Value::missing("17 samples; p50 needs 20");
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
  Thresholds limit;
  limit.allowed_p50_us = 2.5;
  EXPECT_EQ(judge(m, Record{}, limit).word, VerdictWord::inconclusive);
  m.latency->samples = 0;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
}

TEST(ExitCode, OfMeasurementsAskedForWronglyIsUsage) {
  Record record;
  record.measurements.push_back(write_at(98));
  Measurement& wrong = record.measurements.front();
  wrong.outcome = Outcome::failed;
  wrong.error = results::ErrorInfo{"usage", 0, "prepare", "client", "GID index 77 is empty"};
  wrong.verdict = judge(wrong, record);
  EXPECT_EQ(exit_code(record), ExitCode::usage);
  record.measurements.push_back(wrong);
  record.measurements.back().error->kind = "verbs";
  EXPECT_EQ(exit_code(record), ExitCode::not_measured);
}

TEST(ExitCode, AUsersLimitCountsOnASimulatedDeviceToo) {
  Record record;
  record.simulated = true;
  record.measurements.push_back(write_at(60));
  Measurement& m = record.measurements.front();
  m.sides[0].simulated = true;
  m.verdict = judge(m, record);
  EXPECT_EQ(exit_code(record), ExitCode::met);
  Thresholds user;
  user.required_gbit_per_s = 61.0;
  m.verdict = judge(m, record, user);
  EXPECT_EQ(exit_code(record), ExitCode::below_expectation);
}

TEST(ExitCode, OfACheckThatCouldJudgeNothingIsNotMet) {
  Record record;
  record.subcommand = "check";
  record.measurements.push_back(write_at(98));
  record.measurements.front().verdict.word = VerdictWord::no_criterion;
  EXPECT_EQ(exit_code(record), ExitCode::not_measured);
  record.subcommand = "rdma";
  EXPECT_EQ(exit_code(record), ExitCode::met);
  record.subcommand = "check";
  record.software_device = true;
  EXPECT_EQ(exit_code(record), ExitCode::met);
}

TEST(Judge, HasNoCriterionForLatencyUnlessTheUserGivesOne) {
  Verdict verdict = judge(latency_at(1700, 2100), Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_EQ(verdict.observed, 1.7);
  EXPECT_EQ(verdict.unit, "us");
  EXPECT_TRUE(verdict.cause.empty());
  Thresholds user;
  user.allowed_p50_us = 2.5;
  EXPECT_EQ(judge(latency_at(1700, 2100), Record{}, user).word, VerdictWord::met);
  user.allowed_p99_us = 2.0;
  verdict = judge(latency_at(1700, 2100), Record{}, user);
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.observed, 2.1);
  user.allowed_p50_us = 1.6;
  EXPECT_THAT(judge(latency_at(1700, 1900), Record{}, user).cause, HasSubstr("median 1.70 us is above the 1.60 us allowed"));
}

TEST(Judge, SpeaksOfALongTail) {
  EXPECT_THAT(judge(latency_at(1700, 17'000), Record{}).cause, HasSubstr("99th percentile is 10 times the median"));
}

TEST(CauseOfLowExpectation, NamesAPcieLinkThatCouldDoBetter) {
  Measurement m = write_at(50);
  rates::Term pcie;
  pcie.name = "PCIe 8 GT/s x8 at 0000:3b:00.0 on beta";
  pcie.gbit_per_s = 57.6;  // link-rates.md 2.5: g3 x8 at MaxPayload 256
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
  Verdict verdict = judge(m, half_width_record(m));
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_THAT(verdict.cause, HasSubstr("mlx5_0 port 1 on alpha runs at 200 Gb/sec (2X NDR): 2 of 4 lanes, less than the rate given"));
  EXPECT_THAT(verdict.remedies, testing::Contains(HasSubstr("damaged lane")));
}

}  // namespace
}  // namespace railgauge::report
