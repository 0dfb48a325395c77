#include "report/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::Verdict;
using results::VerdictWord;
using testing::HasSubstr;

TEST(Judge, SeparatesMetMarginalAndBelow) {
  // 0.95 x 98.04 = 93.138; 0.90 x 98.04 = 88.236.
  EXPECT_EQ(judge(write_at(93.14), Record{}).word, VerdictWord::met);
  EXPECT_EQ(judge(write_at(93.13), Record{}).word, VerdictWord::marginal);
  EXPECT_EQ(judge(write_at(88.24), Record{}).word, VerdictWord::marginal);
  EXPECT_EQ(judge(write_at(88.23), Record{}).word, VerdictWord::below);
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

/// 8 QPs limited to 10 Gbit/s on that link.
Measurement limited_at(double mean_gbit_per_s) {
  Measurement m = write_at(mean_gbit_per_s);
  rates::Term asked;
  asked.name = "rate limit 10 Gb/s as asked";
  asked.gbit_per_s = 10;
  asked.kind = rates::TermKind::asked;
  m.expectation.terms.push_back(asked);
  m.expectation.limiting = 1;
  return m;
}

TEST(Judge, DoesNotBlameALinkForTheLimitAskedFor) {
  Verdict verdict = judge(limited_at(9.98), Record{});
  EXPECT_EQ(verdict.word, VerdictWord::met);
  EXPECT_EQ(verdict.limiting_term, "rate limit 10 Gb/s as asked");
  EXPECT_NEAR(*verdict.fraction, 0.998, 1e-9);
  EXPECT_EQ(judge(limited_at(7), Record{}).word, VerdictWord::below);
  verdict = judge(limited_at(10.3), Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, HasSubstr("103.0 % of the limit asked for"));
}

TEST(Judge, DoesNotClaimTheLinkWhereALimitWasAskedFor) {
  Record record;
  record.measurements = {limited_at(9.98)};
  record.measurements[0].verdict = judge(record.measurements[0], record);
  EXPECT_EQ(overall(record).cause, "the judged measurement reaches the rate asked for, which is less than the link should carry");
}

TEST(Judge, LetsFewFlowsOverABondBeFasterThanOneSlave) {
  // 2 x 200G, two QPs: 196.07 through one slave, 392.14 through both (link-rates.md 2.3); 372 is 190 % of what is safe to expect.
  Measurement m = write_at(372);
  m.plan.rdma.qps = 2;
  m.expectation.terms[0].gbit_per_s = 196.07;
  m.expectation.terms[0].at_most_gbit_per_s = 392.14;
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::met);
  EXPECT_NEAR(*verdict.fraction, 1.897, 1e-3);
  m.throughput->mean_gbit_per_s = stats::Value::of(402);
  verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_THAT(verdict.cause, HasSubstr("102.5 % of what the link can carry"));  // 402 / 392.14
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

TEST(Judge, CallsAUsersLimitMetWhereNoiseDoesNotTouchIt) {
  Measurement m = write_at(4);
  m.throughput->steady = false;
  Thresholds thresholds;
  thresholds.required_gbit_per_s = 1;  // a quarter of the mean; the half width is 0.3
  EXPECT_EQ(judge(m, Record{}, thresholds).word, VerdictWord::met);
  thresholds.required_gbit_per_s = 3.8;  // 4 - 0.3 is less
  EXPECT_EQ(judge(m, Record{}, thresholds).word, VerdictWord::inconclusive);
  m.throughput->min_gbit_per_s = stats::Value::of(3.81);
  EXPECT_EQ(judge(m, Record{}, thresholds).word, VerdictWord::met);
  EXPECT_EQ(judge(write_at(97), Record{}).word, VerdictWord::met);
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

TEST(Judge, FailsOnLostDataThatLeftNoWrongByte) {
  Measurement m = write_at(98);
  m.outcome = Outcome::partial;
  m.error = results::ErrorInfo{.kind = "data", .code = 0, .stage = "verify", .side = "server", .text = "3007 messages arrived, but 3008 completed"};
  m.verdict = judge(m, Record{});
  EXPECT_EQ(m.verdict.word, VerdictWord::failed);
  EXPECT_EQ(m.verdict.cause, "data is lost: 3007 messages arrived, but 3008 completed");
  Record record;
  record.measurements.push_back(m);
  EXPECT_EQ(exit_code(record), ExitCode::below_expectation);
}

TEST(Judge, DoesNotPassWhatWasToBeVerifiedAndWasNot) {
  Measurement m = write_at(98);
  m.plan.verify = true;
  m.sides[1].verification.reset();
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
  m.sides[1].verification = results::Verification{.checked_bytes = 0, .mismatched_bytes = 0, .first_offset = {}, .expected = {}, .found = {}};
  m.sides[1].verification->scope = "none, because nobody counted";
  EXPECT_EQ(judge(m, Record{}).cause, "no data was verified: none, because nobody counted");
  m.sides[1].verification->scope = "nothing, because the only byte is the mark";
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
  m.sides[1].verification->scope = "every message";
  m.sides[1].verification->checked_bytes = 8;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
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

TEST(Judge, DoesNotBlameALinkForTcpThatItsHostsHoldBack) {
  Measurement m = tcp_at(31, 6);
  m.sides[0].limiter = "receive window";  // as its sender sees a receiver that does not keep up
  m.sides[1].limiter = "cpu";
  results::ThreadUsage thread;
  thread.user = std::chrono::milliseconds(300);
  thread.system = std::chrono::milliseconds(1640);
  thread.elapsed = std::chrono::seconds(2);
  m.sides[1].threads = {{}, thread};
  move_counter(m, "rx_missed_errors", 5000);
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_EQ(verdict.criterion, "none");
  // (300 + 1640) / 2000 = 97 %.
  EXPECT_EQ(verdict.cause, "limited by CPU (a measuring thread on beta was busy 97 % of the time): this says nothing of the link");
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("--streams")));
  m.sides[1].limiter.clear();
  m.plan.tcp.window_bytes = 16384;
  EXPECT_EQ(judge(m, Record{}).cause, "limited by the receive window, which --window 16 KiB set: this says nothing of the link");
  m.sides[0].limiter = "network";
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::below);
  m.sides[0].limiter = "send buffer";
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
  Thresholds user;
  user.required_gbit_per_s = 90;
  EXPECT_EQ(judge(m, Record{}, user).word, VerdictWord::below) << "it is what was asked for";
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

TEST(Judge, GivesNoVerdictOnARunTooShort) {
  Measurement m = write_at(98);
  m.plan.iterations = 5;
  m.throughput->elapsed = std::chrono::microseconds(27);  // five messages of 64 KiB
  m.throughput->steady.reset();
  m.throughput->steady_reason = "0 whole intervals, 10 are needed";
  Verdict verdict = judge(m, Record{});
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_EQ(verdict.cause, "run too short: 27.0 us measured (0 whole intervals, 10 are needed)");
  EXPECT_THAT(verdict.remedies, testing::ElementsAre(HasSubstr("--duration 1s")));
  m.throughput->mean_gbit_per_s = stats::Value::of(31);  // cold start: field case F85
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
  Thresholds user;
  user.required_gbit_per_s = 90;
  EXPECT_EQ(judge(write_at(98), Record{}, user).word, VerdictWord::met);
  EXPECT_EQ(judge(m, Record{}, user).word, VerdictWord::inconclusive);
}

TEST(Judge, TakesAShortRunThatHasASeries) {
  Measurement m = write_at(98);
  m.plan.iterations = 1 << 20;
  m.throughput->elapsed = std::chrono::milliseconds(300);  // by count, thirty intervals of 10 ms
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
  m.throughput->steady.reset();  // three intervals of 100 ms
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
  m.plan.iterations.reset();  // `check --quick`, whose intervals of 20 ms were stretched by a busy CPU
  m.plan.duration = std::chrono::milliseconds(300);
  m.plan.interval = std::chrono::milliseconds(20);
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
  m.throughput->steady = true;
  m.throughput->elapsed = std::chrono::milliseconds(12);  // intervals of 1 ms
  EXPECT_EQ(judge(m, Record{}).cause, "run too short: 12.0 ms measured");
  m.throughput->elapsed = std::chrono::seconds(2);  // two intervals of 1 s: long enough without the test
  m.throughput->steady.reset();
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::met);
}

TEST(Judge, DoesNotJudgeOneTcpStreamHoweverShort) {
  Measurement m = tcp_at(31, 1);
  m.throughput->elapsed = std::chrono::microseconds(900);
  m.throughput->steady.reset();
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
}

}  // namespace
}  // namespace railgauge::report
