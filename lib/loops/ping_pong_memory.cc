#include "loops/ping_pong_memory.h"

#include "loops/rounds.h"

namespace railgauge::loops {
namespace {

// Loads between two looks at anything else: about a microsecond, since a load of a line that nobody writes takes one cycle
// or two, so that an answer is seldom missed while this side looks elsewhere.
constexpr std::uint32_t kSpins = 1024;

/// The mode of a write that the receiver sees in its memory.
class ByMemory {
 public:
  ByMemory(const WaitRule& rule, Stamps stamps, SendSide& sends, const LatencySettings& settings, Flags flags, const TickClock& clock)
      : until_peer_ends_(rule.until_peer_ends), stamps_(stamps), sends_(sends), settings_(settings), flags_(flags), clock_(clock), limit_ticks_(clock.ticks_of(rule.limit)) {}

  Seen send(std::uint64_t round) noexcept {
    stamps_.outgoing[offset_of(round)] = stamp_of(round);
    // The device reads the message after the doorbell; compilers may not move the store behind it, and providers fence.
    std::atomic_thread_fence(std::memory_order_release);
    return post_next(sends_, limit_ticks_, flags_, clock_);
  }
  bool tidy(bool) noexcept { return sends_.reap(); }
  Seen await(std::uint64_t round) noexcept {
    const std::byte wanted = stamp_of(round);
    const volatile std::byte* incoming = stamps_.incoming + offset_of(round);
    Wait wait(settings_, limit_ticks_, flags_, clock_);
    for (;;) {
      for (std::uint32_t i = 0; i < kSpins; ++i) {
        if (*incoming == wanted) {
          std::atomic_thread_fence(std::memory_order_acquire);
          return Seen::yes;
        }
      }
      if (!sends_.reap()) return Seen::fault;
      if (const Seen seen = wait.look(sends_, true, until_peer_ends_); seen != Seen::yes) return seen;
    }
  }
  std::uint32_t slot(std::uint64_t round) const noexcept { return slot_of(round); }

 private:
  std::ptrdiff_t offset_of(std::uint64_t round) const noexcept { return slot_of(round) * stamps_.stride; }

  const bool until_peer_ends_;
  const Stamps stamps_;
  SendSide& sends_;
  const LatencySettings& settings_;
  const Flags flags_;
  const TickClock& clock_;
  const std::uint64_t limit_ticks_;
};

}  // namespace

LatencyOutcome ping_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags, const TickClock& clock,
                              stats::LatencyRecorder& recorder, Live live) noexcept {
  SendSide sends(queue, settings.ring);
  ByMemory mode({settings.stall_limit, false}, stamps, sends, settings, flags, clock);
  return ask(mode, sends, settings, flags, clock, Sampler(settings, clock, recorder, live));
}

LatencyOutcome pong_by_memory(transport::WorkQueue& queue, const LatencySettings& settings, Stamps stamps, Flags flags,
                              const TickClock& clock) noexcept {
  SendSide sends(queue, settings.ring);
  ByMemory mode({settings.idle_limit, true}, stamps, sends, settings, flags, clock);
  return answer(mode, sends, settings, flags);
}

}  // namespace railgauge::loops
