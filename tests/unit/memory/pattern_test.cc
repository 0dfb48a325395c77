#include "memory/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace railgauge::memory {
namespace {

std::vector<std::byte> filled(std::size_t bytes, std::uint64_t offset, std::uint64_t seed) {
  std::vector<std::byte> region(bytes);
  fill_pattern(region, offset, Pattern{seed});
  return region;
}

TEST(Pattern, FillAgreesWithEachByteTakenAlone) {
  // Odd offsets and lengths, so that head, words and tail all occur.
  for (auto [offset, bytes] : std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 4099}, {3, 29}, {5, 2}, {8, 8}, {4093, 70'001}}) {
    auto region = filled(bytes, offset, 77);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(region[i], Pattern{77}.at(offset + i)) << offset << '+' << i;
    EXPECT_EQ(check_pattern(region, offset, Pattern{77}).mismatched_bytes, 0U);
    EXPECT_EQ(check_pattern(region, offset, Pattern{77}).checked_bytes, bytes);
  }
}

TEST(Pattern, NamesTheFirstMismatchAndCountsAll) {
  auto region = filled(70'000, 640, 5);
  region[12'345] ^= std::byte{0x40};
  region[12'346] ^= std::byte{0x01};
  region[69'999] ^= std::byte{0x80};
  PatternCheck check = check_pattern(region, 640, Pattern{5});
  EXPECT_EQ(check.mismatched_bytes, 3U);
  EXPECT_EQ(check.first_offset, 640U + 12'345U);
  EXPECT_EQ(check.expected, Pattern{5}.at(640 + 12'345));
  EXPECT_EQ(check.found, Pattern{5}.at(640 + 12'345) ^ std::byte{0x40});
}

TEST(Pattern, FindsDisplacementByAWordASlotAndAPage) {
  for (std::uint64_t shift : {8ULL, 64ULL, 4096ULL, 65536ULL}) {
    auto region = filled(8192, 128 + shift, 9);
    // Every word differs, so nearly every byte must (1 in 256 agrees by chance).
    EXPECT_GT(check_pattern(region, 128, Pattern{9}).mismatched_bytes, 7900U) << shift;
  }
}

TEST(Pattern, FindsDataOfAnotherSeed) {
  auto region = filled(8192, 0, 10);
  EXPECT_GT(check_pattern(region, 0, Pattern{11}).mismatched_bytes, 7900U);
}

TEST(Pattern, WordsDoNotRepeat) {
  auto region = filled(1 << 20, 0, 3);
  std::vector<std::uint64_t> words(region.size() / 8);
  std::memcpy(words.data(), region.data(), region.size());
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST(PatternCheck, KeepsTheFirstMismatchWhenStretchesAreAdded) {
  auto region = filled(96, 0, 3);
  region[40] ^= std::byte{1};
  PatternCheck sum = check_pattern(std::span(region).first(32), 0, Pattern{3});
  sum.add(check_pattern(std::span(region).subspan(32), 32, Pattern{3}));
  region[50] ^= std::byte{1};
  sum.add(check_pattern(std::span(region).subspan(48), 48, Pattern{3}));
  EXPECT_EQ(sum.first_offset, 40U);
  EXPECT_EQ(sum.mismatched_bytes, 2U);
  EXPECT_EQ(sum.checked_bytes, 96U + 48U);
}

}  // namespace
}  // namespace railgauge::memory
