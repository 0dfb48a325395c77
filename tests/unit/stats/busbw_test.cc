#include "stats/busbw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"

namespace railgauge::stats {
namespace {

using ::testing::HasSubstr;
using std::chrono::nanoseconds;

TEST(CollectiveOps, EachHasItsOwnNameAndPlace) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCollectiveOps.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kCollectiveOps[i].op), i);
    names.insert(kCollectiveOps[i].name);
  }
  EXPECT_EQ(names.size(), kCollectiveOps.size());
  EXPECT_EQ(find_collective("reduce_scatter"), &facts_of(CollectiveOp::reduce_scatter));
  EXPECT_EQ(find_collective("allreduce"), nullptr);
}

// S and factors: the table of nccl-facts, section 1 (nccl-tests src/*.cu GetBw), by hand for 1000 elements of 4 bytes.
struct Expected {
  const char* name;
  std::uint64_t bytes_8;   // S with 8 ranks
  double factor_8;
  double factor_3;
};
const Expected kTable[] = {
    {"all_reduce", 4000, 1.75, 4.0 / 3},       {"all_gather", 32000, 0.875, 2.0 / 3}, {"reduce_scatter", 32000, 0.875, 2.0 / 3},
    {"alltoall", 32000, 0.875, 2.0 / 3},       {"gather", 32000, 0.875, 2.0 / 3},     {"scatter", 32000, 0.875, 2.0 / 3},
    {"alltoallv", 4000, 0.875, 2.0 / 3},       {"broadcast", 4000, 1, 1},             {"reduce", 4000, 1, 1},
    {"sendrecv", 4000, 1, 1},                  {"hypercube", 28000, 1, 1},
};

TEST(Busbw, CountsAndFactorsOfEveryOperation) {
  EXPECT_EQ(std::size(kTable), kCollectiveOps.size());
  for (const Expected& expected : kTable) {
    const CollectiveFacts* facts = find_collective(expected.name);
    ASSERT_NE(facts, nullptr) << expected.name;
    EXPECT_EQ(counted_bytes({facts->op, 1000, 4, 8}), expected.bytes_8) << expected.name;
    EXPECT_DOUBLE_EQ(busbw_factor(facts->op, 8).value.value(), expected.factor_8) << expected.name;
    EXPECT_DOUBLE_EQ(busbw_factor(facts->op, 3).value.value(), expected.factor_3) << expected.name;
  }
}

TEST(Busbw, IsDecimalGigabytesPerSecond) {
  // 2^30 bytes in 4 ms: 268.435456 GB/s; all_reduce over 16 ranks: × 30/16 = 503.31648.
  const Value algbw = algbw_gbyte_per_s(1ull << 30, nanoseconds(4'000'000));
  EXPECT_DOUBLE_EQ(algbw.value.value(), 268.435456);
  EXPECT_DOUBLE_EQ(busbw_gbyte_per_s(CollectiveOp::all_reduce, 16, algbw).value.value(), 503.31648);
}

TEST(Busbw, OneRankHasNone) {
  // nccl-tests prints 0 (read as a failure, NVIDIA/nccl-tests#71) or the local copy's rate.
  for (const CollectiveFacts& facts : kCollectiveOps) {
    const Value busbw = busbw_gbyte_per_s(facts.op, 1, Value::of(7.5));
    EXPECT_EQ(busbw.value, std::nullopt) << facts.name;
    EXPECT_EQ(busbw.reason, "one rank moves nothing over a bus") << facts.name;
  }
  EXPECT_EQ(counted_bytes({CollectiveOp::hypercube, 1000, 4, 1}), 0u);
  EXPECT_EQ(counted_bytes({CollectiveOp::all_gather, 1000, 4, 1}), 4000u);
}

TEST(Busbw, AMissingAlgbwKeepsItsReason) {
  const Value algbw = algbw_gbyte_per_s(4096, nanoseconds(0));
  EXPECT_EQ(algbw.value, std::nullopt);
  EXPECT_EQ(busbw_gbyte_per_s(CollectiveOp::reduce, 5, algbw).reason, algbw.reason);
}

TEST(Busbw, RefusesNonsense) {
  const auto kind_of = [](const CollectiveShape& shape) {
    try {
      counted_bytes(shape);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("all_gather"));
      return error.kind();
    }
    return ErrorKind::data;
  };
  EXPECT_EQ(kind_of({CollectiveOp::all_gather, 1000, 4, 0}), ErrorKind::usage);
  EXPECT_EQ(kind_of({CollectiveOp::all_gather, 1ull << 58, 4, 16}), ErrorKind::usage);  // 2^64
  EXPECT_EQ(counted_bytes({CollectiveOp::all_gather, 1ull << 58, 4, 8}), 1ull << 63);
}

std::vector<nanoseconds> microseconds(const std::vector<int>& values) {
  std::vector<nanoseconds> durations;
  for (const int value : values) durations.emplace_back(value * 1000);
  return durations;
}

TEST(CollectiveTiming, IsTheSlowestRanksMedian) {
  // Medians 12, 31, 15 µs; one outlier of 900 µs in rank 2 and the mean over ranks (19.3) do not count. Skew 31 − 12 = 19.
  const auto a = microseconds({10, 14, 12}), b = microseconds({33, 29, 30, 32}), c = microseconds({15, 900, 14});
  const std::vector<RankSamples> ranks = {{4, a}, {7, b}, {2, c}};
  const CollectiveTiming timing = collective_timing(ranks);
  EXPECT_EQ(timing.time_ns.value, 31000);
  EXPECT_EQ(timing.slowest_rank, 7);
  EXPECT_EQ(timing.skew_ns.value, 19000);
  ASSERT_EQ(timing.ranks.size(), 3u);
  EXPECT_EQ(timing.ranks[2].rank, 2);
  EXPECT_EQ(timing.ranks[2].median_ns.value, 15000);
  EXPECT_EQ(timing.ranks[1].samples, 4u);
}

TEST(CollectiveTiming, ASilentRankMayBeTheSlowest) {
  const auto a = microseconds({10, 14, 12});
  const CollectiveTiming timing = collective_timing(std::vector<RankSamples>{{4, a}, {5, {}}});
  EXPECT_EQ(timing.time_ns.value, std::nullopt);
  EXPECT_EQ(timing.time_ns.reason, "rank 5 timed no call");
  EXPECT_EQ(timing.skew_ns.reason, "rank 5 timed no call");
  EXPECT_EQ(timing.slowest_rank, std::nullopt);
  EXPECT_EQ(timing.ranks.at(0).median_ns.value, 12000);
}

TEST(CollectiveTiming, OneRankHasNoSkewAndNoRankNoTime) {
  const auto a = microseconds({10, 14, 12});
  const CollectiveTiming one = collective_timing(std::vector<RankSamples>{{6, a}});
  EXPECT_EQ(one.time_ns.value, 12000);
  EXPECT_EQ(one.slowest_rank, 6);
  EXPECT_EQ(one.skew_ns.value, std::nullopt);
  EXPECT_FALSE(collective_timing({}).time_ns.value);
}

}  // namespace
}  // namespace railgauge::stats
