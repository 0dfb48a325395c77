// The source of the GPU kernels, compiled by the host's compiler and run with a thread for each lane of a warp, against
// lib/memory/pattern. What this cannot show: that nvcc makes the same of it, and any speed.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/pattern.h"

// What CUDA adds to C++, as far as pattern.cu uses it.
#define __device__
#define __global__
namespace {

struct Index {
  unsigned x = 0;
};
struct ulonglong2 {
  unsigned long long x, y;
};
[[maybe_unused]] ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

thread_local Index threadIdx, blockIdx, blockDim, gridDim;

/// The lanes that run together, and what they show each other.
struct Warp {
  std::barrier<> step{32};
  std::array<unsigned long long, 32> shown{};
};
thread_local Warp* warp = nullptr;

[[maybe_unused]] unsigned long long __shfl_down_sync(unsigned, unsigned long long value, int distance) {
  const unsigned lane = threadIdx.x % 32;
  warp->shown[lane] = value;
  warp->step.arrive_and_wait();
  const unsigned from = lane + static_cast<unsigned>(distance);
  const unsigned long long got = from < 32 ? warp->shown[from] : value;
  warp->step.arrive_and_wait();
  return got;
}
[[maybe_unused]] int __any_sync(unsigned, bool mine) {
  warp->shown[threadIdx.x % 32] = mine ? 1 : 0;
  warp->step.arrive_and_wait();
  int any = 0;
  for (unsigned long long other : warp->shown) any |= static_cast<int>(other);
  warp->step.arrive_and_wait();
  return any;
}
[[maybe_unused]] void atomicAdd(unsigned long long* to, unsigned long long value) { __atomic_fetch_add(to, value, __ATOMIC_RELAXED); }
[[maybe_unused]] void atomicMin(unsigned long long* to, unsigned long long value) {
  unsigned long long before = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (value < before && !__atomic_compare_exchange_n(to, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

}  // namespace
#include "cuda/kernels/pattern.cu"

namespace railgauge::cuda {
namespace {

constexpr unsigned kBlocks = 3;
constexpr unsigned kWarpsPerBlock = 2;

/// All threads of a grid of three blocks of 64: warp after warp, the lanes of one at the same time.
template <typename Kernel>
void run_grid(Kernel kernel) {
  for (unsigned w = 0; w < kBlocks * kWarpsPerBlock; ++w) {
    Warp together;
    std::vector<std::thread> lanes;
    for (unsigned lane = 0; lane < 32; ++lane)
      lanes.emplace_back([&together, &kernel, w, lane] {
        warp = &together;
        gridDim.x = kBlocks;
        blockDim.x = kWarpsPerBlock * 32;
        blockIdx.x = w / kWarpsPerBlock;
        threadIdx.x = w % kWarpsPerBlock * 32 + lane;
        kernel();
      });
    for (std::thread& lane : lanes) lane.join();
  }
}

/// `lead` bytes behind a 16-byte boundary, with a margin that must stay as it is.
class Region {
 public:
  Region(std::uint64_t lead, std::uint64_t bytes) : bytes_(bytes), memory_(lead + bytes + 96, std::byte{0xA5}) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = (16 - at % 16) % 16 + 16 + lead;
  }
  std::byte* data() { return memory_.data() + begin_; }
  unsigned char* device() { return reinterpret_cast<unsigned char*>(data()); }
  std::span<std::byte> span() { return {data(), bytes_}; }
  bool margin_untouched() const {
    for (std::uint64_t i = 0; i < memory_.size(); ++i)
      if ((i < begin_ || i >= begin_ + bytes_) && memory_[i] != std::byte{0xA5}) return false;
    return true;
  }

 private:
  std::uint64_t bytes_;
  std::vector<std::byte> memory_;
  std::uint64_t begin_;
};

struct Case {
  std::uint64_t lead, bytes, pattern_offset;
};
/// Alignments of memory and pattern against 16 and 8 bytes, lengths around a chunk, and long enough for the unrolled loop
/// (192 threads · 4 chunks · 16 B = 12 KiB a round).
const std::vector<Case> kCases = {{0, 1, 0},        {3, 7, 5},      {8, 16, 8},         {15, 31, 1'000'003}, {1, 0, 9},
                                  {0, 40'000, 64},  {5, 40'003, 7}, {13, 25'601, 4097}, {8, 12'288, 3},      {2, 13, 0x7FFF'FFFF'FFF5}};

TEST(FillKernel, IsThePatternOfHostMemoryAtAnyAlignment) {
  for (const Case& c : kCases) {
    Region region(c.lead, c.bytes);
    run_grid([&] { railgauge_fill(region.device(), c.bytes, c.pattern_offset, 77); });
    const memory::PatternCheck check = memory::check_pattern(region.span(), c.pattern_offset, {.seed = 77});
    EXPECT_EQ(check.mismatched_bytes, 0U) << c.lead << ' ' << c.bytes << ' ' << c.pattern_offset;
    EXPECT_TRUE(region.margin_untouched());
  }
}

VerifyResult verify(Region& region, const Case& c, std::uint64_t seed) {
  VerifyResult result{0, kNoMismatch};
  run_grid([&] { railgauge_verify(region.device(), c.bytes, c.pattern_offset, seed, &result); });
  return result;
}

TEST(VerifyKernel, AgreesWithHostMemory) {
  for (const Case& c : kCases) {
    Region region(c.lead, c.bytes);
    memory::fill_pattern(region.span(), c.pattern_offset, {.seed = 4});
    EXPECT_EQ(verify(region, c, 4).mismatched_bytes, 0U) << c.lead << ' ' << c.bytes;
    EXPECT_EQ(verify(region, c, 4).first, kNoMismatch);
    const memory::PatternCheck other = memory::check_pattern(region.span(), c.pattern_offset, {.seed = 6});
    EXPECT_EQ(verify(region, c, 6).mismatched_bytes, other.mismatched_bytes) << c.lead << ' ' << c.bytes;
  }
}

TEST(VerifyKernel, NamesTheFirstOfSeveral) {
  const Case c{5, 40'003, 7};
  const memory::Pattern pattern{.seed = 12};
  for (const std::vector<std::uint64_t>& wrong : {std::vector<std::uint64_t>{3}, {10, 11}, {39'999, 20'000, 20'008}, {40'002}, {12'299, 12'300, 39'000}}) {
    Region region(c.lead, c.bytes);
    memory::fill_pattern(region.span(), c.pattern_offset, pattern);
    for (std::uint64_t at : wrong) region.data()[at] ^= std::byte{0x40};
    const memory::PatternCheck host = memory::check_pattern(region.span(), c.pattern_offset, pattern);
    const VerifyResult found = verify(region, c, 12);
    EXPECT_EQ(found.mismatched_bytes, wrong.size());
    EXPECT_EQ(c.pattern_offset + (found.first >> 16), *host.first_offset);
    EXPECT_EQ(found.first >> 8 & 0xFF, std::to_integer<unsigned>(host.expected));
    EXPECT_EQ(found.first & 0xFF, std::to_integer<unsigned>(host.found));
  }
}

TEST(CopyKernel, MovesExactlyWhatItIsToldAtAnyAlignment) {
  for (const Case& c : kCases) {
    Region from(c.lead, c.bytes);
    Region to(c.pattern_offset % 16, c.bytes);
    memory::fill_pattern(from.span(), 1, {.seed = 8});
    run_grid([&] { railgauge_copy(to.device(), from.device(), c.bytes); });
    EXPECT_TRUE(c.bytes == 0 || std::memcmp(to.data(), from.data(), c.bytes) == 0) << c.lead << ' ' << c.bytes;
    EXPECT_TRUE(to.margin_untouched());
  }
}

}  // namespace
}  // namespace railgauge::cuda
