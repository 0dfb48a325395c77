#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "control/keys.h"
#include "control/protocol.h"

namespace railgauge::control {

/// Everything said before both sides have proved that they know the token. The hello's layout is fixed for ever, so that
/// any two versions can tell each other why they do not talk:
///   0 "RAILGAUG" · 8 major u16 · 10 minor u16 · 12 role u8 · 13 flags u8 (bit 0: a token is in force) · 14 zero u16 ·
///   16 nonce (32) · 48 zeros to 128. Big-endian.
inline constexpr std::size_t kHelloBytes = 128;
/// "RAILPROF" · status u8 · seven zeros · MAC (32).
inline constexpr std::size_t kProofBytes = 48;

using HelloBytes = std::array<std::uint8_t, kHelloBytes>;
using Nonce = std::array<std::uint8_t, 32>;

struct Hello {
  Version version = kProtocolVersion;
  Role role = Role::client;
  bool token_in_force = false;
  Nonce nonce{};
};
HelloBytes encode_hello(const Hello& hello);
/// Nothing if the bytes are no hello of any version. Never throws: the bytes are a stranger's.
std::optional<Hello> decode_hello(std::span<const std::uint8_t, kHelloBytes> bytes) noexcept;

/// What the two sides know of each other once the handshake is over.
struct Session {
  Role role = Role::client;   ///< this side's
  Version in_force;           ///< same major; the lower minor
  SessionKeys keys;
};

/// One side's identity in a handshake.
struct HandshakeOptions {
  Key key;                    ///< key_from_token
  bool token_in_force = false;
  Version version = kProtocolVersion;  ///< tests pretend to be another
};

/// One side of client hello → server hello → client proof → server proof, without any socket: bytes in, bytes out. Parses
/// nothing but the two fixed blocks. One thread at a time.
class Handshake {
 public:
  enum class State { running, done, refused };

  /// Draws the nonce; a client's output() then holds its hello.
  Handshake(Role role, const HandshakeOptions& options);

  /// Takes what has arrived; returns how many bytes were used: all of them while running; bytes that follow the last
  /// block belong to the first frame and are left.
  std::size_t feed(std::span<const std::uint8_t> bytes);
  /// How many bytes the block that is due still lacks; 0 when not running.
  std::size_t missing_bytes() const noexcept;
  /// What is to be sent now; empty when there is nothing. The server never sends more than it has received.
  std::string take_output();

  State state() const noexcept { return state_; }
  /// Why, in a sentence that begins with a verb and goes on from "the peer …"/"this side …"; valid when refused. Holds
  /// peer bytes only in printable form.
  const std::string& refusal() const noexcept { return refusal_; }
  /// True when refused because a proof did not fit: the server counts and logs these.
  bool wrong_proof() const noexcept { return wrong_proof_; }
  /// What has to arrive next, for messages: "its hello", "its proof of the token".
  const char* awaited() const noexcept;
  /// Valid when done.
  Session session() const;

 private:
  enum class Block { hello, proof };
  void take_hello();
  void take_proof();
  void send_proof(std::uint8_t status);
  void refuse(std::string reason);
  bool starts_wrong() const noexcept;
  std::string wrong_start_text() const;
  bool versions_fit(const Hello& peer);
  bool tokens_fit(const Hello& peer);
  std::array<std::uint8_t, 2 * kHelloBytes> transcript() const noexcept;

  Role role_;
  HandshakeOptions options_;
  HelloBytes own_hello_{};
  HelloBytes peer_hello_{};
  Version in_force_ = kProtocolVersion;
  Block awaited_ = Block::hello;
  State state_ = State::running;
  std::string input_;
  std::string output_;
  std::string refusal_;
  bool wrong_proof_ = false;
};

}  // namespace railgauge::control
