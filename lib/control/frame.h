#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "control/keys.h"
#include "control/protocol.h"

namespace railgauge::control {

/// One message as sent or received: its type and its body (JSON text, or empty).
struct Message {
  MessageType type = MessageType::heartbeat;
  std::string body;
  bool operator==(const Message&) const = default;
};

/// On the wire, big-endian: magic "RGF1" · body length u32 · type u8 · three zero bytes · sequence u64 · body · MAC (32)
/// over all before it.
inline constexpr std::size_t kFrameHeaderBytes = 20;

/// Seals messages of one direction. One thread at a time.
class FrameWriter {
 public:
  explicit FrameWriter(const Key& key) : key_(key) {}
  /// The whole frame; counts the sequence number up. Throws Error{usage} if the body is beyond its type's limits: the
  /// peer would refuse it.
  std::string seal(MessageType type, std::string_view body);

 private:
  Key key_;
  std::uint64_t sequence_ = 0;
};

/// Opens frames of one direction from bytes as they arrive; holds no more than has arrived. One thread at a time.
class FrameReader {
 public:
  explicit FrameReader(const Key& key) : key_(key) {}
  /// Takes what has arrived.
  void append(std::span<const std::uint8_t> bytes);
  /// The next whole message, or nothing yet. Order of checks: magic, reserved zeros, type, length, sequence, MAC, and then
  /// depth and element count of the body by a scan without parsing. Throws Error{peer} saying which one failed; after
  /// that the stream is of no use and every further call throws again.
  std::optional<Message> next();
  /// True while part of a frame has arrived and the rest has not.
  bool in_the_middle() const noexcept { return buffered_bytes() > 0; }
  /// Arrived and not yet given out.
  std::size_t buffered_bytes() const noexcept { return buffer_.size() - consumed_; }

 private:
  struct Header {
    MessageType type;
    std::size_t body_bytes;
  };
  Header check_header(std::span<const std::uint8_t> bytes) const;
  [[noreturn]] void spoil(const std::string& reason);

  Key key_;
  std::uint64_t sequence_ = 0;
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::optional<std::string> spoiled_;
};

/// Throws Error{peer} if `text` nests deeper or holds more values than `limits` says. Looks at brackets, commas and
/// strings only: it bounds what a parser will do with the text, it does not say that the text is JSON.
void check_json_shape(std::string_view text, const BodyLimits& limits);

}  // namespace railgauge::control
