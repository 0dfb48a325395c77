#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace railgauge::control {

/// Big-endian whole numbers in byte blocks; the caller guarantees the room.
template <typename Number>
void put_big_endian(std::uint8_t* at, Number value) noexcept {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    at[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(Number) - 1 - i)));
  }
}
template <typename Number>
Number get_big_endian(const std::uint8_t* at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8 | at[i];
  return static_cast<Number>(value);
}

inline std::span<const std::uint8_t> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text_of(std::span<const std::uint8_t> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace railgauge::control
