#include "tcp/softirq.h"

#include <gtest/gtest.h>

namespace railgauge::tcp {
namespace {

using std::chrono::milliseconds;

// Columns as in proc(5): user nice system idle iowait irq softirq steal guest guest_nice; 100 ticks a second.
constexpr const char* kBefore =
    "cpu  300 0 200 9000 5 0 47 0 0 0\n"
    "cpu0 100 0 100 4500 5 0 31 0 0 0\n"
    "cpu11 200 0 100 4500 0 0 16 0 0 0\n"
    "intr 12345 7\n"
    "ctxt 99\n";

TEST(Softirq, ReadsTheSeventhColumnOfEachCpu) {
  const auto times = parse_softirq(kBefore, 100);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times.at(0), milliseconds(310));
  EXPECT_EQ(times.at(11), milliseconds(160));
}

TEST(Softirq, AddsUpTheCpusAskedFor) {
  const auto before = parse_softirq(kBefore, 100);
  const auto after = parse_softirq("cpu0 1 1 1 1 1 1 38 0\ncpu11 1 1 1 1 1 1 21 0\ncpu12 1 1 1 1 1 1 400 0\n", 100);
  EXPECT_EQ(softirq_increase(before, after, {}), milliseconds(120));  // 7 + 5 ticks; CPU 12 came later
  EXPECT_EQ(softirq_increase(before, after, {11}), milliseconds(50));
  EXPECT_EQ(softirq_increase(before, after, {12}), milliseconds(0));
}

TEST(Softirq, LeavesOutWhatItCannotRead) {
  EXPECT_TRUE(parse_softirq("", 100).empty());
  EXPECT_TRUE(parse_softirq("cpu0 1 2 3", 100).empty());
  EXPECT_TRUE(parse_softirq("cpux 1 2 3 4 5 6 7 8\ncpu3 1 2 3 4 5 6 x 8", 100).empty());
}

TEST(Softirq, ReadsThisHost) { EXPECT_TRUE(read_softirq().has_value()); }

}  // namespace
}  // namespace railgauge::tcp
