#include "control/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "control/bytes.h"

namespace railgauge::control {
namespace {

constexpr std::string_view kHelloMagic = "RAILGAUG";
constexpr std::string_view kProofMagic = "RAILPROF";
constexpr std::size_t kMajorAt = 8, kMinorAt = 10, kRoleAt = 12, kFlagsAt = 13, kNonceAt = 16, kHelloPaddingAt = 48;
constexpr std::size_t kStatusAt = 8, kMacAt = 16;
constexpr std::uint8_t kTokenFlag = 1;
constexpr std::uint8_t kProofGiven = 0, kProofRefused = 1;

Role other(Role role) { return role == Role::client ? Role::server : Role::client; }

}  // namespace

HelloBytes encode_hello(const Hello& hello) {
  HelloBytes bytes{};
  std::memcpy(bytes.data(), kHelloMagic.data(), kHelloMagic.size());
  put_big_endian(bytes.data() + kMajorAt, hello.version.major);
  put_big_endian(bytes.data() + kMinorAt, hello.version.minor);
  bytes[kRoleAt] = static_cast<std::uint8_t>(hello.role);
  bytes[kFlagsAt] = hello.token_in_force ? kTokenFlag : 0;
  std::memcpy(bytes.data() + kNonceAt, hello.nonce.data(), hello.nonce.size());
  static_assert(kNonceAt + sizeof(Nonce) == kHelloPaddingAt);
  return bytes;
}

std::optional<Hello> decode_hello(std::span<const std::uint8_t, kHelloBytes> bytes) noexcept {
  if (text_of(bytes.first<kHelloMagic.size()>()) != kHelloMagic) return std::nullopt;
  std::uint8_t role = bytes[kRoleAt];
  if (role != static_cast<std::uint8_t>(Role::client) && role != static_cast<std::uint8_t>(Role::server)) return std::nullopt;
  Hello hello;
  hello.version = {get_big_endian<std::uint16_t>(bytes.data() + kMajorAt), get_big_endian<std::uint16_t>(bytes.data() + kMinorAt)};
  hello.role = static_cast<Role>(role);
  // Other flag bits and the padding belong to later versions: looked at only by the transcript.
  hello.token_in_force = (bytes[kFlagsAt] & kTokenFlag) != 0;
  std::copy_n(bytes.data() + kNonceAt, hello.nonce.size(), hello.nonce.begin());
  return hello;
}

Handshake::Handshake(Role role, const HandshakeOptions& options) : role_(role), options_(options) {
  Hello hello{options.version, role, options.token_in_force, {}};
  fill_random(hello.nonce);
  own_hello_ = encode_hello(hello);
  if (role_ == Role::client) output_ = text_of(own_hello_);
}

std::size_t Handshake::feed(std::span<const std::uint8_t> bytes) {
  std::size_t used = 0;
  while (state_ == State::running && used < bytes.size()) {
    std::size_t take = std::min(missing_bytes(), bytes.size() - used);
    input_.append(text_of(bytes.subspan(used, take)));
    used += take;
    if (starts_wrong()) {
      refuse(wrong_start_text());
    } else if (missing_bytes() == 0) {
      awaited_ == Block::hello ? take_hello() : take_proof();
      input_.clear();
    }
  }
  return used;
}

std::size_t Handshake::missing_bytes() const noexcept {
  if (state_ != State::running) return 0;
  return (awaited_ == Block::hello ? kHelloBytes : kProofBytes) - input_.size();
}

std::string Handshake::take_output() { return std::exchange(output_, {}); }

const char* Handshake::awaited() const noexcept { return awaited_ == Block::hello ? "its hello" : "its proof of the token"; }

Session Handshake::session() const { return {role_, in_force_, session_keys(options_.key, transcript())}; }

bool Handshake::starts_wrong() const noexcept {
  std::string_view magic = awaited_ == Block::hello ? kHelloMagic : kProofMagic;
  std::size_t seen = std::min(input_.size(), magic.size());
  return std::string_view(input_).substr(0, seen) != magic.substr(0, seen);
}

std::string Handshake::wrong_start_text() const {
  // Enough to recognise "GET / HTTP/1.1", "SSH-2.0-…", TLS's \x16\x03, and no more.
  std::string_view start = std::string_view(input_).substr(0, 24);
  std::string shown;
  for (char c : start) shown += (static_cast<unsigned char>(c) < 0x80) ? printable({&c, 1}) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return fmt::format("does not speak railgauge's control protocol (it began with \"{}\")", shown);
}

void Handshake::take_hello() {
  std::copy_n(bytes_of(input_).data(), kHelloBytes, peer_hello_.begin());
  auto hello = decode_hello(peer_hello_);
  if (!hello) return refuse("sent a malformed hello");
  if (hello->role == role_) {
    return refuse(role_ == Role::client ? "answered with a client's hello: it is no server" : "sent a server's hello: it is no client");
  }
  // The client is owed an answer even when the two cannot talk, so that it can say why.
  if (role_ == Role::server) output_ += text_of(own_hello_);
  if (!versions_fit(*hello) || !tokens_fit(*hello)) return;
  in_force_ = {options_.version.major, std::min(options_.version.minor, hello->version.minor)};
  if (role_ == Role::client) send_proof(kProofGiven);
  awaited_ = Block::proof;
}

bool Handshake::versions_fit(const Hello& peer) {
  if (peer.version.major == options_.version.major) return true;
  refuse(fmt::format("speaks control protocol {}, this side {}: use the same major version of railgauge on both hosts",
                     to_string(peer.version), to_string(options_.version)));
  return false;
}

bool Handshake::tokens_fit(const Hello& peer) {
  if (peer.token_in_force == options_.token_in_force) return true;
  if (role_ == Role::server) {
    refuse(peer.token_in_force ? "came with a token, but this server runs without one" : "came without a token, but this server asks for one");
  } else {
    refuse(peer.token_in_force ? "asks for a token: give the one that its `railgauge serve` printed by RAILGAUGE_TOKEN, --token-file or --token"
                               : "runs without a token, this side has one: serve with the same token, or take it away here");
  }
  return false;
}

void Handshake::take_proof() {
  auto bytes = bytes_of(input_);
  if (role_ == Role::client && bytes[kStatusAt] != kProofGiven) {
    wrong_proof_ = true;
    return refuse("does not accept this side's token: use the one that its `railgauge serve` printed");
  }
  Mac wanted = proof_of(other(role_), options_.key, transcript());
  bool zeros = std::all_of(bytes.begin() + kStatusAt, bytes.begin() + kMacAt, [](std::uint8_t b) { return b == 0; });
  if (!zeros || !equal_constant_time(wanted, bytes.subspan(kMacAt, kMacBytes))) {
    wrong_proof_ = true;
    if (role_ == Role::server) send_proof(kProofRefused);
    return refuse(role_ == Role::server ? "does not know the token (wrong token)"
                                        : "could not prove that it knows the token: it may be another server than the one meant");
  }
  if (role_ == Role::server) send_proof(kProofGiven);
  state_ = State::done;
}

void Handshake::send_proof(std::uint8_t status) {
  std::array<std::uint8_t, kProofBytes> block{};
  std::memcpy(block.data(), kProofMagic.data(), kProofMagic.size());
  block[kStatusAt] = status;
  if (status == kProofGiven) {
    Mac mac = proof_of(role_, options_.key, transcript());
    std::copy(mac.begin(), mac.end(), block.begin() + kMacAt);
  }
  output_ += text_of(block);
}

void Handshake::refuse(std::string reason) {
  state_ = State::refused;
  refusal_ = std::move(reason);
}

std::array<std::uint8_t, 2 * kHelloBytes> Handshake::transcript() const noexcept {
  const HelloBytes& client = role_ == Role::client ? own_hello_ : peer_hello_;
  const HelloBytes& server = role_ == Role::client ? peer_hello_ : own_hello_;
  std::array<std::uint8_t, 2 * kHelloBytes> both{};
  std::copy(client.begin(), client.end(), both.begin());
  std::copy(server.begin(), server.end(), both.begin() + kHelloBytes);
  return both;
}

}  // namespace railgauge::control
