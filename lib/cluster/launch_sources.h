#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cluster/launch_context.h"

namespace railgauge::cluster {

/// What one source says. Internal to lib/cluster.
struct LaunchSource {
  Launcher launcher = Launcher::none;  ///< none: PMIx alone, which never gives a size
  std::string title;                   ///< "Open MPI"
  std::string evidence;                ///< "OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_SIZE=8"
  std::string missing;                 ///< what makes it incomplete, a clause; empty if it is complete
  std::optional<int> rank{};
  std::optional<int> world{};
  std::optional<int> local_rank{};
  std::optional<int> local_world{};
  std::optional<int> node_rank{};
  bool launched = true;
  std::string job{};
  bool complete() const noexcept { return missing.empty(); }
};

/// The value of a variable; nothing if it is unset or set to nothing.
std::optional<std::string> value_of(const LauncherVariables& variables, const char* name);

/// Those sources of which something is there, in the order of nccl-facts.md, section 3; with `only`, no other is looked at.
/// Throws Error{usage} for values that are no numbers in range.
std::vector<LaunchSource> read_sources(const LaunchFlags& flags, const LauncherVariables& variables, std::optional<Launcher> only);

}  // namespace railgauge::cluster
