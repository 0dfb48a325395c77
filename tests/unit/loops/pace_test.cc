#include "loops/pace.h"

#include <gtest/gtest.h>

namespace railgauge::loops {
namespace {

/// One tick a nanosecond, so that tests say what time it is.
const TickClock kClock = TickClock::plain();

// 1,000,000 messages a second are one a microsecond; 100 us of debt are 100 messages, beside a batch of 4.
Pace million_a_second() { return Pace(1e6, 4, kClock); }

TEST(Pace, SpreadsMessagesEvenly) {
  Pace pace = million_a_second();
  EXPECT_EQ(pace.start(5'000'000, 70, 4), 74U);
  EXPECT_EQ(pace.budget(5'007'000, 74), 77U);
  EXPECT_EQ(pace.budget(5'050'999, 77), 120U);
  // Looked at each microsecond for a second: 70 + 1,000,000, none lost by rounding.
  std::uint64_t posted = 120;
  for (std::uint64_t tick = 5'051'000; tick <= 1'005'000'000; tick += 1'000) posted = pace.budget(tick, posted);
  EXPECT_EQ(posted, 1'000'070U);
}

TEST(Pace, MakesUpForAStallByOneBurstOnly) {
  Pace pace = million_a_second();
  pace.start(0, 0, 4);
  const std::uint64_t before = pace.budget(1'000'000, 990);
  EXPECT_EQ(before, 1000U);
  // A stall of 50 ms: 50,000 fell due, 104 may be sent at once …
  EXPECT_EQ(pace.budget(51'000'000, before), before + 104);
  EXPECT_EQ(pace.budget(51'000'000, before + 104), before + 104);
  // … and then one a microsecond again.
  EXPECT_EQ(pace.budget(51'010'000, before + 104), before + 114);
}

TEST(Pace, ASenderSlowerThanItsPaceSavesNothingUp) {
  Pace pace = million_a_second();
  std::uint64_t posted = pace.start(0, 0, 4);
  for (std::uint64_t tick = 10'000; tick <= 10'000'000; tick += 10'000) {
    EXPECT_LE(pace.budget(tick, posted), posted + 104);
    posted += 3;  // of 10 that fall due
  }
}

TEST(Pace, IsNoneUnlessAskedFor) {
  EXPECT_FALSE(Pace());
  EXPECT_TRUE(million_a_second());
}

}  // namespace
}  // namespace railgauge::loops
