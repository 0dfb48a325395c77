#include "bench/path_failures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "report/cause.h"

namespace railgauge::bench {
namespace {

/// A failure that took so much longer than its plan is not waited for once more in the other direction: on software devices,
/// whose timeouts are long (9 s), both together would outlast `check --quick`.
constexpr std::chrono::seconds kLongWait{5};

bool is(const results::ErrorInfo& error, ErrorKind kind) { return error.kind == name_of(kind); }

/// No connection, or none in time: that does not depend on the direction.
bool never_connected(const results::ErrorInfo& error) {
  return error.stage == "connect" || (error.stage == "prepare" && is(error, ErrorKind::timeout));
}

}  // namespace

void PathFailures::note(const results::Measurement& tried) {
  const bool wrong = tried.outcome == results::Outcome::failed || tried.outcome == results::Outcome::partial;
  if (!wrong || !tried.error) return;
  const bool whole = never_connected(*tried.error);
  if (!whole && !report::is_unanswered(*tried.error)) return;
  const bool slow = tried.wall > tried.plan.warm_up + tried.plan.duration + kLongWait;
  broken_.push_back({.transport = tried.plan.transport,
                     .direction = whole || slow ? std::nullopt : std::optional(tried.plan.direction),
                     .from_bytes = whole || slow || tried.plan.message_bytes <= report::kOnePacket ? 0 : report::kOnePacket + 1,
                     .cause = fmt::format("not tried: {} failed: {}", tried.plan.label, tried.reason)});
}

std::optional<std::string> PathFailures::why_not(const plan::Plan& plan) const {
  for (const auto& broken : broken_) {
    if (broken.transport != plan.transport || plan.message_bytes < broken.from_bytes) continue;
    // What goes both ways needs each of them.
    if (!broken.direction || *broken.direction == plan.direction || plan.direction == plan::Direction::both) return broken.cause;
  }
  return std::nullopt;
}

}  // namespace railgauge::bench
