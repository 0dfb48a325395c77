#include "cluster/slurm_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace railgauge::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What `scontrol show hostnames LIST` prints for the same lists (scontrol(1); slurm.conf(5) on node ranges).
TEST(NodeList, ExpandsBrackets) {
  EXPECT_THAT(expand_node_list("node[01-03,7],gpu-a[1-2]b", "L"), ElementsAre("node01", "node02", "node03", "node7", "gpu-a1b", "gpu-a2b"));
  EXPECT_THAT(expand_node_list("login", "L"), ElementsAre("login"));
  EXPECT_THAT(expand_node_list("a.b-c_d,n5", "L"), ElementsAre("a.b-c_d", "n5"));
  EXPECT_THAT(expand_node_list("n[8-11]", "L"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(expand_node_list("n[098-101]", "L"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(expand_node_list("r[2-3]n[07-08]x", "L"), ElementsAre("r2n07x", "r2n08x", "r3n07x", "r3n08x"));
  EXPECT_THAT(expand_node_list("n[5]", "L"), ElementsAre("n5"));
  EXPECT_EQ(expand_node_list("n[1-65536]", "L").size(), 65536u);
}

TEST(NodeList, RefusesWhatIsNone) {
  for (const char* bad : {"", "a,", ",a", "n[1-3", "n1-3]", "n[[1]]", "n[3-1]", "n[]", "n[1,]", "n[a-b]", "n[1-2-3]", "n[-2]", "a b", "a\n",
                          "n[1-65537]", "n[1-300]m[1-300]", "n[000000000000000000001]", "n[99999999999]", "a[1]]"}) {
    Error error = thrown_by([&] { expand_node_list(bad, "SLURM_STEP_NODELIST"); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << bad;
    EXPECT_THAT(error.what(), HasSubstr("SLURM_STEP_NODELIST=")) << bad;
  }
  EXPECT_THAT(thrown_by([&] { expand_node_list("n[30-7]", "L"); }).what(), HasSubstr("the range 30-7 falls"));
}

// srun(1): "2(x3),1" means that the first three nodes run two tasks each and the fourth runs one.
TEST(TasksPerNode, ExpandsRepeats) {
  EXPECT_THAT(expand_tasks_per_node("2(x3),1", "T"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(expand_tasks_per_node("4(x2),3", "T"), ElementsAre(4, 4, 3));
  EXPECT_THAT(expand_tasks_per_node("8", "T"), ElementsAre(8));
}

TEST(TasksPerNode, RefusesWhatIsNone) {
  for (const char* bad : {"", "4,", "x", "4(x)", "4(2)", "4(x2", "4(x0)", "(x2)", "4(x99999)", "-1"}) {
    EXPECT_EQ(thrown_by([&] { expand_tasks_per_node(bad, "SLURM_STEP_TASKS_PER_NODE"); }).kind(), ErrorKind::usage) << bad;
  }
}

}  // namespace
}  // namespace railgauge::cluster
