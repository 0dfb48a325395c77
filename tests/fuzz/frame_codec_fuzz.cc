// Everything of lib/control that a peer's bytes reach: handshake blocks, frames, the scan before parsing, message bodies.
// The first byte chooses the way in; the second is a message type or a cut. Whatever comes, only railgauge::Error{peer} may
// come out, and a frame that was altered must never become a message.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "control/bytes.h"
#include "control/frame.h"
#include "control/handshake.h"
#include "control/job_messages.h"
#include "control/messages.h"

namespace railgauge::control {
namespace {

using Bytes = std::span<const std::uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Call>
void only_peer_errors(Call call) {
  try {
    call();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::peer);
  }
}

/// A stranger's bytes as frames, in two pieces.
void open_raw(std::uint8_t cut, Bytes bytes) {
  only_peer_errors([&] {
    FrameReader reader{Key{}};
    std::size_t first = bytes.size() * cut / 255;
    reader.append(bytes.first(first));
    while (reader.next()) {
    }
    reader.append(bytes.subspan(first));
    while (reader.next()) {
    }
  });
}

void read_job_body(MessageType type, std::string_view body) {
  switch (type) {
    case MessageType::join: {
      Member member = member_from_json(body);
      require(member_from_json(to_json(member)) == member);
      break;
    }
    case MessageType::roster: {
      Roster roster = roster_from_json(body);
      require(roster_from_json(to_json(roster)) == roster);
      break;
    }
    case MessageType::step: (void)step_from_json(body); break;
    case MessageType::arrive: {
      Arrival arrival = arrival_from_json(body);
      require(arrival_from_json(to_json(arrival)) == arrival);
      break;
    }
    case MessageType::release: {
      Release release = release_from_json(body);
      require(release_from_json(to_json(release)) == release);
      break;
    }
    default: break;
  }
}

void read_body(MessageType type, std::string_view body) {
  only_peer_errors([&] {
    switch (type) {
      case MessageType::busy: {
        Busy busy = busy_from_json(body);
        require(busy_from_json(to_json(busy)) == busy);
        break;
      }
      case MessageType::stop: {
        Stop stop = stop_from_json(body);
        require(stop_from_json(to_json(stop)) == stop);
        break;
      }
      case MessageType::failure: {
        Failure failure = failure_from_json(body);
        require(failure_from_json(to_json(failure)) == failure);
        break;
      }
      case MessageType::prepared:
      case MessageType::connect: {
        transport::Offer offer = offer_from_json(body);
        require(offer_from_json(offer_to_json(offer)) == offer);
        break;
      }
      default: read_job_body(type, body);
    }
  });
}

MessageType type_of(std::uint8_t byte) { return static_cast<MessageType>(byte % 19 + 1); }

/// A peer that knows the token and sends what it likes.
void open_sealed(std::uint8_t type_byte, Bytes body) {
  MessageType type = type_of(type_byte);
  only_peer_errors([&] {
    FrameWriter writer{Key{}};
    FrameReader reader{Key{}};
    std::string frame = writer.seal(type, text_of(body).substr(0, limits_of(type).bytes));
    reader.append(bytes_of(frame));
    auto message = reader.next();
    require(message && message->type == type && message->body == text_of(body).substr(0, limits_of(type).bytes));
    read_body(type, message->body);
  });
}

/// A sealed frame with one byte altered on the way.
void open_altered(std::uint8_t type_byte, Bytes bytes) {
  if (bytes.size() < 3) return;
  FrameWriter writer{Key{}};
  std::string frame = writer.seal(type_of(type_byte), text_of(bytes.subspan(3)).substr(0, 4096));
  std::size_t at = (std::size_t{bytes[0]} << 8 | bytes[1]) % frame.size();
  if (bytes[2] == 0) return;
  frame[at] = static_cast<char>(frame[at] ^ bytes[2]);
  only_peer_errors([&] {
    FrameReader reader{Key{}};
    reader.append(bytes_of(frame));
    require(!reader.next());
  });
}

void shake_hands(Role role, std::uint8_t cut, Bytes bytes) {
  Handshake handshake(role, {key_from_token("a-token-that-nobody-knows"), true});
  (void)handshake.take_output();
  std::size_t first = bytes.size() * cut / 255;
  std::size_t used = handshake.feed(bytes.first(first));
  used += handshake.feed(bytes.subspan(first));
  require(used <= kHelloBytes + kProofBytes);
  require(handshake.state() != Handshake::State::done);
  if (role == Role::server) require(handshake.take_output().size() <= used);
}

}  // namespace
}  // namespace railgauge::control

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::control;
  if (size < 2) return 0;
  Bytes rest(data + 2, size - 2);
  switch (data[0] % 5) {
    case 0: open_raw(data[1], rest); break;
    case 1: open_sealed(data[1], rest); break;
    case 2: open_altered(data[1], rest); break;
    case 3: shake_hands(Role::server, data[1], rest); break;
    case 4: shake_hands(Role::client, data[1], rest); break;
  }
  return 0;
}
