#pragma once
#include "loops/latency.h"
#include "loops/poll.h"

/// The two loops behind every latency by rounds; only the modes' own files include this. A Mode says what differs:
///   Seen send(round)            sends the message of this round (they count from 1)
///   bool tidy(bool received)    while that is under way: returns what a received message used; false on a fault
///   Seen await(round)           waits for what answers it
///   std::uint32_t slot(round)   where that has landed
namespace railgauge::loops {

/// How a mode waits: the asking and the answering side differ.
struct WaitRule {
  nanoseconds limit;      ///< longest wait
  bool until_peer_ends;   ///< the answering side: the peer's end is its own
};

/// A wait's second look, after a round of empty polls: flags and clock.
class Wait {
 public:
  Wait(const LatencySettings& settings, std::uint64_t limit_ticks, Flags flags, const TickClock& clock)
      : limit_ticks_(limit_ticks), courtesy_(settings.yields), flags_(flags), clock_(clock) {}

  /// Seen::yes: go on waiting. Else the wait is over; a stall is noted in `sends`.
  Seen look(SendSide& sends, bool receiving, bool until_peer_ends) noexcept {
    courtesy_.idle();
    if (flags_.stopping() || (until_peer_ends && flags_.peer_ended())) return Seen::over;
    const std::uint64_t now = clock_.now();
    if (since_ == 0) since_ = now;
    if (now - since_ < limit_ticks_) return Seen::yes;
    sends.fail({.what = Failure::stalled, .code = 0, .receiving = receiving, .completion = {}});
    return Seen::fault;
  }

 private:
  const std::uint64_t limit_ticks_;
  Courtesy courtesy_;
  const Flags flags_;
  const TickClock& clock_;
  std::uint64_t since_ = 0;  ///< tick of the first look: a quick answer costs none
};

inline LatencyOutcome concluded(std::uint64_t rounds, Seen seen, const SendSide& sends) noexcept {
  LatencyOutcome outcome{.ending = Ending::finished, .fault = {}, .rounds = rounds};
  if (seen == Seen::fault) outcome.fault = sends.fault();
  if (seen != Seen::yes) outcome.ending = seen == Seen::fault ? Ending::failed : Ending::stopped;
  return outcome;
}

/// The asking side, until the sampler has enough. A sample is the span between two answers; what belongs to the round
/// before is done while the next message is under way.
template <class Mode>
LatencyOutcome ask(Mode& mode, SendSide& sends, const LatencySettings& settings, Flags flags, const TickClock& clock, Sampler sampler) noexcept {
  std::uint64_t rounds = 0;
  std::uint64_t begin = clock.now_ordered();
  Round before;
  sampler.start(begin);
  for (;;) {
    Seen seen = mode.send(rounds + 1);
    if (seen != Seen::yes) return concluded(rounds, seen, sends);
    const bool sound = mode.tidy(rounds > 0);
    if (rounds > 0) sampler.add(before.begin, before.end);
    seen = sound ? mode.await(rounds + 1) : Seen::fault;
    if (seen != Seen::yes) return concluded(rounds, seen, sends);
    before = {begin, clock.now_ordered()};
    ++rounds;
    begin = begin_after(before, settings.check, mode.slot(rounds), clock);
    if (sampler.last(before.begin, before.end)) {
      sampler.add(before.begin, before.end);
      return concluded(rounds, Seen::yes, sends);
    }
    if (flags.stopping()) return concluded(rounds, Seen::over, sends);
  }
}

/// The answering side, until the peer has ended.
template <class Mode>
LatencyOutcome answer(Mode& mode, SendSide& sends, const LatencySettings& settings, Flags flags) noexcept {
  std::uint64_t rounds = 0;
  Seen seen = Seen::yes;
  while ((seen = mode.await(rounds + 1)) == Seen::yes) {
    ++rounds;
    const std::uint32_t landed = mode.slot(rounds);
    seen = mode.send(rounds);
    if (seen != Seen::yes) break;
    // The answer is on its way. The next question lands in another slot, and the one after it waits for the next answer.
    if (settings.check != nullptr) settings.check->check(0, landed);
    if (!mode.tidy(true)) return concluded(rounds, Seen::fault, sends);
  }
  const bool ended = seen == Seen::over && flags.peer_ended();
  return concluded(rounds, ended ? Seen::yes : seen, sends);
}

}  // namespace railgauge::loops
