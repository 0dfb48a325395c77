#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace railgauge {

/// Every environment variable that railgauge itself reads. Nothing else calls getenv.
struct Environment {
  std::optional<std::string> token;    ///< RAILGAUGE_TOKEN: the shared token of serve and check, so that no command line shows it
  std::optional<std::string> sysroot;  ///< RAILGAUGE_SYSROOT: default of --sysroot, the root under which host facts are read
  std::optional<std::string> libcuda;  ///< RAILGAUGE_LIBCUDA: the file to load in place of the NVIDIA driver's libcuda.so.1
  bool no_color = false;               ///< NO_COLOR (any value but nothing): no colour on a terminal
  bool plain_terminal = false;         ///< TERM is "dumb": a terminal without escape sequences (Emacs, CI consoles)
};

/// As they are now, for whoever needs one of them. No thread may change the environment meanwhile (getenv(3)); none here does.
Environment read_environment();

/// The variables that may stand in a record, as (name, value), sorted: those that change what libibverbs, NCCL, UCX or
/// the CUDA runtime do, by an allow-list of names and prefixes, so that no token or password can slip in.
std::vector<std::pair<std::string, std::string>> recordable_environment();

/// True if the allow-list lets `name` into a record.
bool is_recordable_variable(const std::string& name);

/// What launchers tell a process of its place among the others, by name; only names of the list in env.cc (nccl-facts.md,
/// section 3, and the man pages srun(1), mpirun(1)), none set to nothing:
///   torchrun, or by hand: RANK, WORLD_SIZE, LOCAL_RANK, …; Open MPI: OMPI_COMM_WORLD_*; Slurm: SLURM_PROCID, SLURM_STEP_*, …;
///   Hydra and Intel MPI: PMI_*, MPI_LOCAL*; MVAPICH2: MV2_COMM_WORLD_*; PMIx: PMIX_RANK, PMIX_NAMESPACE; MASTER_ADDR, MASTER_PORT.
/// None of them is recordable: they differ between ranks and jobs, and what was made of them stands in the launch context.
std::map<std::string, std::string> launcher_environment();

}  // namespace railgauge
