#pragma once
#include <string>

#include "bench/conversation.h"
#include "results/record.h"

namespace railgauge::bench {

/// The server's result message; also waits when the user has asked to stop. Throws Error.
std::string await_result(Conversation& conversation, Deadline deadline);

/// Fills the measurement's headline figures, outcome and error from its sides: bandwidth is the receiver's where the
/// receiver counts, else the completions'.
void conclude(results::Measurement& measurement);

/// What a run under way shows of the last `time`, in which `count` more came, bytes of a bandwidth, else messages:
/// "46.3 Gbit/s", "1.25 M messages/s", "48300 round trips/s".
std::string live_text(const plan::Plan& plan, std::uint64_t count, Clock::duration time);

/// "46.3 Gbit/s", "p50 1.62 us  p99 1.98 us" or the reason why there is none: one line for the progress.
std::string headline_text(const results::Measurement& measurement);

}  // namespace railgauge::bench
