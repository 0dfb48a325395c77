#include "loops/ping_pong_memory.h"

#include "loops/poll.h"

namespace railgauge::loops {
namespace {

// Loads between two looks at anything else: about a microsecond, since a load of a line that nobody writes takes one cycle
// or two, so that an answer is seldom missed while this side looks elsewhere.
constexpr std::uint32_t kSpins = 1024;

std::ptrdiff_t offset_of(const Stamps& stamps, std::uint64_t round) noexcept { return slot_of(round) * stamps.stride; }

void write_stamp(const Stamps& stamps, std::uint64_t round) noexcept {
  stamps.outgoing[offset_of(stamps, round)] = stamp_of(round);
  // The device reads the message after the doorbell; compilers may not move the store behind it, and providers fence.
  std::atomic_thread_fence(std::memory_order_release);
}

/// What ends a wait other than the answer.
struct Wait {
  std::uint64_t limit_ticks;
  bool until_peer_ends;
  bool yields;
};

/// Spins until the incoming stamp is that of `round`. The flags, the clock and the send queue are looked at between rounds of spinning.
Seen await(Stamps stamps, std::uint64_t round, const Wait& wait, SendSide& sends, Flags flags, const TickClock& clock) noexcept {
  const std::byte wanted = stamp_of(round);
  const volatile std::byte* incoming = stamps.incoming + offset_of(stamps, round);
  Courtesy courtesy(wait.yields);
  std::uint64_t since = 0;  // of the first look at the clock: a quick answer costs none
  for (;;) {
    for (std::uint32_t i = 0; i < kSpins; ++i) {
      if (*incoming == wanted) {
        std::atomic_thread_fence(std::memory_order_acquire);
        return Seen::yes;
      }
    }
    courtesy.idle();
    if (!sends.reap()) return Seen::fault;
    if (flags.stopping() || (wait.until_peer_ends && flags.peer_ended())) return Seen::over;
    std::uint64_t now = clock.now();
    if (since == 0) since = now;
    if (now - since < wait.limit_ticks) continue;
    sends.fail({.what = Failure::stalled, .code = 0, .receiving = true, .completion = {}});
    return Seen::fault;
  }
}

}  // namespace

LatencyOutcome ping_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags, const TickClock& clock,
                              stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  Sampler sampler(settings, clock, recorder, live);
  LatencyOutcome outcome;
  const std::uint64_t limit = clock.ticks_of(settings.stall_limit);
  std::uint64_t begin = clock.now_ordered();
  Round before;
  sampler.start(begin);
  Seen seen = Seen::yes;
  while (seen == Seen::yes) {
    write_stamp(stamps, outcome.rounds + 1);
    seen = post_next(sends, limit, flags, clock);
    if (seen != Seen::yes) break;
    if (outcome.rounds > 0) sampler.add(before.begin, before.end);  // while this one is under way
    seen = sends.reap() ? await(stamps, outcome.rounds + 1, {limit, false, settings.yields}, sends, flags, clock) : Seen::fault;
    if (seen != Seen::yes) break;
    ++outcome.rounds;
    before = {begin, clock.now_ordered()};
    begin = begin_after(before, settings.check, slot_of(outcome.rounds), clock);
    if (sampler.last(before.begin, before.end)) {
      sampler.add(before.begin, before.end);
      break;
    }
    if (flags.stopping()) seen = Seen::over;
  }
  if (seen == Seen::fault) outcome.fault = sends.fault();
  outcome.ending = seen == Seen::fault ? Ending::failed : seen == Seen::over ? Ending::stopped : Ending::finished;
  return outcome;
}

LatencyOutcome pong_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags,
                              const TickClock& clock) noexcept {
  SendSide sends(queue, settings.ring);
  LatencyOutcome outcome;
  const std::uint64_t limit = clock.ticks_of(settings.idle_limit);
  Seen seen = Seen::yes;
  for (;;) {
    seen = await(stamps, outcome.rounds + 1, {limit, true, settings.yields}, sends, flags, clock);
    if (seen != Seen::yes) break;
    ++outcome.rounds;
    write_stamp(stamps, outcome.rounds);
    seen = post_next(sends, limit, flags, clock);
    if (seen != Seen::yes) break;
    // The answer is on its way. The next question lands in the other slot, and the one after it waits for the next answer.
    if (settings.check != nullptr) settings.check->check(0, slot_of(outcome.rounds));
    if (!sends.reap()) {
      seen = Seen::fault;
      break;
    }
  }
  if (seen == Seen::fault) outcome.fault = sends.fault();
  bool stopped = seen == Seen::over && !flags.peer_ended();
  outcome.ending = seen == Seen::fault ? Ending::failed : stopped ? Ending::stopped : Ending::finished;
  return outcome;
}

}  // namespace railgauge::loops
