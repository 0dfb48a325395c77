#pragma once
#include <functional>
#include <string>

#include "base/clock.h"
#include "bench/conversation.h"
#include "bench/local_host.h"

namespace railgauge::bench {

/// What the server tells others while it serves this client: what runs, and about until when.
using SetBusy = std::function<void(const std::string& what, Clock::time_point until)>;

/// Reads this host's facts anew for each client: ports, rates and addresses change while a server waits. May throw Error.
using ReadHost = std::function<LocalHost()>;

/// Serves one authenticated client until it says bye, vanishes, or this side is asked to stop. Every measurement ends with
/// exactly one `result` or `failure`; a failed measurement does not end the talk. Throws Error only when the channel is
/// lost. The plan's wishes are held against `limits` by name.
void serve_client(Conversation& conversation, const ReadHost& read_host, const plan::Limits& limits, const SetBusy& set_busy);

}  // namespace railgauge::bench
