#include "loops/request_latency.h"

#include <array>

#include "loops/poll.h"

namespace railgauge::loops {
namespace {

Seen await(SendSide& sends, transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock) noexcept {
  const std::uint64_t limit = clock.ticks_of(settings.stall_limit);
  Courtesy courtesy(settings.yields);
  std::uint64_t since = 0;  // of the first look at the clock: a quick answer costs none
  for (;;) {
    for (std::uint32_t i = 0; i < (settings.events ? 1 : kEmptyPolls); ++i) {
      if (!sends.reap()) return Seen::fault;
      if (sends.in_flight() == 0) return Seen::yes;
    }
    courtesy.idle();
    if (flags.stopping()) return Seen::over;
    if (settings.events) {
      std::array<transport::Completion, 1> one;
      int n = poll_or_sleep(queue, false, one);
      if (n != 0) return sends.took(n, one) ? Seen::yes : Seen::fault;
    }
    std::uint64_t now = clock.now();
    if (since == 0) since = now;
    if (now - since < limit) continue;
    sends.fail({.what = Failure::stalled, .code = 0, .receiving = false, .completion = {}});
    return Seen::fault;
  }
}

}  // namespace

LatencyOutcome time_requests(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                             stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  Sampler sampler(settings, clock, recorder, live);
  LatencyOutcome outcome;
  std::uint64_t begin = clock.now_ordered();
  Round before;
  sampler.start(begin);
  Seen seen = Seen::yes;
  for (;;) {
    if (!sends.post()) {
      seen = Seen::fault;
      break;
    }
    if (outcome.rounds > 0) sampler.add(before.begin, before.end);  // while this one is under way
    seen = await(sends, queue, settings, flags, clock);
    if (seen != Seen::yes) break;
    before = {begin, clock.now_ordered()};
    begin = begin_after(before, settings.check, static_cast<std::uint32_t>(outcome.rounds % settings.ring), clock);
    ++outcome.rounds;
    if (sampler.last(before.begin, before.end)) {
      sampler.add(before.begin, before.end);
      break;
    }
    if (flags.stopping()) {
      seen = Seen::over;
      break;
    }
  }
  if (seen == Seen::fault) outcome.fault = sends.fault();
  outcome.ending = seen == Seen::fault ? Ending::failed : seen == Seen::over ? Ending::stopped : Ending::finished;
  return outcome;
}

}  // namespace railgauge::loops
