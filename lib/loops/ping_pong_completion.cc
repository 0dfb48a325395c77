#include "loops/ping_pong_completion.h"

#include <array>
#include <span>

#include "loops/poll.h"

namespace railgauge::loops {
namespace {

using transport::Completion;

/// The receive side of lane 0: one completion at a time, its receive posted again after the answer is on its way.
class ReceiveSide {
 public:
  ReceiveSide(transport::WorkQueue& queue, const LatencySettings& settings, SendSide& sends, Flags flags, const TickClock& clock)
      : queue_(queue), settings_(settings), sends_(sends), flags_(flags), clock_(clock) {}

  /// Where the message that was awaited last has landed.
  std::uint32_t landed() const noexcept { return one_[0].slot; }

  Seen await(std::uint64_t limit_ticks, bool until_peer_ends) noexcept {
    Courtesy courtesy(settings_.yields);
    std::uint64_t since = 0;  // of the first look at the clock: a quick answer costs none
    for (;;) {
      for (std::uint32_t i = 0; i < (settings_.events ? 1 : kEmptyPolls); ++i) {
        int n = queue_.poll_recv(one_);
        if (n != 0) return check(n);
      }
      courtesy.idle();
      if (!sends_.reap()) return Seen::fault;
      if (flags_.stopping() || (until_peer_ends && flags_.peer_ended())) return Seen::over;
      if (settings_.events) {
        int n = poll_or_sleep(queue_, true, one_);
        if (n != 0) return check(n);
      }
      std::uint64_t now = clock_.now();
      if (since == 0) since = now;
      if (now - since < limit_ticks) continue;
      sends_.fail({.what = Failure::stalled, .code = 0, .receiving = true, .completion = {}});
      return Seen::fault;
    }
  }

  bool repost() noexcept {
    transport::PostResult result = queue_.post_recv(0, slot_, 1);
    if (result.accepted != 1) {
      sends_.fail({.what = Failure::post_recv, .code = result.error, .receiving = true, .completion = Completion{.lane = 0, .slot = slot_}});
      return false;
    }
    if (++slot_ == settings_.receives) slot_ = 0;
    return true;
  }

 private:
  Seen check(int n) noexcept {
    if (n < 0) {
      sends_.fail({.what = Failure::poll, .code = -n, .receiving = true, .completion = {}});
      return Seen::fault;
    }
    if (one_[0].status == transport::kSuccess) return Seen::yes;
    sends_.fail(fault_of(queue_, one_, true));
    return Seen::fault;
  }

  transport::WorkQueue& queue_;
  const LatencySettings& settings_;
  SendSide& sends_;
  const Flags flags_;
  const TickClock& clock_;
  std::array<Completion, 1> one_;
  std::uint32_t slot_ = 0;
};

}  // namespace

LatencyOutcome ping_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                                  stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  ReceiveSide receives(queue, settings, sends, flags, clock);
  Sampler sampler(settings, clock, recorder, live);
  LatencyOutcome outcome;
  const std::uint64_t limit = clock.ticks_of(settings.stall_limit);
  std::uint64_t begin = clock.now_ordered();
  Round before;
  sampler.start(begin);
  Seen seen = Seen::yes;
  for (;;) {
    seen = post_next(sends, limit, flags, clock);
    if (seen != Seen::yes) break;
    bool posted = true;
    if (outcome.rounds > 0) {  // of the round before, while this one is under way
      posted = receives.repost();
      sampler.add(before.begin, before.end);
    }
    seen = posted && sends.reap() ? receives.await(limit, false) : Seen::fault;
    if (seen != Seen::yes) break;
    ++outcome.rounds;
    before = {begin, clock.now_ordered()};
    begin = begin_after(before, settings.check, receives.landed(), clock);
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

LatencyOutcome pong_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock) noexcept {
  SendSide sends(queue, settings.ring);
  ReceiveSide receives(queue, settings, sends, flags, clock);
  LatencyOutcome outcome;
  const std::uint64_t limit = clock.ticks_of(settings.idle_limit);
  Seen seen = Seen::yes;
  for (;;) {
    seen = receives.await(limit, true);
    if (seen != Seen::yes) break;
    ++outcome.rounds;
    const std::uint32_t landed = receives.landed();
    seen = post_next(sends, limit, flags, clock);
    if (seen != Seen::yes) break;
    // The answer is on its way. The next question lands in another slot, and the one after it waits for the next answer.
    if (settings.check != nullptr) settings.check->check(0, landed);
    if (!receives.repost() || !sends.reap()) {
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
