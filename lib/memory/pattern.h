#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace railgauge::memory {

/// A stretch of position-dependent data. Every 64-bit word of a pattern (up to 2^61 bytes of it) differs from every other,
/// so that data displaced by any whole number of words is found, also across slots and queue pairs; another seed is
/// another pattern.
struct Pattern {
  std::uint64_t seed = 0;
  /// The byte at `offset`; the words are little-endian whatever the CPU.
  std::byte at(std::uint64_t offset) const noexcept;
};

/// What a check found.
struct PatternCheck {
  std::uint64_t checked_bytes = 0;
  std::uint64_t mismatched_bytes = 0;
  std::optional<std::uint64_t> first_offset;  ///< in pattern offsets
  std::byte expected{};                       ///< at first_offset
  std::byte found{};
  /// Adds a later stretch; keeps the first mismatch.
  void add(const PatternCheck& later) noexcept;
};

/// Writes the bytes offset … offset+region.size()−1 of the pattern. Several GB/s; any alignment.
void fill_pattern(std::span<std::byte> region, std::uint64_t offset, Pattern pattern) noexcept;

/// Compares them. Several GB/s while they agree.
PatternCheck check_pattern(std::span<const std::byte> region, std::uint64_t offset, Pattern pattern) noexcept;

}  // namespace railgauge::memory
