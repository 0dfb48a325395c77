#include "loops/ping_pong_completion.h"

#include <array>

#include "loops/rounds.h"

namespace railgauge::loops {
namespace {

using transport::Completion;

/// The mode of a message that takes a receive: one completion at a time on lane 0, its receive posted again while the next
/// message is under way.
class ByCompletion {
 public:
  ByCompletion(const WaitRule& rule, transport::WorkQueue& queue, SendSide& sends, const LatencySettings& settings, Flags flags, const TickClock& clock)
      : until_peer_ends_(rule.until_peer_ends), queue_(queue), sends_(sends), settings_(settings), flags_(flags), clock_(clock), limit_ticks_(clock.ticks_of(rule.limit)) {}

  Seen send(std::uint64_t) noexcept { return post_next(sends_, limit_ticks_, flags_, clock_); }
  bool tidy(bool received) noexcept { return (!received || repost()) && sends_.reap(); }
  Seen await(std::uint64_t) noexcept {
    Wait wait(settings_, limit_ticks_, flags_, clock_);
    for (;;) {
      for (std::uint32_t i = 0; i < (settings_.events ? 1 : kEmptyPolls); ++i)
        if (int n = queue_.poll_recv(one_); n != 0) return check(n);
      if (!sends_.reap()) return Seen::fault;
      if (const Seen seen = wait.look(sends_, true, until_peer_ends_); seen != Seen::yes) return seen;
      if (!settings_.events) continue;
      if (int n = poll_or_sleep(queue_, true, one_); n != 0) return check(n);
    }
  }
  std::uint32_t slot(std::uint64_t) const noexcept { return one_[0].slot; }

 private:
  bool repost() noexcept {
    transport::PostResult result = queue_.post_recv(0, slot_, 1);
    if (result.accepted != 1) {
      sends_.fail({.what = Failure::post_recv, .code = result.error, .receiving = true, .completion = Completion{.lane = 0, .slot = slot_}});
      return false;
    }
    if (++slot_ == settings_.receives) slot_ = 0;
    return true;
  }
  Seen check(int n) noexcept {
    if (n < 0) {
      sends_.fail({.what = Failure::poll, .code = -n, .receiving = true, .completion = {}});
      return Seen::fault;
    }
    ++received_;
    if (one_[0].status != transport::kSuccess) sends_.fail(fault_of(queue_, one_, true));
    else if (one_[0].bytes == settings_.message_bytes) return Seen::yes;
    else sends_.fail({.what = Failure::length, .code = 0, .receiving = true, .completion = one_[0], .message = received_});
    return Seen::fault;
  }

  const bool until_peer_ends_;
  transport::WorkQueue& queue_;
  SendSide& sends_;
  const LatencySettings& settings_;
  const Flags flags_;
  const TickClock& clock_;
  const std::uint64_t limit_ticks_;
  std::array<Completion, 1> one_;
  std::uint32_t slot_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace

LatencyOutcome ping_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                                  stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  ByCompletion mode({settings.stall_limit, false}, queue, sends, settings, flags, clock);
  return ask(mode, sends, settings, flags, clock, Sampler(settings, clock, recorder, live));
}

LatencyOutcome pong_by_completion(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock) noexcept {
  SendSide sends(queue, settings.ring);
  ByCompletion mode({settings.idle_limit, true}, queue, sends, settings, flags, clock);
  return answer(mode, sends, settings, flags);
}

}  // namespace railgauge::loops
