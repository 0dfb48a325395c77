#include "loops/request_latency.h"

#include <array>

#include "loops/rounds.h"

namespace railgauge::loops {
namespace {

/// The mode of a request whose answer is its own completion.
class Requests {
 public:
  Requests(transport::WorkQueue& queue, SendSide& sends, const LatencySettings& settings, Flags flags, const TickClock& clock)
      : queue_(queue), sends_(sends), settings_(settings), flags_(flags), clock_(clock), limit_ticks_(clock.ticks_of(settings.stall_limit)) {}

  Seen send(std::uint64_t) noexcept { return sends_.post() ? Seen::yes : Seen::fault; }
  bool tidy(bool) noexcept { return true; }
  Seen await(std::uint64_t) noexcept {
    Wait wait(settings_, limit_ticks_, flags_, clock_);
    for (;;) {
      for (std::uint32_t i = 0; i < (settings_.events ? 1 : kEmptyPolls); ++i) {
        if (!sends_.reap()) return Seen::fault;
        if (sends_.in_flight() == 0) return Seen::yes;
      }
      if (const Seen seen = wait.look(sends_, false, false); seen != Seen::yes) return seen;
      if (!settings_.events) continue;
      std::array<transport::Completion, 1> one;
      if (int n = poll_or_sleep(queue_, false, one); n != 0) return sends_.took(n, one) ? Seen::yes : Seen::fault;
    }
  }
  std::uint32_t slot(std::uint64_t round) const noexcept { return static_cast<std::uint32_t>((round - 1) % settings_.ring); }

 private:
  transport::WorkQueue& queue_;
  SendSide& sends_;
  const LatencySettings& settings_;
  const Flags flags_;
  const TickClock& clock_;
  const std::uint64_t limit_ticks_;
};

}  // namespace

LatencyOutcome time_requests(transport::WorkQueue& queue, const LatencySettings& settings, Flags flags, const TickClock& clock,
                             stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  Requests mode(queue, sends, settings, flags, clock);
  return ask(mode, sends, settings, flags, clock, Sampler(settings, clock, recorder, live));
}

}  // namespace railgauge::loops
