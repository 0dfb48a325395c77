#include "host/cpu_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ChooseCpus, StaysOnTheNicsNode) {
  CpuChoice choice = choose_cpus(snapshot_of("h100_ib"), "mlx5_9", 3);  // node 1: 48-95,144-191
  EXPECT_THAT(choice.cpus, ElementsAre(48, 49, 50));
  EXPECT_EQ(choice.numa_node, 1);
  EXPECT_EQ(choice.reason, "CPU 48-50 of NUMA node 1 where mlx5_9 sits");
}

TEST(ChooseCpus, LeavesCpu0WhileOthersAreFree) {
  CpuChoice choice = choose_cpus(snapshot_of("h100_ib"), "mlx5_0", 2);
  EXPECT_THAT(choice.cpus, ElementsAre(1, 2));
  EXPECT_THAT(choice.reason, HasSubstr("CPU 0 left to the kernel"));
}

TEST(ChooseCpus, TakesCpu0WhenItMust) {
  Snapshot s = snapshot_of("degraded_x8");
  s.allowed_cpulist = Fact<std::string>::of("0-2");
  CpuChoice choice = choose_cpus(s, "mlx5_0", 3);
  EXPECT_THAT(choice.cpus, ElementsAre(0, 1, 2));
  choice = choose_cpus(s, "mlx5_0", 5);
  EXPECT_THAT(choice.cpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(choice.reason, HasSubstr("5 threads share them"));
}

TEST(ChooseCpus, KeepsToTheAllowedOnes) {
  CpuChoice choice = choose_cpus(snapshot_of("vf_roce"), "mlx5_5", 2);  // 4-7 allowed
  EXPECT_THAT(choice.cpus, ElementsAre(4, 5));
}

TEST(ChooseCpus, BindsNothingWhenTheNodeIsUnknown) {
  CpuChoice choice = choose_cpus(snapshot_of("restricted"), "mlx4_0", 2);
  EXPECT_THAT(choice.cpus, IsEmpty());
  EXPECT_EQ(choice.numa_node, std::nullopt);
  EXPECT_THAT(choice.reason, HasSubstr("not bound (allowed CPUs 0-15)"));
  EXPECT_THAT(choose_cpus(snapshot_of("rxe_host"), "rxe0", 1).cpus, IsEmpty());
  EXPECT_THAT(choose_cpus(snapshot_of("rxe_host"), "nothing7", 1).cpus, IsEmpty());
}

TEST(ChooseCpus, SaysWhenTheMaskExcludesTheNode) {
  Snapshot s = snapshot_of("h100_ib");
  s.allowed_cpulist = Fact<std::string>::of("2-5");
  CpuChoice choice = choose_cpus(s, "mlx5_9", 2);
  EXPECT_THAT(choice.cpus, IsEmpty());
  EXPECT_EQ(choice.numa_node, 1);
  EXPECT_EQ(choice.reason, "not bound: the allowed CPUs 2-5 exclude NUMA node 1 (CPUs 48-95,144-191) where mlx5_9 sits");
}

TEST(ChooseCpus, KnowsInterfacesAndBonds) {
  EXPECT_THAT(choose_cpus(snapshot_of("a100_roce"), "enp65s0f0np0", 1).cpus, ElementsAre(32));
  EXPECT_THAT(choose_cpus(snapshot_of("h100_ib"), "bond0", 1).cpus, ElementsAre(48));
}

}  // namespace
}  // namespace railgauge::host
