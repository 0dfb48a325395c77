#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/collective_op.h"
#include "stats/series.h"

namespace railgauge::stats {

/// Bandwidths of collectives, after nccl-tests (its src/*.cu GetBw and doc/PERFORMANCE.md; nccl-facts, section 1). Decimal
/// GB/s, 10⁹ bytes. Pure functions, any thread.

/// What one call of a collective works on.
struct CollectiveShape {
  CollectiveOp op = CollectiveOp::all_reduce;
  /// Elements as nccl-tests' column "count" has them: of the vector for all_reduce, broadcast, reduce, sendrecv; of one rank's
  /// block for all_gather, reduce_scatter, alltoall, gather, scatter, hypercube; what the busiest rank sends for alltoallv.
  std::uint64_t count = 0;
  std::uint64_t element_bytes = 4;
  int ranks = 1;                        ///< ≥ 1
};

/// S of algbw = S/t: the vector, or all blocks of one rank together. Throws Error{usage} where it is beyond 64 bits or there is
/// no rank.
std::uint64_t counted_bytes(const CollectiveShape& shape);

/// S/t. Missing where no time passed.
Value algbw_gbyte_per_s(std::uint64_t counted_bytes, nanoseconds elapsed);

/// What algbw is multiplied by for the rate that each rank's link carries with a ring: 2(n−1)/n for all_reduce, (n−1)/n where
/// blocks are exchanged, 1 where one vector passes. Missing for one rank, which nccl-tests prints as 0 or as a local copy.
/// With reduction in the switch (NVLS, SHARP) or a tree, busbw may exceed the wire.
Value busbw_factor(CollectiveOp op, int ranks);

/// algbw · factor; missing with the reason of whichever is.
Value busbw_gbyte_per_s(CollectiveOp op, int ranks, const Value& algbw);

/// Durations of one rank's calls of one measurement, by its own clock, warm-up left out.
struct RankSamples {
  int rank = 0;
  std::span<const nanoseconds> durations;
};

struct RankMedian {
  int rank = 0;
  std::uint64_t samples = 0;
  Value median_ns;
};

/// A collective is as fast as its slowest rank (nccl-facts, section 2): its time is the largest of the ranks' medians.
struct CollectiveTiming {
  std::vector<RankMedian> ranks;        ///< in the order given
  Value time_ns;                        ///< missing where a rank has no sample: it may have been the slowest
  std::optional<int> slowest_rank;      ///< the first of several; missing with time_ns
  Value skew_ns;                        ///< largest median − smallest; missing for one rank, and with time_ns
};
CollectiveTiming collective_timing(std::span<const RankSamples> ranks);

}  // namespace railgauge::stats
