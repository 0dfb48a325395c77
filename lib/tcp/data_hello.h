#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace railgauge::tcp {

/// 128 random bits that name one measurement; whoever opens a data connection must know them.
using Nonce = std::array<std::uint8_t, 16>;

/// From getrandom(2). Throws Error{system}.
Nonce random_nonce();

/// What a data connection is for.
enum class StreamRole : std::uint8_t {
  to_server = 1,    ///< the client sends
  to_client = 2,    ///< the server sends
  round_trip = 3,   ///< the client sends, the server echoes
};

/// Which of the measurement's connections one is.
struct StreamName {
  StreamRole role = StreamRole::to_server;
  std::uint32_t index = 0;
  bool operator==(const StreamName&) const = default;
};

/// The first bytes of every data connection: magic "RGDATA", version, role, nonce, index; little endian; always this many.
inline constexpr std::size_t kHelloBytes = 32;
using Hello = std::array<std::byte, kHelloBytes>;

Hello encode_hello(const Nonce& nonce, StreamName name) noexcept;
/// The name if magic, version, role and nonce are right, else nothing. Looks at nothing but these 32 bytes; the nonce is
/// compared in constant time.
std::optional<StreamName> decode_hello(const Hello& hello, const Nonce& nonce) noexcept;

/// The server's one-byte answer to a hello that it has taken.
inline constexpr std::byte kHelloTaken{0x06};

}  // namespace railgauge::tcp
