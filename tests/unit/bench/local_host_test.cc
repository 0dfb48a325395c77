#include "bench/local_host.h"

#include <gtest/gtest.h>

namespace railgauge::bench {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

std::uint64_t cap(std::optional<std::uint64_t> memory, bool both_sides) {
  host::Snapshot facts;
  if (memory) facts.memory_bytes = host::Fact<std::uint64_t>::of(*memory);
  return default_limits(facts, both_sides).max_memory_bytes;
}

// Half of memory, 64 GiB at most: the rule in local_host.h, by hand.
TEST(DefaultLimits, LeaveHalfOfTheMemory) {
  EXPECT_EQ(cap(24 * kGiB, false), 12 * kGiB);
  EXPECT_EQ(cap(24 * kGiB, true), 6 * kGiB);
  EXPECT_EQ(cap(128 * kGiB, false), 64 * kGiB);
  EXPECT_EQ(cap(2048 * kGiB, true), 64 * kGiB);
  EXPECT_EQ(cap({}, false), 64 * kGiB);
}

}  // namespace
}  // namespace railgauge::bench
