#include "report/render/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::report {
namespace {

using testing::ElementsAre;

TEST(Shown, EscapesWhatCouldActOnATerminal) {
  EXPECT_EQ(shown("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(shown("csi \xc2\x9b" "1m"), "csi \\x9b1m");       // C1 control as UTF-8
  EXPECT_EQ(shown("x\xe2\x80\xae" "gpj"), "x\\u{202e}gpj");    // right-to-left override
  EXPECT_EQ(shown("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");         // no UTF-8, overlong '/'
  EXPECT_EQ(shown("München 東京"), "München 東京");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("A→B"), 3U);
  EXPECT_EQ(display_width("東京x"), 5U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);  // e and a combining acute
}

TEST(LeftAndRight, FillAndCutToTheWidth) {
  EXPECT_EQ(left("A→B", 5), "A→B  ");
  EXPECT_EQ(right("12.3", 6), "  12.3");
  EXPECT_EQ(left("mlx5_bond_0", 7), "mlx5_b…");
  EXPECT_EQ(left("東京都", 4), "東… ");  // the second would be half cut
}

TEST(Wrap, BreaksAtBlanks) {
  EXPECT_THAT(wrap("one two three four", 9), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(wrap("abcdefghijk lm", 5), ElementsAre("abcde", "fghij", "k lm"));
  EXPECT_THAT(wrap("", 5), ElementsAre());
}

}  // namespace
}  // namespace railgauge::report
