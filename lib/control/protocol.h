#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace railgauge::control {

/// Where `railgauge serve` listens unless told otherwise (not assigned by IANA to anything seen on RDMA hosts).
inline constexpr std::uint16_t kDefaultPort = 18650;

/// The control protocol's version: a tuple of whole numbers, compared as such (never as a decimal fraction).
struct Version {
  std::uint16_t major = 1;  ///< differing majors do not talk
  std::uint16_t minor = 0;  ///< differing minors talk; the lower one is in force
  bool operator==(const Version&) const = default;
};
inline constexpr Version kProtocolVersion{1, 0};

/// "1.0".
std::string to_string(Version version);

/// Who opened the connection; decides the direction keys.
enum class Role : std::uint8_t { client = 1, server = 2 };

/// What a frame carries. The numbers are on the wire: never reuse one.
enum class MessageType : std::uint8_t {
  heartbeat = 1,   ///< no body; absorbed by Channel, never seen by a caller
  welcome = 2,     ///< server → client, first frame: this connection is served. No body
  busy = 3,        ///< server → client, first and last frame. Body: Busy
  facts = 4,       ///< what a host says of itself. Body: JSON of lib/results, opaque here
  prepare = 5,     ///< client → server. Body: JSON of the plan, opaque here
  prepared = 6,    ///< server → client. Body: offer_to_json
  connect = 7,     ///< client → server. Body: offer_to_json
  connected = 8,   ///< this side's Engine::connect has returned. No body
  start = 9,       ///< client → server: run now. No body
  done = 10,       ///< this side's active part has ended (RunControl::peer_done of the other). Body: Done, or none
  result = 11,     ///< one side's result. Body: JSON of lib/results, opaque here
  stop = 12,       ///< end now, keep what there is. Body: Stop
  failure = 13,    ///< this side cannot go on. Body: Failure
  bye = 14,        ///< the conversation is over, as planned. No body
  // Of many ranks around rank 0 (lib/cluster); bodies in job_messages.h.
  join = 15,       ///< rank → rank 0, first frame after welcome. Body: Member
  roster = 16,     ///< rank 0 → each rank, once all are here. Body: Roster
  step = 17,       ///< rank → rank 0: what it does from now on. Body: Step
  arrive = 18,     ///< rank → rank 0: it waits in a barrier, gather or broadcast. Body: Arrival
  release = 19,    ///< rank 0 → each rank: all are there, go on. Body: Release
};

/// The word used in messages: "prepare", …; "unknown" for a number that is none of them.
const char* name_of(MessageType type) noexcept;
/// True if `number` is one of MessageType.
bool is_known_type(std::uint8_t number) noexcept;

/// Upper limits of one frame's body, checked before anything is allocated or parsed (tcp-facts.md, section 7, promise 3).
struct BodyLimits {
  std::uint32_t bytes;        ///< of JSON text
  int depth;                  ///< nested arrays and objects
  std::uint32_t elements;     ///< values, counted without parsing (an upper bound)
};
/// 64 KiB for control frames; 16 MiB for those that carry documents or offers (facts, prepared, connect, done, result,
/// roster, arrive, release).
BodyLimits limits_of(MessageType type) noexcept;

/// Both hellos and both proofs have this deadline in all; a peer that is slower is dropped.
inline constexpr std::chrono::seconds kHandshakeBudget{3};
/// While waiting on a channel each side says that it is alive this often …
inline constexpr std::chrono::seconds kHeartbeatInterval{1};
/// … and one that has said nothing for this long is gone: four missed heartbeats, so that the loss is known within 5 s.
inline constexpr std::chrono::seconds kSilenceLimit{4};

}  // namespace railgauge::control
