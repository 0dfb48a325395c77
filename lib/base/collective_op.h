#pragma once
#include <array>
#include <string_view>

namespace railgauge {

/// Collective operations, as plan, statistics and importers name them.
enum class CollectiveOp {
  all_reduce,
  all_gather,
  reduce_scatter,
  alltoall,
  alltoallv,
  gather,
  scatter,
  broadcast,
  reduce,
  sendrecv,
  hypercube,
};

/// One line of the table of operations.
struct CollectiveFacts {
  CollectiveOp op;
  const char* name;       ///< "all_reduce": the option's word and nccl-tests' program without "_perf"
  bool reduces;           ///< computes a sum, minimum, …; has a reduction operator
  bool rooted;            ///< one rank is the source or the goal
};

/// In the order of the enumeration.
inline constexpr std::array<CollectiveFacts, 11> kCollectiveOps = {{
    {CollectiveOp::all_reduce, "all_reduce", true, false},
    {CollectiveOp::all_gather, "all_gather", false, false},
    {CollectiveOp::reduce_scatter, "reduce_scatter", true, false},
    {CollectiveOp::alltoall, "alltoall", false, false},
    {CollectiveOp::alltoallv, "alltoallv", false, false},
    {CollectiveOp::gather, "gather", false, true},
    {CollectiveOp::scatter, "scatter", false, true},
    {CollectiveOp::broadcast, "broadcast", false, true},
    {CollectiveOp::reduce, "reduce", true, true},
    {CollectiveOp::sendrecv, "sendrecv", false, false},
    {CollectiveOp::hypercube, "hypercube", false, false},
}};

constexpr const CollectiveFacts& facts_of(CollectiveOp op) noexcept { return kCollectiveOps[static_cast<std::size_t>(op)]; }

/// The operation of that name; null for a word that is none.
constexpr const CollectiveFacts* find_collective(std::string_view name) noexcept {
  for (const CollectiveFacts& facts : kCollectiveOps)
    if (name == facts.name) return &facts;
  return nullptr;
}

}  // namespace railgauge
