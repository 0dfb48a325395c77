#include "control/protocol.h"

#include <fmt/format.h>

namespace railgauge::control {

std::string to_string(Version version) { return fmt::format("{}.{}", version.major, version.minor); }

const char* name_of(MessageType type) noexcept {
  switch (type) {
    case MessageType::heartbeat: return "heartbeat";
    case MessageType::welcome: return "welcome";
    case MessageType::busy: return "busy";
    case MessageType::facts: return "facts";
    case MessageType::prepare: return "prepare";
    case MessageType::prepared: return "prepared";
    case MessageType::connect: return "connect";
    case MessageType::connected: return "connected";
    case MessageType::start: return "start";
    case MessageType::done: return "done";
    case MessageType::result: return "result";
    case MessageType::stop: return "stop";
    case MessageType::failure: return "failure";
    case MessageType::bye: return "bye";
    case MessageType::join: return "join";
    case MessageType::roster: return "roster";
    case MessageType::step: return "step";
    case MessageType::arrive: return "arrive";
    case MessageType::release: return "release";
  }
  return "unknown";
}

bool is_known_type(std::uint8_t number) noexcept {
  return number >= static_cast<std::uint8_t>(MessageType::heartbeat) && number <= static_cast<std::uint8_t>(MessageType::release);
}

BodyLimits limits_of(MessageType type) noexcept {
  // Promise 3 of tcp-facts.md, section 7. The element counts keep a parser's memory (about 100 bytes a value at worst)
  // near 2 MB and 100 MB.
  constexpr BodyLimits kControl{64u << 10, 16, 16u << 10};
  constexpr BodyLimits kDocument{16u << 20, 16, 1u << 20};
  switch (type) {
    case MessageType::facts:
    case MessageType::prepared:
    case MessageType::connect:
    case MessageType::done:
    case MessageType::roster:
    case MessageType::arrive:
    case MessageType::release:
    case MessageType::result: return kDocument;
    default: return kControl;
  }
}

}  // namespace railgauge::control
