#include "control/keys.h"

#include <fmt/format.h>
#include <sodium.h>

#include <cstring>

#include "base/error.h"

namespace railgauge::control {
namespace {

static_assert(kMacBytes >= crypto_generichash_BYTES_MIN && kMacBytes <= crypto_generichash_BYTES_MAX);
static_assert(kKeyBytes >= crypto_generichash_KEYBYTES_MIN && kKeyBytes <= crypto_generichash_KEYBYTES_MAX);

void ensure_sodium() {
  static const int ready = sodium_init();
  if (ready < 0) throw Error(ErrorKind::system, "sodium_init: libsodium could not be set up");
}

/// Labels have one fixed length, so that no label and transcript can be cut in two ways.
using Label = std::array<std::uint8_t, 32>;
Label label_of(std::string_view text) {
  Label label{};
  std::memcpy(label.data(), text.data(), std::min(text.size(), label.size()));
  return label;
}

Key derived(const Key& key, std::string_view label, std::span<const std::uint8_t> transcript) {
  Mac mac = mac_of(key, label_of(label), transcript);
  Key out;
  std::memcpy(out.bytes().data(), mac.data(), kKeyBytes);
  wipe(mac);
  return out;
}

}  // namespace

Mac mac_of(const Key& key, std::span<const std::uint8_t> head, std::span<const std::uint8_t> body) {
  ensure_sodium();
  crypto_generichash_state state;
  Mac mac{};
  crypto_generichash_init(&state, key.bytes().data(), kKeyBytes, kMacBytes);
  crypto_generichash_update(&state, head.data(), head.size());
  crypto_generichash_update(&state, body.data(), body.size());
  crypto_generichash_final(&state, mac.data(), kMacBytes);
  sodium_memzero(&state, sizeof state);
  return mac;
}

Key key_from_token(std::string_view token) {
  // Not a password hash: make_token's tokens have 140 random bits; weakness_of warns of short ones.
  std::span text(reinterpret_cast<const std::uint8_t*>(token.data()), token.size());
  return derived(Key{}, token.empty() ? "railgauge 1 open mode" : "railgauge 1 token", text);
}

Mac proof_of(Role role, const Key& key, std::span<const std::uint8_t> transcript) {
  return mac_of(key, label_of(role == Role::client ? "railgauge 1 client proof" : "railgauge 1 server proof"), transcript);
}

SessionKeys session_keys(const Key& key, std::span<const std::uint8_t> transcript) {
  return {derived(key, "railgauge 1 client to server", transcript), derived(key, "railgauge 1 server to client", transcript)};
}

}  // namespace railgauge::control
