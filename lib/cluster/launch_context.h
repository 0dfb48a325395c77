#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "control/job_messages.h"

namespace railgauge::cluster {

using control::kMaxRanks;

/// Where rank 0 listens when nothing says otherwise: beside `railgauge serve` (18650), not torch's 29500, and NCCL's own
/// ports are ephemeral. Under Slurm the job's number spreads jobs that share a node over kSlurmPorts ports from here.
inline constexpr std::uint16_t kRendezvousPort = 18651;
inline constexpr int kSlurmPorts = 1000;
/// torchrun's own store listens on MASTER_PORT of rank 0's host, so that port is taken; but jobs that share a host have to
/// differ in it, so a port at a fixed distance is as unique (below it where above would pass 65535).
inline constexpr std::uint16_t kTorchPort = 29500;
inline constexpr std::uint16_t kBesideMasterPort = 150;

/// Who says which rank this process is.
enum class Launcher { none, flags, torchrun, openmpi, slurm, hydra, mvapich };
/// The word of --launcher and records: "flags", "torchrun", "openmpi", "slurm", "hydra", "mvapich"; "none".
const char* name_of(Launcher launcher) noexcept;
/// The reverse; "none" cannot be asked for (--rank 0 --world 1 says it). Throws Error{usage} listing the words.
Launcher parse_launcher(std::string_view word);

/// What the command line says.
struct LaunchFlags {
  std::optional<std::string> rank{};        ///< --rank: whole number below the world
  std::optional<std::string> world{};       ///< --world: 1 … kMaxRanks
  std::optional<std::string> local_rank{};  ///< --local-rank: replaces what the launcher says
  std::optional<std::string> master{};      ///< --master HOST[:PORT]: where rank 0 listens; goes before all else
  std::optional<std::string> launcher{};    ///< --launcher: only this one is asked
};

/// launcher_environment(), or a test's.
using LauncherVariables = std::map<std::string, std::string>;

/// Where rank 0 listens.
struct MeetingPoint {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const MeetingPoint&) const = default;
};

/// True if only this host can come there: "localhost", ::1, 127.*.
bool is_loopback(const MeetingPoint& point) noexcept;

/// This process's place among the others.
struct LaunchContext {
  Launcher source = Launcher::none;
  int rank = 0;                            ///< below world
  int world = 1;                           ///< 1 … kMaxRanks
  std::optional<int> local_rank{};         ///< among the ranks of this host
  std::optional<int> local_world{};        ///< ranks of this host
  std::optional<int> node_rank{};          ///< this host's number in the job
  std::optional<MeetingPoint> rendezvous{};  ///< set if world > 1
  /// True if a launcher set this up, so that the ranks are one job by construction; false for flags, RANK and WORLD_SIZE by hand, none.
  bool launched = false;
  /// The launcher's name of the job, the same on all its ranks; empty where it gives none. No secret: others can read it.
  std::string job{};
  std::string why{};                       ///< one sentence: who said what, where rank 0 is, what was passed over
};

/// Which rank is this, of how many, and where is rank 0? The first complete set (rank and size) wins, in the order flags,
/// torchrun or RANK/WORLD_SIZE by hand, Open MPI, Slurm, Hydra or Intel MPI, MVAPICH2 (nccl-facts.md, section 3).
/// Flags that are complete, and --launcher, overrule the rest. Otherwise a second complete set that differs in rank or
/// world is Error{usage} naming both with variables and values, and how to choose: which of the two levels of a nested launch
/// is meant cannot be known. An incomplete set is passed over and named in `why`; if no other is complete it is Error{usage}
/// saying what is missing (a batch script outside srun: N expected, alone here). Nothing there: a single rank.
/// Where rank 0 listens: --master; loopback if this host has all the ranks; MASTER_ADDR; the first host of
/// SLURM_STEP_NODELIST; SLURM_LAUNCH_NODE_IPADDR; else Error{usage}. Error{usage} also for values that are no numbers in
/// range. Pure; any thread.
LaunchContext launch_context(const LaunchFlags& flags, const LauncherVariables& variables);

}  // namespace railgauge::cluster
