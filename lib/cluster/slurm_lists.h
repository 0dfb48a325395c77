#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::cluster {

/// More hosts or nodes than this are refused: no cluster has them, and a wrong bracket must not fill the memory.
inline constexpr std::size_t kMaxNodes = 65536;

/// The hosts of a Slurm node list in its order: "node[01-03,7],gpu-a[1-2]b" → node01, node02, node03, node7, gpu-a1b, gpu-a2b.
/// Several brackets in one name count up from the right; a range has the width of its lower end. Throws Error{usage} naming
/// `what` (the variable) for an open bracket, a falling or malformed range, an empty name, more than kMaxNodes.
std::vector<std::string> expand_node_list(std::string_view text, std::string_view what);

/// Slurm's tasks of each node: "4(x2),3" → 4, 4, 3 (srun(1), SLURM_TASKS_PER_NODE). Throws Error{usage} naming `what`.
std::vector<int> expand_tasks_per_node(std::string_view text, std::string_view what);

}  // namespace railgauge::cluster
