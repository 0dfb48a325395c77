#pragma once
#include <functional>
#include <optional>
#include <string>

#include "bench/conversation.h"
#include "bench/engine.h"
#include "bench/measured_path.h"

namespace railgauge::bench {

/// How this side's part of a run ended.
struct RunEnd {
  results::SideResult side;             ///< this side's, always
  Transfers transfers;
  std::optional<std::string> peer_result;   ///< body of the peer's result message, if it came already
  bool peer_failed = false;             ///< the peer sent a failure: no result will come
  bool peer_left = false;               ///< the peer stopped or said bye: no further measurement
  std::optional<std::string> interrupted;   ///< why the run was cut short: "Ctrl-C on this host", "… stopped: …", "no sign of life …"
};

/// When a run has to be over, and what is said if it is not.
struct RunLimit {
  Deadline until;
  std::string reason = "the measurement did not end in its time";
};

/// A side's part in a run: the engine's, then what the counters say of it.
struct RunPart {
  Engine& engine;
  const CounterWatch& counters;
};

/// Runs this side's part on a thread of its own and watches: tells the peer when this side's active part is done, passes on the
/// peer's word, beats the heart, and stops the engine when the peer vanishes or stops, the user asks to stop, or
/// `limit` is reached. `on_tick` is called about every 100 ms with the run's control (for the progress line); may be empty.
/// Never throws: a lost channel is an `interrupted` (and conversation.broken()).
RunEnd supervise(Conversation& conversation, const RunPart& part, const RunLimit& limit, const std::function<void(const RunControl&)>& on_tick);

}  // namespace railgauge::bench
