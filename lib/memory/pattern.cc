#include "memory/pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace railgauge::memory {
namespace {

// 2^64 / golden ratio, odd: i·kStep runs through all 64-bit values without repeating (Weyl sequence).
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;

/// A bijection, so that different words stay different; adds and shifts only, so that compilers vectorise it.
constexpr std::uint64_t mix(std::uint64_t x) noexcept { return x ^ (x >> 32); }

constexpr std::uint64_t start_of(Pattern pattern) noexcept {
  // splitmix64's finaliser, so that neighbouring seeds are far apart in the sequence.
  std::uint64_t z = pattern.seed + kStep;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t little_endian(std::uint64_t word) noexcept {
  if constexpr (std::endian::native == std::endian::little) return word;
  return __builtin_bswap64(word);
}

void fill_words(std::byte* to, std::uint64_t words, std::uint64_t x) noexcept {
  for (std::uint64_t i = 0; i < words; ++i, x += kStep) {
    std::uint64_t word = little_endian(mix(x));
    std::memcpy(to + i * 8, &word, 8);
  }
}

/// Whether a block agrees: no branch inside, so that it runs at memory speed.
bool block_agrees(const std::byte* from, std::uint64_t words, std::uint64_t x) noexcept {
  std::uint64_t difference = 0;
  for (std::uint64_t i = 0; i < words; ++i, x += kStep) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i * 8, 8);
    difference |= word ^ little_endian(mix(x));
  }
  return difference == 0;
}

void check_bytes(std::span<const std::byte> region, std::uint64_t offset, Pattern pattern, PatternCheck& result) noexcept {
  for (std::size_t i = 0; i < region.size(); ++i) {
    std::byte expected = pattern.at(offset + i);
    if (region[i] == expected) continue;
    ++result.mismatched_bytes;
    if (result.first_offset) continue;
    result.first_offset = offset + i;
    result.expected = expected;
    result.found = region[i];
  }
}

/// Bytes until the pattern offset is a multiple of 8, at most `size`.
std::size_t head_of(std::uint64_t offset, std::size_t size) noexcept {
  return std::min<std::size_t>(size, static_cast<std::size_t>((8 - offset % 8) % 8));
}

}  // namespace

std::byte Pattern::at(std::uint64_t offset) const noexcept {
  std::uint64_t word = mix(start_of(*this) + (offset / 8) * kStep);
  return static_cast<std::byte>((word >> (8 * (offset % 8))) & 0xFF);
}

void PatternCheck::add(const PatternCheck& later) noexcept {
  checked_bytes += later.checked_bytes;
  mismatched_bytes += later.mismatched_bytes;
  if (first_offset || !later.first_offset) return;
  first_offset = later.first_offset;
  expected = later.expected;
  found = later.found;
}

void fill_pattern(std::span<std::byte> region, std::uint64_t offset, Pattern pattern) noexcept {
  std::size_t head = head_of(offset, region.size());
  for (std::size_t i = 0; i < head; ++i) region[i] = pattern.at(offset + i);
  std::uint64_t words = (region.size() - head) / 8;
  fill_words(region.data() + head, words, start_of(pattern) + ((offset + head) / 8) * kStep);
  for (std::size_t i = head + words * 8; i < region.size(); ++i) region[i] = pattern.at(offset + i);
}

PatternCheck check_pattern(std::span<const std::byte> region, std::uint64_t offset, Pattern pattern) noexcept {
  constexpr std::uint64_t kBlockWords = 512;  // 4 KiB: looked at again byte by byte when it differs
  PatternCheck result;
  result.checked_bytes = region.size();
  std::size_t head = head_of(offset, region.size());
  check_bytes(region.first(head), offset, pattern, result);
  std::uint64_t words = (region.size() - head) / 8;
  for (std::uint64_t done = 0; done < words;) {
    std::uint64_t n = std::min(kBlockWords, words - done);
    std::size_t at = head + done * 8;
    std::uint64_t x = start_of(pattern) + ((offset + at) / 8) * kStep;
    if (!block_agrees(region.data() + at, n, x)) check_bytes(region.subspan(at, n * 8), offset + at, pattern, result);
    done += n;
  }
  std::size_t tail = head + words * 8;
  check_bytes(region.subspan(tail), offset + tail, pattern, result);
  return result;
}

}  // namespace railgauge::memory
