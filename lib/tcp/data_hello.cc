#include "tcp/data_hello.h"

#include <cstring>

#include "base/secret.h"

namespace railgauge::tcp {
namespace {

// Bytes 0–5 magic, 6 version, 7 role, 8–23 nonce, 24–27 index, 28–31 zero.
constexpr std::array<std::uint8_t, 7> kMagicAndVersion{'R', 'G', 'D', 'A', 'T', 'A', 1};
constexpr std::size_t kRoleAt = 7;
constexpr std::size_t kNonceAt = 8;
constexpr std::size_t kIndexAt = 24;

}  // namespace

Nonce random_nonce() {
  Nonce nonce{};
  fill_random(nonce);
  return nonce;
}

Hello encode_hello(const Nonce& nonce, StreamName name) noexcept {
  Hello hello{};
  std::memcpy(hello.data(), kMagicAndVersion.data(), kMagicAndVersion.size());
  hello[kRoleAt] = static_cast<std::byte>(name.role);
  std::memcpy(hello.data() + kNonceAt, nonce.data(), nonce.size());
  for (std::size_t i = 0; i < 4; ++i) hello[kIndexAt + i] = static_cast<std::byte>(name.index >> (8 * i));
  return hello;
}

std::optional<StreamName> decode_hello(const Hello& hello, const Nonce& nonce) noexcept {
  Nonce found{};
  std::memcpy(found.data(), hello.data() + kNonceAt, found.size());
  const bool known = equal_constant_time(found, nonce);
  const bool magic = std::memcmp(hello.data(), kMagicAndVersion.data(), kMagicAndVersion.size()) == 0;
  const auto role = static_cast<std::uint8_t>(hello[kRoleAt]);
  if (!known || !magic || role < 1 || role > 3) return std::nullopt;
  StreamName name{static_cast<StreamRole>(role), 0};
  for (std::size_t i = 0; i < 4; ++i) name.index |= std::to_integer<std::uint32_t>(hello[kIndexAt + i]) << (8 * i);
  return name;
}

}  // namespace railgauge::tcp
