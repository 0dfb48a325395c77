#include "stats/busbw.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "stats/sample.h"

namespace railgauge::stats {
namespace {

/// How S grows with the ranks, and which factor goes with it.
enum class Traffic {
  twice,      ///< every element goes around the ring twice: reduced, then spread
  blocks,     ///< n blocks a rank, of which its own stays
  vector,     ///< one vector passes every link
  hypercube,  ///< n − 1 blocks, all of which travel
};

Traffic traffic_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce: return Traffic::twice;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::alltoall:
    case CollectiveOp::alltoallv:
    case CollectiveOp::gather:
    case CollectiveOp::scatter: return Traffic::blocks;
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::sendrecv: return Traffic::vector;
    case CollectiveOp::hypercube: return Traffic::hypercube;
  }
  return Traffic::vector;
}

std::uint64_t product(std::uint64_t a, std::uint64_t b, const CollectiveShape& shape) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b)
    throw Error(ErrorKind::usage, fmt::format("{} of {} elements of {} bytes over {} ranks: more than 2^64 bytes", facts_of(shape.op).name, shape.count,
                                              shape.element_bytes, shape.ranks));
  return a * b;
}

RankMedian median_of_rank(const RankSamples& samples) {
  RankMedian median{samples.rank, samples.durations.size(), Value::missing(fmt::format("rank {} timed no call", samples.rank))};
  if (samples.durations.empty()) return median;
  std::vector<double> sorted;
  for (const nanoseconds duration : samples.durations) sorted.push_back(static_cast<double>(duration.count()));
  std::sort(sorted.begin(), sorted.end());
  median.median_ns = Value::of(median_of(sorted));
  return median;
}

}  // namespace

std::uint64_t counted_bytes(const CollectiveShape& shape) {
  if (shape.ranks < 1) throw Error(ErrorKind::usage, fmt::format("{} over {} ranks: at least one is needed", facts_of(shape.op).name, shape.ranks));
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  const std::uint64_t block = product(shape.count, shape.element_bytes, shape);
  const Traffic traffic = traffic_of(shape.op);
  if (traffic == Traffic::hypercube) return product(block, ranks - 1, shape);
  // The blocks of alltoallv differ; its count is the busiest rank's whole already.
  return traffic == Traffic::blocks && shape.op != CollectiveOp::alltoallv ? product(block, ranks, shape) : block;
}

Value algbw_gbyte_per_s(std::uint64_t counted_bytes, nanoseconds elapsed) {
  if (elapsed.count() <= 0) return Value::missing("no time passed");
  return Value::of(static_cast<double>(counted_bytes) / static_cast<double>(elapsed.count()));  // bytes/ns = GB/s
}

Value busbw_factor(CollectiveOp op, int ranks) {
  if (ranks < 2) return Value::missing("one rank moves nothing over a bus");
  const double n = ranks;
  switch (traffic_of(op)) {
    case Traffic::twice: return Value::of(2 * (n - 1) / n);
    case Traffic::blocks: return Value::of((n - 1) / n);
    case Traffic::vector:
    case Traffic::hypercube: break;
  }
  return Value::of(1);
}

Value busbw_gbyte_per_s(CollectiveOp op, int ranks, const Value& algbw) {
  const Value factor = busbw_factor(op, ranks);
  if (!factor.value) return factor;
  return algbw.value ? Value::of(*algbw.value * *factor.value) : algbw;
}

CollectiveTiming collective_timing(std::span<const RankSamples> ranks) {
  CollectiveTiming timing;
  for (const RankSamples& samples : ranks) timing.ranks.push_back(median_of_rank(samples));
  const auto silent = std::find_if(timing.ranks.begin(), timing.ranks.end(), [](const RankMedian& rank) { return !rank.median_ns.value; });
  if (timing.ranks.empty() || silent != timing.ranks.end()) {
    timing.time_ns = timing.skew_ns = timing.ranks.empty() ? Value::missing("no rank") : silent->median_ns;
    return timing;
  }
  const auto faster = [](const RankMedian& a, const RankMedian& b) { return *a.median_ns.value < *b.median_ns.value; };
  const auto slowest = std::max_element(timing.ranks.begin(), timing.ranks.end(), faster);
  const auto fastest = std::min_element(timing.ranks.begin(), timing.ranks.end(), faster);
  timing.time_ns = slowest->median_ns;
  timing.slowest_rank = slowest->rank;
  timing.skew_ns = timing.ranks.size() < 2 ? Value::missing("one rank has nobody to differ from")
                                           : Value::of(*slowest->median_ns.value - *fastest->median_ns.value);
  return timing;
}

}  // namespace railgauge::stats
