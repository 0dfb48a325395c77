#include "cluster/launch_sources.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "cluster/slurm_lists.h"

namespace railgauge::cluster {
namespace {

/// The variables of a launcher; null where it has none.
struct Names {
  Launcher launcher;
  const char* title;
  const char* rank;
  const char* world;
  const char* local_rank;
  const char* local_world;
  const char* node_rank;
  const char* job;
};
constexpr Names kTorchrun{Launcher::torchrun, "torchrun",         "RANK",       "WORLD_SIZE",
                          "LOCAL_RANK",       "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID"};
// OMPI_COMM_WORLD_NODE_RANK is no node's number: it counts the processes of all jobs on this node (docs.open-mpi.org, section 11).
constexpr Names kOpenMpi{Launcher::openmpi,
                         "Open MPI",
                         "OMPI_COMM_WORLD_RANK",
                         "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK",
                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                         nullptr,
                         "PMIX_NAMESPACE"};
constexpr Names kHydra{Launcher::hydra,   "Hydra or Intel MPI", "PMI_RANK", "PMI_SIZE",
                       "MPI_LOCALRANKID", "MPI_LOCALNRANKS",    nullptr,    nullptr};
constexpr Names kMvapich{
    Launcher::mvapich, "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
    nullptr,           nullptr};
// Steps that are no tasks: 2^32 - 6 is the shell of salloc, - 5 the batch script, - 4 the external step (slurm.h, SLURM_INTERACTIVE_STEP
// …).
constexpr std::uint64_t kFirstSpecialStep = 4294967290;

/// Reads whole numbers and notes in `evidence` which it found.
class Reader {
 public:
  explicit Reader(const LauncherVariables& variables) : variables_(variables) {}
  std::optional<int> number(const char* name, int low, int high) {
    auto text = name != nullptr ? value_of(variables_, name) : std::nullopt;
    if (!text) return std::nullopt;
    note(name, *text);
    return static_cast<int>(parse_count(*text, name, static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
  }
  void note(const std::string& name, const std::string& value) {
    evidence_ += fmt::format("{}{}={}", evidence_.empty() ? "" : ", ", name, value);
  }
  std::string evidence() const { return evidence_; }

 private:
  const LauncherVariables& variables_;
  std::string evidence_;
};

void refuse_contradictions(const LaunchSource& source) {
  auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{} ({}): {}", source.title, source.evidence, why));
  };
  if (source.rank && source.world && *source.rank >= *source.world)
    refuse(fmt::format("rank {} is not below the world of {}", *source.rank, *source.world));
  if (source.local_world && source.world && *source.local_world > *source.world)
    refuse(fmt::format("{} ranks on this host are more than the world of {}", *source.local_world, *source.world));
  if (source.local_rank && source.local_world && *source.local_rank >= *source.local_world)
    refuse(fmt::format("local rank {} is not below the {} ranks of this host", *source.local_rank, *source.local_world));
}

std::optional<LaunchSource> read(const Names& names, const LauncherVariables& variables) {
  Reader reader(variables);
  LaunchSource source{names.launcher, names.title, {}, {}};
  source.rank = reader.number(names.rank, 0, kMaxRanks - 1);
  source.world = reader.number(names.world, 1, kMaxRanks);
  if (!source.rank && !source.world) return std::nullopt;
  source.evidence = reader.evidence();
  if (!source.rank) source.missing = fmt::format("{} but no {}", source.evidence, names.rank);
  if (!source.world) source.missing = fmt::format("{} but no {}", source.evidence, names.world);
  source.local_rank = reader.number(names.local_rank, 0, kMaxRanks - 1);
  source.local_world = reader.number(names.local_world, 1, kMaxRanks);
  source.node_rank = reader.number(names.node_rank, 0, kMaxRanks - 1);
  if (names.job != nullptr) source.job = value_of(variables, names.job).value_or("");
  if (source.complete()) refuse_contradictions(source);
  return source;
}

std::optional<LaunchSource> read_torchrun(const LauncherVariables& variables) {
  auto source = read(kTorchrun, variables);
  if (!source) return source;
  source->launched = !source->job.empty();
  if (!source->launched) source->title = "RANK and WORLD_SIZE set by hand or by the platform";
  return source;
}

std::optional<int> slurm_local_world(const LauncherVariables& variables, std::optional<int> node) {
  auto tasks = value_of(variables, "SLURM_STEP_TASKS_PER_NODE");
  if (tasks && node) {
    auto of_nodes = expand_tasks_per_node(*tasks, "SLURM_STEP_TASKS_PER_NODE");
    if (static_cast<std::size_t>(*node) < of_nodes.size()) return of_nodes[static_cast<std::size_t>(*node)];
  }
  return Reader(variables).number("SLURM_NTASKS_PER_NODE", 1, kMaxRanks);
}

/// A batch script and salloc's shell have SLURM_NTASKS of the job, and a batch script also SLURM_PROCID=0, but neither is a
/// task: only srun sets SLURM_STEP_NODELIST and its kin for tasks.
bool is_slurm_task(const LauncherVariables& variables, std::optional<int> rank) {
  if (!rank) return false;
  if (auto step = value_of(variables, "SLURM_STEP_ID"); step && parse_count(*step, "SLURM_STEP_ID", 0, UINT32_MAX) >= kFirstSpecialStep)
    return false;
  bool in_step = value_of(variables, "SLURM_STEP_NODELIST") || value_of(variables, "SLURM_STEP_NUM_TASKS") ||
                 value_of(variables, "SLURM_STEP_TASKS_PER_NODE");
  return in_step || *rank > 0;
}

std::string slurm_job(const LauncherVariables& variables) {
  auto job = value_of(variables, "SLURM_JOB_ID");
  auto step = value_of(variables, "SLURM_STEP_ID");
  return job ? fmt::format("{}{}{}", *job, step ? "." : "", step.value_or("")) : std::string();
}

std::optional<LaunchSource> read_slurm(const LauncherVariables& variables) {
  Reader reader(variables);
  LaunchSource source{Launcher::slurm, "Slurm", {}, {}};
  source.rank = reader.number("SLURM_PROCID", 0, kMaxRanks - 1);
  bool task = is_slurm_task(variables, source.rank);
  // The step's size: SLURM_NTASKS may be the whole job's.
  if (task) source.world = reader.number("SLURM_STEP_NUM_TASKS", 1, kMaxRanks);
  if (!source.world) source.world = reader.number("SLURM_NTASKS", 1, kMaxRanks);
  if (!task && source.world.value_or(1) == 1) return std::nullopt;  // a job of one task, or none said: alone is right
  source.evidence = reader.evidence();
  if (!task) {
    source.missing = fmt::format(
        "{}, but this process is no task of a step: {} are expected, and it is alone here: start it with srun (or give "
        "--rank 0 --world 1 to run alone)",
        source.evidence, *source.world);
    return source;
  }
  if (!source.world) source.missing = fmt::format("{} but no SLURM_NTASKS", source.evidence);
  source.local_rank = reader.number("SLURM_LOCALID", 0, kMaxRanks - 1);
  source.node_rank = reader.number("SLURM_NODEID", 0, kMaxRanks - 1);
  source.local_world = slurm_local_world(variables, source.node_rank);
  source.job = slurm_job(variables);
  if (source.complete()) refuse_contradictions(source);
  return source;
}

std::optional<LaunchSource> read_pmix(const LauncherVariables& variables) {
  Reader reader(variables);
  LaunchSource source{Launcher::none, "PMIx", {}, {}};
  source.rank = reader.number("PMIX_RANK", 0, kMaxRanks - 1);
  if (!source.rank) return std::nullopt;
  source.evidence = reader.evidence();
  source.missing = fmt::format("{}, and no size comes with it: give --rank \"$PMIX_RANK\" --world N from a shell that the launcher starts",
                               source.evidence);
  return source;
}

std::optional<LaunchSource> read_flags(const LaunchFlags& flags) {
  if (!flags.rank && !flags.world) return std::nullopt;
  if (!flags.rank || !flags.world)
    throw Error(ErrorKind::usage, fmt::format("{} needs {} beside it: give both or neither", flags.rank ? "--rank" : "--world",
                                              flags.rank ? "--world" : "--rank"));
  LaunchSource source{Launcher::flags, "the command line", fmt::format("--rank {} --world {}", *flags.rank, *flags.world), {}};
  source.rank = static_cast<int>(parse_count(*flags.rank, "--rank", 0, kMaxRanks - 1));
  source.world = static_cast<int>(parse_count(*flags.world, "--world", 1, kMaxRanks));
  source.launched = false;
  refuse_contradictions(source);
  return source;
}

}  // namespace

std::optional<std::string> value_of(const LauncherVariables& variables, const char* name) {
  auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::vector<LaunchSource> read_sources(const LaunchFlags& flags, const LauncherVariables& variables, std::optional<Launcher> only) {
  std::vector<LaunchSource> out;
  auto add = [&](Launcher launcher, auto read_one) {
    if (only && *only != launcher) return;
    if (auto source = read_one()) out.push_back(std::move(*source));
  };
  add(Launcher::flags, [&] { return read_flags(flags); });
  add(Launcher::torchrun, [&] { return read_torchrun(variables); });
  add(Launcher::openmpi, [&] { return read(kOpenMpi, variables); });
  add(Launcher::slurm, [&] { return read_slurm(variables); });
  add(Launcher::hydra, [&] { return read(kHydra, variables); });
  add(Launcher::mvapich, [&] { return read(kMvapich, variables); });
  add(Launcher::none, [&] { return read_pmix(variables); });
  return out;
}

}  // namespace railgauge::cluster
