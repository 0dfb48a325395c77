#include "host/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseCpulist, ReadsRangesAndSingles) {
  EXPECT_THAT(parse_cpulist("0-3,8").value(), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpulist("17").value(), ElementsAre(17));
  EXPECT_THAT(parse_cpulist(" 4-5,2\n").value(), ElementsAre(2, 4, 5));
  EXPECT_THAT(parse_cpulist("3-5,4-6").value(), ElementsAre(3, 4, 5, 6));
}

TEST(ParseCpuSequence, KeepsTheOrderWritten) {
  EXPECT_THAT(parse_cpu_sequence("6,0-2").value(), ElementsAre(6, 0, 1, 2));
  EXPECT_FALSE(parse_cpu_sequence("6-4").has_value());
}

TEST(ParseCpulist, TakesTheEmptyListOfAMemoryOnlyNode) { EXPECT_THAT(parse_cpulist("\n").value(), IsEmpty()); }

TEST(ParseCpulist, RefusesWhatIsNoList) {
  for (const char* text : {"x", "3-", "-3", "5-2", "1,,2", "1,", "0-4294967295", "99999", "1 2"})
    EXPECT_FALSE(parse_cpulist(text).has_value()) << text;
}

TEST(FormatCpulist, IsTheInverse) {
  EXPECT_EQ(format_cpulist({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(format_cpulist({5, 7, 8}), "5,7-8");
  EXPECT_EQ(format_cpulist({}), "");
}

TEST(ValueOfKey, TakesTheFirstLineWithTheWholeKey) {
  const char* text = "model\t\t: 85\nmodel name\t: Examplium 9000 @ 2.40GHz: fast\nmodel name\t: Other\n";
  EXPECT_EQ(value_of_key(text, "model name"), "Examplium 9000 @ 2.40GHz: fast");
  EXPECT_EQ(value_of_key(text, "model"), "85");
  EXPECT_EQ(value_of_key(text, "name"), std::nullopt);
  EXPECT_EQ(value_of_key("PRETTY_NAME=\"A=B\"", "PRETTY_NAME", '='), "\"A=B\"");
}

TEST(ParseInteger, TakesNothingButTheNumber) {
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("0x1a"), 26);
  EXPECT_EQ(parse_integer("0xffff"), 65535);
  for (const char* text : {"", "12abc", "0x", "1.5", " 3", "99999999999999999999"}) EXPECT_EQ(parse_integer(text), std::nullopt) << text;
}

TEST(ParseKernelSize, KnowsTheUnitsOfCachesAndMeminfo) {
  EXPECT_EQ(parse_kernel_size("32768K"), 33554432u);
  EXPECT_EQ(parse_kernel_size("3M"), 3145728u);
  EXPECT_EQ(parse_kernel_size("16384 kB"), 16777216u);
  EXPECT_EQ(parse_kernel_size("37"), 37u);
  for (const char* text : {"", "K", "12 MB", "99999999999999999999", "18446744073709551615K"})
    EXPECT_EQ(parse_kernel_size(text), std::nullopt) << text;
}

TEST(ChosenWord, IsTheOneInBrackets) {
  EXPECT_EQ(chosen_word("always [madvise] never"), "madvise");
  EXPECT_EQ(chosen_word("never\n"), "never");
  EXPECT_EQ(chosen_word("]odd["), "]odd[");
}

}  // namespace
}  // namespace railgauge::host
