#include "report/render/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "golden/examples.h"
#include "report/render/again.h"
#include "report/render/columns.h"
#include "report/judge.h"
#include "report/render/words.h"

namespace railgauge::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

TEST(RenderText, KeepsToEightyColumns) {
  for (const auto& example : golden::examples())
    for (const std::string& line : lines_of(render_text(example.record))) EXPECT_LE(display_width(line), 80U) << example.name << ": " << line;
}

TEST(RenderText, KeepsToEightyColumnsWithTheLongestWords) {
  auto record = golden::example("check-simulated");
  record.measurements[0].verdict.word = results::VerdictWord::inconclusive;
  record.measurements[1].plan.operation = plan::Operation::compare_swap;
  record.measurements[1].plan.message_bytes = 8;
  std::string text = render_text(record);
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80U) << line;
  EXPECT_THAT(text, HasSubstr("(? inconclusive)\n"));
  EXPECT_THAT(text, HasSubstr("compare_swap 8 QPs 8 B B→A "));
}

TEST(RenderText, ColoursOnlyWhenAsked) {
  auto record = golden::example("check-below-pcie");
  EXPECT_THAT(render_text(record), Not(HasSubstr("\x1b")));
  std::string colored = render_text(record, {.color = true, .width = 80, .record_path = {}});
  EXPECT_THAT(colored, HasSubstr("\x1b[31m✗ below\x1b[0m"));
  EXPECT_THAT(colored, HasSubstr("\x1b[32m✓ met\x1b[0m"));
}

TEST(RenderText, EscapesWhatThePeerSays) {
  auto record = golden::example("check-met");
  record.nodes[1].facts.hostname = "evil\x1b[2J\nhost";
  record.nodes[1].facts.kernel = "6.1\x07";
  record.measurements[0].sides[1].warnings = {"\x1b]0;title"};
  record.measurements[0].sides[1].choices = {"because\r"};
  std::string text = render_text(record);
  for (char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_THAT(text, HasSubstr("evil\\x1b[2J\\x0ahost"));
}

TEST(RenderText, SaysTheVerdictFirst) {
  EXPECT_EQ(render_text(golden::example("check-below-pcie")).find("✗ BELOW EXPECTATION"), 0U);
  EXPECT_EQ(render_text(golden::example("check-met")).find("✓ MET"), 0U);
  EXPECT_EQ(render_text(golden::example("check-failed")).find("✗ NOT MEASURED"), 0U);
}

TEST(RenderText, NamesASimulatedDevice) {
  std::string text = render_text(golden::example("check-simulated"));
  EXPECT_THAT(text, HasSubstr("*** SIMULATED DEVICE"));
  EXPECT_THAT(text, HasSubstr("(✗ below)"));
}

TEST(RenderText, TakesAnEmptyRecord) { EXPECT_FALSE(render_text(results::Record{}).empty()); }

TEST(RenderText, LeavesTheTokenOutOfTheCommand) {
  std::string text = render_text(golden::example("check-met"));
  EXPECT_THAT(text, HasSubstr("RAILGAUGE_TOKEN=… railgauge check node-12\n"));
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("node-12"), "node-12");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's;rm"), "'it'\\''s;rm'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Figure, HasFourDigitsOrSo) {
  EXPECT_EQ(figure(392.14), "392.1");
  EXPECT_EQ(figure(61.374), "61.37");
  EXPECT_EQ(figure(1.6124), "1.612");
  EXPECT_EQ(figure(0.00234), "0.0023");
  EXPECT_EQ(figure(99999.97), "100000");
  EXPECT_EQ(figure(8'589'934.6), "8589935");  // 1 GiB at 1 Gbit/s takes 2^30 * 8 / 1000 us
  EXPECT_EQ(figure(85'899'345.9), "85.90M");
  EXPECT_EQ(figure(858'993'459.0), "859.0M");
  EXPECT_EQ(figure(std::nullopt), "–");
}

TEST(ShortName, NeverLosesTheDirection) {
  plan::Plan plan;
  plan.transport = plan::Transport::rdma;
  plan.operation = plan::Operation::compare_swap;
  plan.direction = plan::Direction::both;
  plan.message_bytes = 8;
  plan.rdma.qps = 16;
  EXPECT_EQ(short_name(plan, "", 28), "compare_swap 16 QPs 8 B A↔B ");
  EXPECT_EQ(short_name(plan, " →", 28), "compare_swap 16 Q… 8 B A↔B →");
}

TEST(RenderText, NamesAPortEventOnce) {
  auto record = golden::example("check-interrupted");
  auto& m = record.measurements[0];
  m.sides[1].events = {"PORT_ERR: the port went down after 391 ms"};
  m.verdict = judge(m, record);
  record.verdict = m.verdict;
  std::string text = render_text(record);
  auto notes = text.find("\nNotes\n");
  ASSERT_NE(notes, std::string::npos);
  EXPECT_EQ(text.find("PORT_ERR", notes), std::string::npos);
  EXPECT_THAT(text, HasSubstr("PORT_ERR"));
}

TEST(RenderText, SaysAKindOfCauseOnce) {
  auto record = golden::example("check-met");
  for (std::size_t i = 0; i < 4; ++i) record.measurements[i].verdict.word = results::VerdictWord::met;
  for (std::size_t i = 0; i < 3; ++i) record.measurements[i].verdict.cause = fmt::format("no CPU for {} % of the time", i < 2 ? 12 : 34);
  record.measurements[3].verdict.cause = "no CPU";
  std::string text = render_text(record);
  EXPECT_THAT(text, HasSubstr(": no CPU for 12 % of the time (also in 2 other\n"));
  EXPECT_THAT(text, Not(HasSubstr("34 % of the time")));
  EXPECT_THAT(text, HasSubstr(": no CPU\n"));
}

/// How many causes "Why" names where three measurements have these.
std::size_t causes_named(const std::vector<std::string>& causes) {
  auto record = golden::example("check-met");
  for (auto& m : record.measurements) m.verdict.cause.clear();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    record.measurements[i].verdict.word = results::VerdictWord::below;
    record.measurements[i].verdict.cause = causes[i];
  }
  std::size_t named = 0;
  for (const std::string& line : lines_of(render_text(record))) named += line.rfind("  ✗ ", 0) == 0 ? 1 : 0;
  return named;
}

TEST(RenderText, TakesFiguresAndTheirUnitsForNoDifferenceOfKind) {
  EXPECT_EQ(causes_named({"stuck on QP 3 after 900 ms", "stuck on QP 17 after 1.2 s", "stuck on QP 0 after 30 us"}), 1U);
  EXPECT_EQ(causes_named({"in the 100 ms from 3.40 s on, (64 KiB)", "in the 20.0 ms from 400 ms on, (1 MiB)"}), 1U);
  EXPECT_EQ(causes_named({"out_of_sequence +5 on node-07: lost", "out_of_sequence +7123 on node-07: lost"}), 1U);
  EXPECT_EQ(causes_named({"out_of_sequence +5 on node-07", "out_of_sequence +5 on node-08"}), 2U);
  EXPECT_EQ(causes_named({"mlx5_0 is down", "mlx5_1 is down", "192.0.2.7 is down"}), 3U);
  EXPECT_EQ(causes_named({"took 3 s", "took 3 steps"}), 2U);
}

TEST(RenderText, MarksNoDifferenceWhereOnlyTheSlotIsAnother) {
  auto record = golden::example("check-met");
  record.nodes[1].facts.rdma_devices[0].pci.links[0].address = "0000:a1:00.0";
  EXPECT_THAT(render_text(record), HasSubstr("\n  PCIe       32 GT/s x16 at 0000:41:00.0       32 GT/s x16 at 0000:a1:00.0\n"));
  record.nodes[1].facts.rdma_devices[0].pci.links[0].current_width = host::Fact<int>::of(8);
  EXPECT_THAT(render_text(record), HasSubstr("\n≠ PCIe       32 GT/s x16 at 0000:41:00.0       32 GT/s x8 at 0000:a1:00.0\n"));
}

TEST(RenderText, ShowsNotes) {
  auto record = golden::example("check-met");
  record.nodes[1].facts.governor = host::Fact<std::string>::of("powersave");
  EXPECT_THAT(render_text(record), HasSubstr("\n  - CPU governor is powersave on node-12: "));
}

/// A record may come from anybody: a cause of a megabyte of digits is a cause like any other.
TEST(RenderText, TakesACauseOfAnyLength) {
  auto record = golden::example("check-met");
  record.measurements[0].verdict.cause = std::string(1 << 20, '7');
  record.measurements[1].verdict.cause = std::string(1 << 20, '7') + " %";
  EXPECT_THAT(render_text(record), HasSubstr("7777"));
}

TEST(RenderText, ShowsTheLowEndOfTheIntervals) {
  auto record = golden::example("check-met");
  stats::ThroughputSummary& long_run = *record.measurements[1].throughput;
  long_run.whole_intervals = 101;
  long_run.min_gbit_per_s = stats::Value::of(361.24);
  long_run.p1_gbit_per_s = stats::Value::of(362.5);
  long_run.p5_gbit_per_s = stats::Value::of(388.1);
  std::string text = render_text(record);
  EXPECT_THAT(text, HasSubstr("✓ met\n    101 intervals of 100 ms, Gbit/s: lowest 361.2, p1 362.5, p5 388.1\n"));
  EXPECT_THAT(text, HasSubstr("  (without p5 and p1: 10 whole intervals; p5 needs 21)\n")) << "of the others";
  long_run.p1_gbit_per_s = stats::Value::missing("30 whole intervals; p1 needs 101");
  EXPECT_THAT(render_text(record), HasSubstr("p1 –, p5 388.1"));
}

TEST(RenderText, SaysHowMuchZeroCopyCopied) {
  auto record = golden::example("check-tcp-only");
  results::SideResult& sender = record.measurements[2].sides[0];
  sender.zerocopy_completions = 4000;
  sender.zerocopy_copied = 1372;
  EXPECT_THAT(render_text(record), HasSubstr("\n    zero-copy, A: 1372 of 4000 sends copied (34.3 %)\n"));
  sender.zerocopy_completions = sender.zerocopy_copied = 0;
  EXPECT_THAT(render_text(record), HasSubstr("zero-copy, A: 0 of 0 sends copied\n"));
  sender.zerocopy_completions.reset();
  EXPECT_THAT(render_text(record), Not(HasSubstr("zero-copy")));
}

TEST(RenderText, DoesNotCountMessagesThatNobodyCounted) {
  auto record = golden::example("check-met");
  for (auto& m : record.measurements)
    for (auto& side : m.sides)
      if (side.verification) side.verification->messages = 1000, side.verification->checked_messages = 10, side.verification->scope = "one scope";
  EXPECT_THAT(render_text(record), HasSubstr("of 10000 messages"));  // ten measurements, each checked on one side
  for (auto& side : record.measurements[2].sides)
    if (side.verification) side.verification->checked_messages.reset();
  EXPECT_THAT(render_text(record), Not(HasSubstr("0 messages")));
}

TEST(ShortCount, FitsFiveColumns) {
  EXPECT_EQ(short_count(9999), "9999");
  EXPECT_EQ(short_count(612'345), "612k");
  EXPECT_EQ(short_count(1'234'567), "1.2M");
  EXPECT_EQ(short_count(123'456'789), "123M");
}

}  // namespace
}  // namespace railgauge::report
