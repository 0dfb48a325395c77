#include "cluster/rank_text.h"

#include <gtest/gtest.h>

namespace railgauge::cluster {
namespace {

TEST(RankText, IsShort) {
  EXPECT_EQ(ranks_text({}), "");
  EXPECT_EQ(ranks_text({7}), "7");
  EXPECT_EQ(ranks_text({3, 5, 6, 7, 12, 13}), "3, 5-7, 12, 13");
  EXPECT_EQ(ranks_text({1, 3, 5, 7, 9}, 3), "1, 3, 5 and 2 more ranks");
  EXPECT_EQ(named_ranks_text({3}), "rank 3");
  EXPECT_EQ(named_ranks_text({3, 9}), "ranks 3, 9");
}

TEST(RankText, GroupsByHost) {
  EXPECT_EQ(ranks_on_hosts_text({{0, "a"}, {1, "b"}, {2, "a"}, {3, "a"}, {5, "b"}}), "0, 2, 3 (a), 1, 5 (b)");
  EXPECT_EQ(ranks_on_hosts_text({{2, "a"}, {4, "b"}, {5, "c"}, {6, "d"}}, 2), "2 (a), 4 (b) and 2 more hosts");
}

}  // namespace
}  // namespace railgauge::cluster
