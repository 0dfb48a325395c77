#include "cluster/launch_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace railgauge::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The variables are those of nccl-facts.md, section 3, and of the manuals it names; each environment below holds what the
// launcher really sets, for a rank that is neither the first nor the last.
const LauncherVariables kTorchrun{
    {"RANK", "5"},       {"WORLD_SIZE", "8"},        {"LOCAL_RANK", "1"},      {"LOCAL_WORLD_SIZE", "4"},
    {"GROUP_RANK", "1"}, {"MASTER_ADDR", "gpu-a07"}, {"MASTER_PORT", "29411"}, {"TORCHELASTIC_RUN_ID", "run-77"}};
const LauncherVariables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "3"},
                                 {"OMPI_COMM_WORLD_SIZE", "8"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                 {"PMIX_RANK", "3"},
                                 {"PMIX_NAMESPACE", "prterun-a-17@1"}};
const LauncherVariables kSrun{{"SLURM_PROCID", "6"},
                              {"SLURM_NTASKS", "11"},
                              {"SLURM_STEP_NUM_TASKS", "11"},
                              {"SLURM_LOCALID", "2"},
                              {"SLURM_NODEID", "1"},
                              {"SLURM_STEP_NODELIST", "gpu-b[09-10],gpu-c4"},
                              {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
                              {"SLURM_JOB_ID", "51234"},
                              {"SLURM_STEP_ID", "2"},
                              {"SLURM_LAUNCH_NODE_IPADDR", "10.9.8.7"}};
const LauncherVariables kHydra{
    {"PMI_RANK", "2"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "h3"}};
const LauncherVariables kMvapich{
    {"MV2_COMM_WORLD_RANK", "7"}, {"MV2_COMM_WORLD_SIZE", "9"}, {"MV2_COMM_WORLD_LOCAL_RANK", "3"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "4"}};

LauncherVariables with(LauncherVariables base, const LauncherVariables& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}
LauncherVariables without(LauncherVariables base, const std::string& name) {
  base.erase(name);
  return base;
}
Error refusal(const LauncherVariables& variables, const LaunchFlags& flags = {}) {
  Error error = thrown_by([&] { launch_context(flags, variables); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  return error;
}

TEST(LaunchContext, NothingIsASingleRank) {
  auto context = launch_context({}, {});
  EXPECT_EQ(context.source, Launcher::none);
  EXPECT_EQ(context.rank, 0);
  EXPECT_EQ(context.world, 1);
  EXPECT_FALSE(context.rendezvous || context.launched || context.local_rank);
  EXPECT_THAT(context.why, HasSubstr("a single rank"));
}

TEST(LaunchContext, Torchrun) {
  auto context = launch_context({}, kTorchrun);
  EXPECT_EQ(context.source, Launcher::torchrun);
  EXPECT_EQ(context.rank, 5);
  EXPECT_EQ(context.world, 8);
  EXPECT_EQ(context.local_rank, 1);
  EXPECT_EQ(context.local_world, 4);
  EXPECT_EQ(context.node_rank, 1);
  EXPECT_TRUE(context.launched);
  EXPECT_EQ(context.job, "run-77");
  EXPECT_EQ(context.rendezvous, (MeetingPoint{"gpu-a07", 29561}));  // 29411 is torchrun's own store
  EXPECT_THAT(context.why, AllOf(HasSubstr("rank 5 of 8: torchrun (RANK=5, WORLD_SIZE=8)"), HasSubstr("gpu-a07 port 29561 (MASTER_ADDR)")));
}

TEST(LaunchContext, MasterPortsNeighbourStaysAPort) {
  EXPECT_EQ(launch_context({}, with(kTorchrun, {{"MASTER_PORT", "65500"}})).rendezvous->port, 65350);
  EXPECT_EQ(launch_context({}, with(kTorchrun, {{"MASTER_PORT", "65385"}})).rendezvous->port, 65535);
  EXPECT_EQ(launch_context({}, without(kTorchrun, "MASTER_PORT")).rendezvous->port, 29650);  // torchrun's default is 29500
  EXPECT_THAT(refusal(with(kTorchrun, {{"MASTER_PORT", "65536"}})).what(), HasSubstr("MASTER_PORT: \"65536\""));
}

TEST(LaunchContext, ByHandIsNoLauncher) {
  auto context = launch_context({}, {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "10.0.0.5"}});
  EXPECT_EQ(context.rank, 1);
  EXPECT_FALSE(context.launched);
  EXPECT_EQ(context.job, "");
  EXPECT_EQ(context.rendezvous, (MeetingPoint{"10.0.0.5", 29650}));
  EXPECT_THAT(context.why, AllOf(HasSubstr("by hand or by the platform"), HasSubstr("some platforms count nodes")));
}

TEST(LaunchContext, OneHostNeedsNoMeetingPoint) {
  auto context = launch_context({}, with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_EQ(context.source, Launcher::openmpi);
  EXPECT_EQ(context.local_world, 4);
  EXPECT_EQ(context.node_rank, std::nullopt);
  EXPECT_EQ(context.job, "prterun-a-17@1");
  EXPECT_TRUE(context.launched);
  EXPECT_EQ(context.rendezvous, (MeetingPoint{"127.0.0.1", kRendezvousPort}));
  // RANK counted by node and as many nodes as GPUs in each: the sizes alone coincide.
  EXPECT_THAT(refusal({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "8"}}).what(),
              HasSubstr("nothing says where rank 0 listens"));
}

TEST(LaunchContext, OpenMpiOverHostsNeedsOne) {
  EXPECT_THAT(refusal(kOpenMpi).what(),
              AllOf(HasSubstr("rank 3 of 8 (openmpi)"), HasSubstr("--master"), HasSubstr("MASTER_ADDR"), HasSubstr("8 are expected")));
  EXPECT_EQ(launch_context({}, with(kOpenMpi, {{"MASTER_ADDR", "a1"}})).rendezvous, (MeetingPoint{"a1", kRendezvousPort}));
}

TEST(LaunchContext, Slurm) {
  auto context = launch_context({}, kSrun);
  EXPECT_EQ(context.source, Launcher::slurm);
  EXPECT_EQ(context.rank, 6);
  EXPECT_EQ(context.world, 11);
  EXPECT_EQ(context.local_rank, 2);
  EXPECT_EQ(context.local_world, 4);
  EXPECT_EQ(context.node_rank, 1);
  EXPECT_EQ(context.job, "51234.2");
  EXPECT_EQ(context.rendezvous, (MeetingPoint{"gpu-b09", 18885}));  // 18651 + 51234 mod 1000
  EXPECT_EQ(launch_context({}, with(kSrun, {{"SLURM_NODEID", "2"}, {"SLURM_PROCID", "10"}})).local_world, 3);
}

TEST(LaunchContext, SlurmsStepCountsNotTheJob) {
  auto context = launch_context({}, with(kSrun, {{"SLURM_NTASKS", "64"}}));
  EXPECT_EQ(context.world, 11);
}

TEST(LaunchContext, SlurmWithoutNodeListSaysWhereItMeets) {
  auto context = launch_context({}, without(kSrun, "SLURM_STEP_NODELIST"));
  EXPECT_EQ(context.rendezvous->host, "10.9.8.7");
  EXPECT_THAT(context.why, AllOf(HasSubstr("SLURM_LAUNCH_NODE_IPADDR"), HasSubstr("on a login node give --master instead")));
  EXPECT_EQ(launch_context({}, with(kSrun, {{"MASTER_ADDR", "ib-b09"}})).rendezvous->host, "ib-b09");
}

// A batch script has SLURM_NTASKS of the job and SLURM_PROCID=0, SLURM_NODEID=0, but no SLURM_STEP_NODELIST.
TEST(LaunchContext, SlurmBatchScriptIsNoTask) {
  LauncherVariables batch{
      {"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}};
  EXPECT_THAT(refusal(batch).what(),
              AllOf(HasSubstr("SLURM_NTASKS=8"), HasSubstr("8 are expected, and it is alone here"), HasSubstr("srun")));
  EXPECT_THAT(refusal(without(batch, "SLURM_PROCID")).what(), HasSubstr("8 are expected"));
  // The shell of salloc is a step of its own (4294967290), the batch script too (4294967291).
  EXPECT_THAT(refusal(with(batch, {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NODELIST", "n[1-2]"}})).what(),
              HasSubstr("8 are expected"));
  EXPECT_EQ(launch_context({}, with(batch, {{"SLURM_NTASKS", "1"}})).source, Launcher::none);
  EXPECT_EQ(launch_context({}, without(batch, "SLURM_NTASKS")).source, Launcher::none);
  EXPECT_EQ(launch_context({.rank = "0", .world = "1"}, batch).world, 1);
}

TEST(LaunchContext, MpirunInABatchScriptIsNoConflict) {
  LauncherVariables batch{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"MASTER_ADDR", "n1"}};
  auto context = launch_context({}, with(batch, kOpenMpi));
  EXPECT_EQ(context.source, Launcher::openmpi);
  EXPECT_THAT(context.why, HasSubstr("incomplete and passed over: Slurm: SLURM_PROCID=0, SLURM_NTASKS=8"));
}

TEST(LaunchContext, HydraAndMvapich) {
  auto hydra = launch_context({}, kHydra);
  EXPECT_EQ(hydra.source, Launcher::hydra);
  EXPECT_EQ(hydra.rank, 2);
  EXPECT_EQ(hydra.world, 6);
  EXPECT_EQ(hydra.local_rank, 0);
  EXPECT_EQ(hydra.local_world, 2);
  EXPECT_EQ(hydra.rendezvous, (MeetingPoint{"h3", kRendezvousPort}));
  auto mvapich = launch_context({.master = "h9:4711"}, kMvapich);
  EXPECT_EQ(mvapich.source, Launcher::mvapich);
  EXPECT_EQ(mvapich.rank, 7);
  EXPECT_EQ(mvapich.world, 9);
  EXPECT_EQ(mvapich.local_rank, 3);
  EXPECT_EQ(mvapich.rendezvous, (MeetingPoint{"h9", 4711}));
}

TEST(LaunchContext, PmixAloneHasNoSize) {
  EXPECT_THAT(refusal({{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "x"}}).what(), AllOf(HasSubstr("PMIx: PMIX_RANK=3"), HasSubstr("no size")));
  EXPECT_EQ(launch_context({.rank = "3", .world = "5", .master = "a"}, {{"PMIX_RANK", "3"}}).world, 5);
}

TEST(LaunchContext, NestedLaunchersAreAConflict) {
  auto both = with(kOpenMpi, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_NODELIST", "n1"}, {"MASTER_ADDR", "n1"}});
  EXPECT_THAT(refusal(both).what(), AllOf(HasSubstr("Open MPI says rank 3 of 8 (OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_SIZE=8)"),
                                          HasSubstr("Slurm says rank 0 of 2 (SLURM_PROCID=0, SLURM_NTASKS=2)"),
                                          HasSubstr("--launcher openmpi or --launcher slurm"), HasSubstr("--rank and --world")));
  auto openmpi = launch_context({.launcher = "openmpi"}, both);
  EXPECT_EQ(openmpi.rank, 3);
  EXPECT_EQ(openmpi.world, 8);
  EXPECT_EQ(launch_context({.launcher = "slurm"}, both).world, 2);
  auto flags = launch_context({.rank = "4", .world = "6"}, both);
  EXPECT_EQ(flags.source, Launcher::flags);
  EXPECT_EQ(flags.rank, 4);
  EXPECT_THAT(flags.why, AllOf(HasSubstr("overruled: Open MPI says rank 3 of 8"), HasSubstr("overruled: Slurm")));
}

TEST(LaunchContext, ConflictIsARankOrAWorldThatDiffers) {
  // srun --mpi=pmi2 sets both, and they agree.
  auto pmi2 = with(kSrun, {{"PMI_RANK", "6"}, {"PMI_SIZE", "11"}});
  EXPECT_EQ(launch_context({}, pmi2).source, Launcher::slurm);
  EXPECT_THAT(refusal(with(pmi2, {{"PMI_RANK", "5"}})).what(), HasSubstr("Hydra or Intel MPI says rank 5 of 11"));
  EXPECT_THAT(refusal(with(pmi2, {{"PMI_SIZE", "12"}})).what(), HasSubstr("Hydra or Intel MPI says rank 6 of 12"));
  EXPECT_THAT(refusal(with(kTorchrun, kSrun)).what(), AllOf(HasSubstr("torchrun says rank 5 of 8"), HasSubstr("Slurm says rank 6 of 11")));
}

TEST(LaunchContext, IncompleteSetsAreNamed) {
  auto context = launch_context({}, with(kSrun, {{"RANK", "4"}}));
  EXPECT_EQ(context.source, Launcher::slurm);
  EXPECT_THAT(context.why, HasSubstr("passed over: RANK and WORLD_SIZE set by hand or by the platform: RANK=4 but no WORLD_SIZE"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_RANK", "2"}}).what(),
              AllOf(HasSubstr("WORLD_SIZE=8 but no RANK"), HasSubstr("MVAPICH2: MV2_COMM_WORLD_RANK=2 but no MV2_COMM_WORLD_SIZE")));
  EXPECT_THAT(refusal(kSrun, {.launcher = "hydra"}).what(), HasSubstr("--launcher hydra: it did not start this process"));
  EXPECT_THAT(refusal({{"PMI_RANK", "1"}}, {.launcher = "hydra"}).what(), HasSubstr("PMI_RANK=1 but no PMI_SIZE"));
  EXPECT_THAT(refusal({}, {.rank = "2"}).what(), HasSubstr("--rank needs --world"));
  EXPECT_THAT(refusal({}, {.world = "2"}).what(), HasSubstr("--world needs --rank"));
}

TEST(LaunchContext, SetToNothingIsUnset) { EXPECT_EQ(launch_context({}, {{"RANK", ""}, {"WORLD_SIZE", ""}}).source, Launcher::none); }

TEST(LaunchContext, ParsesStrictly) {
  for (const char* bad : {"x", "-1", "+3", "3 ", "0x3", "1.5", "16384"})
    EXPECT_THAT(refusal(with(kHydra, {{"PMI_RANK", bad}})).what(), HasSubstr("PMI_RANK: \"")) << bad;
  for (const char* bad : {"0", "16385", "8,"})
    EXPECT_THAT(refusal(with(kHydra, {{"PMI_SIZE", bad}})).what(), HasSubstr("PMI_SIZE: \"")) << bad;
  EXPECT_THAT(refusal(with(kHydra, {{"PMI_RANK", "6"}})).what(), HasSubstr("rank 6 is not below the world of 6"));
  EXPECT_THAT(refusal(with(kHydra, {{"MPI_LOCALNRANKS", "7"}})).what(), HasSubstr("more than the world"));
  EXPECT_THAT(refusal(with(kHydra, {{"MPI_LOCALRANKID", "2"}})).what(), HasSubstr("local rank 2 is not below the 2 ranks"));
  EXPECT_THAT(refusal({}, {.rank = "3", .world = "3"}).what(), HasSubstr("rank 3 is not below the world of 3"));
  EXPECT_THAT(refusal(kHydra, {.local_rank = "6"}).what(), HasSubstr("--local-rank"));
  EXPECT_EQ(launch_context({.local_rank = "5"}, kHydra).local_rank, 5);
}

TEST(LaunchContext, MasterIsAHostAndMaybeAPort) {
  auto point = [](const char* text) { return *launch_context({.rank = "1", .world = "2", .master = text}, {}).rendezvous; };
  EXPECT_EQ(point("a"), (MeetingPoint{"a", kRendezvousPort}));
  EXPECT_EQ(point("a:65535"), (MeetingPoint{"a", 65535}));
  EXPECT_EQ(point("fe80::1%eth0"), (MeetingPoint{"fe80::1%eth0", kRendezvousPort}));
  EXPECT_EQ(point("[fd00::7]:4000"), (MeetingPoint{"fd00::7", 4000}));
  EXPECT_EQ(point("[fd00::7]"), (MeetingPoint{"fd00::7", kRendezvousPort}));
  for (const char* bad : {"", ":4000", "a:", "a:0", "a:65536", "a:b", "[fd00::7", "[]:4", "[", "]:3"})
    refusal({}, {.rank = "1", .world = "2", .master = bad});
}

TEST(LaunchContext, LauncherIsOneOfTheWords) {
  EXPECT_THAT(refusal(kSrun, {.launcher = "mpirun"}).what(), HasSubstr("wanted flags, torchrun, openmpi, slurm, hydra or mvapich"));
  EXPECT_THAT(refusal(kSrun, {.launcher = "none"}).what(), HasSubstr("--launcher none"));
  EXPECT_THAT(refusal(kSrun, {.rank = "1", .world = "4", .launcher = "slurm"}).what(), HasSubstr("exclude each other"));
  for (Launcher launcher : {Launcher::flags, Launcher::torchrun, Launcher::openmpi, Launcher::slurm, Launcher::hydra, Launcher::mvapich})
    EXPECT_EQ(parse_launcher(name_of(launcher)), launcher);
}

}  // namespace
}  // namespace railgauge::cluster
