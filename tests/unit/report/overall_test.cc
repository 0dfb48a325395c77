#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::VerdictWord;
using testing::HasSubstr;
using testing::Not;

Measurement with(VerdictWord word, const std::string& label = "write bandwidth 8 QPs") {
  Measurement m;
  m.plan.label = label;
  m.outcome = word == VerdictWord::skipped ? Outcome::skipped : Outcome::done;
  m.sides.resize(2);
  m.verdict.word = word;
  m.verdict.cause = "because " + label;
  m.verdict.criterion = "computed";
  m.verdict.fraction = 0.97;
  return m;
}

Record of(std::vector<Measurement> measurements) {
  Record record;
  record.measurements = std::move(measurements);
  return record;
}

int code(const Record& record) { return static_cast<int>(exit_code(record)); }

TEST(Overall, IsTheWorst) {
  Record record = of({with(VerdictWord::met), with(VerdictWord::below, "read"), with(VerdictWord::marginal), with(VerdictWord::skipped)});
  EXPECT_EQ(overall(record).word, VerdictWord::below);
  EXPECT_EQ(overall(record).cause, "read: because read");
  EXPECT_EQ(code(record), 1);
}

TEST(Overall, PutsWhatDoesNotWorkBeforeWhatIsSlow) {
  Measurement dead = with(VerdictWord::failed, "rdma write");
  dead.outcome = Outcome::failed;
  Record record = of({with(VerdictWord::below, "2 streams"), dead, with(VerdictWord::inconclusive)});
  EXPECT_EQ(overall(record).word, VerdictWord::failed);
  EXPECT_EQ(overall(record).cause, "rdma write: because rdma write");
  EXPECT_EQ(code(record), 3);
  // A link that is known to be faulty, and wrong data, come first all the same.
  record.measurements.push_back(with(VerdictWord::failed, "dirty"));
  EXPECT_EQ(overall(record).cause, "dirty: because dirty");
  EXPECT_EQ(code(record), 1);
}

TEST(Overall, DoesNotPassALinkByTcpAloneWhereOneHostLacksItsRdmaDevice) {
  Measurement rdma = with(VerdictWord::skipped, "rdma write");
  rdma.plan.transport = plan::Transport::rdma;
  rdma.verdict.cause = "no RDMA device on beta";
  Record record = of({rdma, with(VerdictWord::met, "2 streams")});
  record.subcommand = "check";
  record.nodes.resize(2);
  EXPECT_EQ(overall(record).word, VerdictWord::met);
  EXPECT_THAT(overall(record).cause, testing::StartsWith("TCP only, RDMA was not measured; "));
  EXPECT_EQ(code(record), 0);
  record.nodes[0].facts.rdma_devices.resize(1);
  EXPECT_EQ(overall(record).word, VerdictWord::inconclusive);
  EXPECT_EQ(overall(record).cause, "RDMA was not measured: no RDMA device on beta");
  EXPECT_EQ(code(record), 3);
  record.measurements = {with(VerdictWord::met, "2 streams")};  // --no-rdma
  EXPECT_EQ(overall(record).cause.find("RDMA"), std::string::npos);
  EXPECT_EQ(code(record), 0);
}

TEST(Overall, PutsWhatIsKnownBeforeWhatIsNot) {
  Record record = of({with(VerdictWord::inconclusive), with(VerdictWord::below)});
  EXPECT_EQ(overall(record).word, VerdictWord::below);
  EXPECT_EQ(code(record), 1);
}

TEST(ExitCodeOfRecord, FollowsTheTable) {
  EXPECT_EQ(code(of({with(VerdictWord::met), with(VerdictWord::no_criterion)})), 0);
  EXPECT_EQ(code(of({with(VerdictWord::marginal)})), 0);
  EXPECT_EQ(code(of({with(VerdictWord::no_criterion)})), 0);
  EXPECT_EQ(code(of({with(VerdictWord::met), with(VerdictWord::inconclusive)})), 3);
  EXPECT_EQ(code(of({with(VerdictWord::failed)})), 1);
  EXPECT_EQ(code(of({with(VerdictWord::skipped), with(VerdictWord::skipped)})), 77);
  EXPECT_EQ(code(of({with(VerdictWord::skipped), with(VerdictWord::met)})), 0);
  EXPECT_EQ(code(of({})), 3);
}

TEST(ExitCodeOfRecord, TellsNotMeasuredFromWrongData) {
  Measurement dead = with(VerdictWord::failed);
  dead.outcome = Outcome::failed;
  EXPECT_EQ(code(of({with(VerdictWord::met), dead})), 3);
  dead.sides[0].verification = results::Verification{100, 1, 5, 0x11, 0x12};
  EXPECT_EQ(code(of({with(VerdictWord::met), dead})), 1);
}

TEST(ExitCodeOfRecord, IsByKindWhenNothingWasMeasured) {
  for (auto [kind, expected] : {std::pair("usage", 2), {"unsupported", 77}, {"peer", 3}, {"timeout", 3}, {"data", 1}}) {
    Record record;
    record.error = results::ErrorInfo{kind, 5, "control", "client", "no"};
    EXPECT_EQ(code(record), expected) << kind;
    EXPECT_EQ(overall(record).cause, "no");
  }
}

TEST(Overall, IsInconclusiveWhenInterrupted) {
  Record record = of({with(VerdictWord::met)});
  record.outcome = Outcome::partial;
  EXPECT_EQ(overall(record).word, VerdictWord::inconclusive);
  EXPECT_EQ(code(record), 3);
  record.measurements.push_back(with(VerdictWord::below, "read"));
  EXPECT_THAT(overall(record).cause, HasSubstr("until then: read: because read"));
  EXPECT_EQ(code(record), 3);
}

TEST(Overall, IsNotMetAfterAnErrorInTheMiddle) {
  Record record = of({with(VerdictWord::met)});
  record.error = results::ErrorInfo{"peer", 104, "run", "client", "node-12 vanished"};
  EXPECT_EQ(overall(record).word, VerdictWord::failed);
  EXPECT_EQ(code(record), 3);
}

TEST(Overall, DoesNotCountARehearsal) {
  Measurement rehearsed = with(VerdictWord::below);
  rehearsed.verdict.criterion = "simulated";
  rehearsed.sides[0].simulated = true;
  Record record = of({rehearsed, with(VerdictWord::skipped)});
  record.simulated = true;
  EXPECT_EQ(overall(record).word, VerdictWord::no_criterion);
  EXPECT_THAT(overall(record).cause, HasSubstr("rehearsal"));
  EXPECT_EQ(code(record), 0);
  record.measurements.push_back(with(VerdictWord::below, "tcp on a real link"));
  EXPECT_EQ(code(record), 1);
}

TEST(Overall, CountsWrongDataEvenInARehearsal) {
  Measurement rehearsed = with(VerdictWord::failed);
  rehearsed.sides[0].simulated = true;
  rehearsed.sides[1].verification = results::Verification{100, 1, 5, 0x11, 0x12};
  EXPECT_EQ(overall(of({rehearsed})).word, VerdictWord::failed);
  EXPECT_EQ(code(of({rehearsed})), 1);
}

TEST(Overall, CountsAPortThatWentAwayEvenInARehearsal) {
  Measurement rehearsed = with(VerdictWord::failed, "rdma write");
  rehearsed.sides[0].simulated = true;
  rehearsed.sides[0].events = {"PORT_ERR port 1 after 300 ms", "PORT_ACTIVE port 1 after 320 ms"};
  rehearsed.verdict.cause = "dirty link: the link of mlx5_0/1 on alpha changed";
  Record record = of({rehearsed});
  record.simulated = true;
  EXPECT_EQ(overall(record).word, VerdictWord::failed);
  EXPECT_THAT(overall(record).cause, HasSubstr("rdma write: dirty link"));
  EXPECT_EQ(code(record), 1);
  // Counters of a device that does not exist fail nothing.
  record.measurements[0].sides[0].events = {"LID_CHANGE after 1 ms"};
  EXPECT_EQ(code(record), 0);
}

TEST(Overall, CountsWhatRan) {
  Measurement rehearsed = with(VerdictWord::below);
  rehearsed.sides[0].simulated = true;
  Measurement left_out = with(VerdictWord::skipped);
  left_out.outcome = results::Outcome::skipped;
  Record record = of({rehearsed, left_out});
  record.simulated = true;
  EXPECT_THAT(overall(record).cause, HasSubstr("a rehearsal: 1 measurement ran;"));
  record.measurements.push_back(rehearsed);
  EXPECT_THAT(overall(record).cause, HasSubstr("a rehearsal: 2 measurements ran;"));
}

/// A check of a real link: 3 TCP streams that their host's CPU held back, and RDMA if `with_rdma`.
Record check_with_busy_cpu(bool with_rdma) {
  Record record;
  record.subcommand = "check";
  Measurement tcp = tcp_at(31, 3);
  tcp.plan.label = "3 streams";
  tcp.sides[1].limiter = "cpu";
  tcp.verdict = judge(tcp, record);
  record.measurements = {tcp};
  if (!with_rdma) return record;
  record.measurements.push_back(write_at(97));
  record.measurements.back().verdict = judge(record.measurements.back(), record);
  return record;
}

TEST(Overall, LetsTcpThatAHostHoldsBackDecideNothingBesideRdma) {
  const Record record = check_with_busy_cpu(true);
  EXPECT_EQ(record.measurements[0].verdict.word, VerdictWord::no_criterion);
  EXPECT_EQ(overall(record).word, VerdictWord::met);
  EXPECT_EQ(code(record), 0);
}

TEST(Overall, IsInconclusiveWhereTheOnlyTransportWasHeldBackByAHost) {
  Record record = check_with_busy_cpu(false);
  EXPECT_EQ(overall(record).word, VerdictWord::inconclusive);
  EXPECT_THAT(overall(record).cause, HasSubstr("3 streams: limited by CPU"));
  EXPECT_FALSE(overall(record).remedies.empty());
  EXPECT_EQ(code(record), 3);
  record.measurements.push_back(tcp_at(96, 3));  // the other direction does not excuse it
  record.measurements.back().verdict = judge(record.measurements.back(), record);
  ASSERT_EQ(record.measurements.back().verdict.word, VerdictWord::met);
  EXPECT_EQ(overall(record).word, VerdictWord::inconclusive);
  EXPECT_EQ(code(record), 3);
  record.subcommand = "tcp";  // asks for a figure
  EXPECT_EQ(code(record), 0);
}

/// RDMA at 13 and TCP at `tcp` of a 200G link whose goodput is 196.07 (link-rates.md 2.3), as in field case F83.
Record both_capped(double tcp) {
  Record record;
  record.measurements = {write_at(13), tcp_at(tcp, 8)};
  for (Measurement& m : record.measurements) {
    m.expectation.terms[0].gbit_per_s = 196.07;
    m.sides[0].limiter = m.plan.transport == plan::Transport::tcp ? "network" : "";
    m.verdict = judge(m, record);
  }
  return record;
}

TEST(Overall, NamesTheHostWhereBothTransportsAreCappedAlike) {
  EXPECT_THAT(overall(both_capped(9)).cause, HasSubstr("; RDMA and TCP are capped alike, at 13.0 and 9.0 of 196.1 Gbit/s: likely the NIC"));
  EXPECT_THAT(overall(both_capped(6)).cause, Not(HasSubstr("capped alike"))) << "13 is more than twice 6";
  EXPECT_THAT(overall(both_capped(190)).cause, Not(HasSubstr("capped alike"))) << "TCP is met";
  Record congested = both_capped(9);
  move_counter(congested.measurements[0], "np_cnp_sent", 900);
  EXPECT_THAT(overall(congested).cause, Not(HasSubstr("capped alike"))) << "the fabric says that it was";
}

TEST(Overall, ComparesHeadroomNotFractions) {
  // 97 of 100 Gbit/s is nearer to its limit than 1 us of 10 us allowed, of which the fraction is 0.1.
  Measurement fast = with(VerdictWord::met, "write latency");
  fast.verdict.unit = "us";
  fast.verdict.observed = 1;
  fast.verdict.expected = 10;
  fast.verdict.fraction = 0.1;
  Measurement wide = with(VerdictWord::met);
  wide.verdict.unit = "Gbit/s";
  wide.verdict.observed = 97;
  wide.verdict.expected = 100;
  EXPECT_EQ(overall(of({fast, wide})).observed, 97);
  EXPECT_EQ(overall(of({wide, fast})).expected, 100);
  // 9.9 us of 10 us is nearer than 105 of 100 Gbit/s.
  fast.verdict.observed = 9.9;
  fast.verdict.fraction = 0.99;
  wide.verdict.fraction = 1.05;
  EXPECT_EQ(overall(of({wide, fast})).unit, "us");
}

TEST(Overall, SaysWhatLimitsAPassedRun) {
  Measurement free = with(VerdictWord::met);
  free.verdict.cause.clear();
  Measurement limited = with(VerdictWord::met);
  limited.verdict.cause = "PCIe 8 GT/s x16 carries less";
  limited.verdict.remedies = {"reseat the card"};
  auto verdict = overall(of({free, limited}));
  EXPECT_EQ(verdict.cause, "all 2 judged measurements reach what the link should carry; PCIe 8 GT/s x16 carries less");
  EXPECT_EQ(verdict.remedies, limited.verdict.remedies);
}

}  // namespace
}  // namespace railgauge::report
