#include "control/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "control/bytes.h"

namespace railgauge::control {
namespace {

constexpr std::string_view kMagic = "RGF1";
// Offsets in the header; see frame.h.
constexpr std::size_t kLengthAt = 4, kTypeAt = 8, kZerosAt = 9, kSequenceAt = 12;

}  // namespace

std::string FrameWriter::seal(MessageType type, std::string_view body) {
  BodyLimits limits = limits_of(type);
  if (body.size() > limits.bytes) {
    throw Error(ErrorKind::usage, fmt::format("a {} message of {} bytes is longer than the {} the control protocol allows",
                                              name_of(type), body.size(), limits.bytes));
  }
  std::array<std::uint8_t, kFrameHeaderBytes> header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  put_big_endian(header.data() + kLengthAt, static_cast<std::uint32_t>(body.size()));
  header[kTypeAt] = static_cast<std::uint8_t>(type);
  put_big_endian(header.data() + kSequenceAt, sequence_++);
  Mac mac = mac_of(key_, header, bytes_of(body));
  std::string frame;
  frame.reserve(header.size() + body.size() + mac.size());
  frame.append(text_of(header)).append(body).append(text_of(mac));
  return frame;
}

void FrameReader::append(std::span<const std::uint8_t> bytes) {
  if (consumed_ > 0) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(text_of(bytes));
}

std::optional<Message> FrameReader::next() {
  if (spoiled_) throw Error(ErrorKind::peer, *spoiled_);
  auto bytes = bytes_of(buffer_).subspan(consumed_);
  // A stranger's first bytes are refused at once, not when a whole header is there.
  std::size_t seen = std::min(bytes.size(), kMagic.size());
  if (text_of(bytes.first(seen)) != kMagic.substr(0, seen)) spoil("sent bytes that are no frame (wrong magic)");
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  Header header{};
  try {
    header = check_header(bytes);
  } catch (const Error& error) {
    spoil(error.what());
  }
  std::size_t sealed = kFrameHeaderBytes + header.body_bytes;
  if (bytes.size() < sealed + kMacBytes) return std::nullopt;
  auto body = bytes.subspan(kFrameHeaderBytes, header.body_bytes);
  Mac mac = mac_of(key_, bytes.first(kFrameHeaderBytes), body);
  if (!equal_constant_time(mac, bytes.subspan(sealed, kMacBytes))) {
    spoil("sent a frame whose seal does not fit (altered on the way, replayed or forged)");
  }
  try {
    check_json_shape(text_of(body), limits_of(header.type));
  } catch (const Error& error) {
    spoil(fmt::format("sent a {} message {}", name_of(header.type), error.what()));
  }
  Message message{header.type, std::string(text_of(body))};
  consumed_ += sealed + kMacBytes;
  ++sequence_;
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  }
  return message;
}

FrameReader::Header FrameReader::check_header(std::span<const std::uint8_t> bytes) const {
  for (std::size_t i = kZerosAt; i < kSequenceAt; ++i) {
    if (bytes[i] != 0) throw Error(ErrorKind::peer, "sent a frame whose reserved bytes are not zero");
  }
  if (!is_known_type(bytes[kTypeAt])) {
    throw Error(ErrorKind::peer, fmt::format("sent a message of type {}, which this version does not know", bytes[kTypeAt]));
  }
  auto type = static_cast<MessageType>(bytes[kTypeAt]);
  auto length = get_big_endian<std::uint32_t>(bytes.data() + kLengthAt);
  if (length > limits_of(type).bytes) {
    throw Error(ErrorKind::peer, fmt::format("announced a {} message of {} bytes; at most {} are allowed", name_of(type),
                                             length, limits_of(type).bytes));
  }
  auto sequence = get_big_endian<std::uint64_t>(bytes.data() + kSequenceAt);
  if (sequence != sequence_) {
    throw Error(ErrorKind::peer, fmt::format("sent frame {} where {} was due (lost, replayed or reordered)", sequence, sequence_));
  }
  return {type, length};
}

void FrameReader::spoil(const std::string& reason) {
  spoiled_ = reason;
  buffer_.clear();
  consumed_ = 0;
  throw Error(ErrorKind::peer, reason);
}

void check_json_shape(std::string_view text, const BodyLimits& limits) {
  int depth = 0;
  std::uint32_t elements = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;  // the escaped character cannot end the string
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    bool opens = c == '[' || c == '{';
    if (opens && ++depth > limits.depth) {
      throw Error(ErrorKind::peer, fmt::format("nested deeper than {} levels", limits.depth));
    }
    // Each value but the first of a container follows a comma; each container holds a first one.
    if ((opens || c == ',') && ++elements > limits.elements) {
      throw Error(ErrorKind::peer, fmt::format("of more than {} values", limits.elements));
    }
  }
}

}  // namespace railgauge::control
