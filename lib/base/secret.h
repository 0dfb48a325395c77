#pragma once
#include <cstdint>
#include <span>

namespace railgauge {

/// True if both have the same length and bytes. The time taken depends on the length only, so that a peer cannot find a
/// nonce or a code byte by byte. Any thread.
bool equal_constant_time(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right) noexcept;

/// Fills `out` with bytes of the kernel's random generator (getrandom(2)). Throws Error{system}. Any thread.
void fill_random(std::span<std::uint8_t> out);

/// Overwrites `bytes` in a way the compiler may not leave out.
void wipe(std::span<std::uint8_t> bytes) noexcept;

}  // namespace railgauge
