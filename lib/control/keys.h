#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/secret.h"
#include "control/protocol.h"

namespace railgauge::control {

/// A MAC and a key have the same size: 256 bits of BLAKE2b (libsodium's crypto_generichash).
inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kKeyBytes = 32;
using Mac = std::array<std::uint8_t, kMacBytes>;

/// 256 bits that are wiped when they go out of scope. Copies are independent.
class Key {
 public:
  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key() { wipe(bytes_); }
  std::span<std::uint8_t, kKeyBytes> bytes() noexcept { return bytes_; }
  std::span<const std::uint8_t, kKeyBytes> bytes() const noexcept { return bytes_; }

 private:
  std::array<std::uint8_t, kKeyBytes> bytes_{};
};

/// The key that a token stands for. The empty token is open mode: a key anyone can compute, so that MACs still find
/// corruption but prove nothing.
Key key_from_token(std::string_view token);

/// What one role proves to the other, and what each direction's frames are sealed with. All are keyed hashes of a label
/// of its own and of the transcript (client hello, server hello; both nonces stand in them), so that neither a reflected
/// nor a replayed proof or frame fits.
struct SessionKeys {
  Key client_to_server;
  Key server_to_client;
};
Mac proof_of(Role role, const Key& key, std::span<const std::uint8_t> transcript);
SessionKeys session_keys(const Key& key, std::span<const std::uint8_t> transcript);

/// Keyed BLAKE2b-256 of `head` followed by `body`.
Mac mac_of(const Key& key, std::span<const std::uint8_t> head, std::span<const std::uint8_t> body);

}  // namespace railgauge::control
