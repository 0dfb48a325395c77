#include "loops/latency.h"

#include "loops/poll.h"

namespace railgauge::loops {

using transport::Completion;

bool SendSide::reap() noexcept {
  return took(queue_.poll(done_), done_);
}

bool SendSide::took(int n, std::span<const Completion> done) noexcept {
  if (n < 0) {
    fault_ = {.what = Failure::poll, .code = -n, .receiving = false, .completion = {}};
    return false;
  }
  std::span<const Completion> batch = done.first(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].status != transport::kSuccess) {
      fault_ = fault_of(queue_, batch.subspan(i), false);
      return false;
    }
    --in_flight_;
  }
  return true;
}

bool SendSide::refused(int error) noexcept {
  fault_ = {.what = Failure::post, .code = error, .receiving = false, .completion = Completion{.lane = 0, .slot = slot_}};
  return false;
}

Seen post_next(SendSide& sends, std::uint64_t limit_ticks, Flags flags, const TickClock& clock) noexcept {
  if (!sends.full()) return sends.post() ? Seen::yes : Seen::fault;
  const std::uint64_t since = clock.now();
  while (sends.full()) {
    if (!sends.reap()) return Seen::fault;
    if (!sends.full()) break;
    if (flags.stopping()) return Seen::over;  // from a peer that is gone nothing will complete
    if (clock.now() - since < limit_ticks) continue;
    sends.fail({.what = Failure::stalled, .code = 0, .receiving = false, .completion = {}});
    return Seen::fault;
  }
  return sends.post() ? Seen::yes : Seen::fault;
}

}  // namespace railgauge::loops
