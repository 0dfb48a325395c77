#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/judge.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::VerdictWord;
using testing::HasSubstr;

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
