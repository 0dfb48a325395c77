#include "loops/open_loop.h"

#include <array>
#include <cmath>
#include <vector>

#include "loops/poll.h"

namespace railgauge::loops {
namespace {

using transport::Completion;

/// How long what is overdue is still sent after the last instant of the schedule.
constexpr nanoseconds kDrainTime = std::chrono::seconds(1);

class OpenLoop {
 public:
  OpenLoop(transport::WorkQueue& queue, const OpenLoopSettings& settings, Flags flags, const TickClock& clock,
           stats::LatencyRecorder& from_intended, stats::LatencyRecorder& from_posted, Live live)
      : queue_(queue),
        settings_(settings),
        flags_(flags),
        clock_(clock),
        intended_(settings.latency, clock, from_intended, live),
        posted_(settings.latency, clock, from_posted, Live{}),
        period_ticks_(clock.ticks_per_ns() * 1e9 / settings.rate_per_s),
        late_ticks_(clock.ticks_of(settings.late_after)),
        stall_ticks_(clock.ticks_of(settings.latency.stall_limit)),
        post_ticks_(settings.latency.ring) {}

  OpenLoopOutcome run() noexcept {
    begin_ = clock_.now();
    progress_ = begin_;
    intended_.start(begin_);
    posted_.start(begin_);
    schedule_end_ = settings_.latency.iterations == 0
                        ? intended_.end_tick()
                        : intended_.window_tick() + static_cast<std::uint64_t>(static_cast<double>(settings_.latency.iterations) * period_ticks_);
    give_up_ = schedule_end_ + clock_.ticks_of(kDrainTime);
    while (turn()) {
    }
    outcome_.latency.rounds = completed_;
    return outcome_;
  }

 private:
  std::uint64_t instant(std::uint64_t k) const noexcept {
    // Double holds integers exactly up to 2^53 ticks, 35 days at 3 GHz.
    return begin_ + static_cast<std::uint64_t>(static_cast<double>(k) * period_ticks_);
  }
  bool more() const noexcept {
    return !late_ && instant(sent_) < intended_.end_tick() && (settings_.latency.iterations == 0 || window_sent_ < settings_.latency.iterations);
  }

  bool turn() noexcept {
    std::uint64_t now = clock_.now();
    late_ = late_ || now >= give_up_;
    while (more() && instant(sent_) <= now && sent_ - completed_ < settings_.depth) {
      if (!post(now)) return false;
      now = clock_.now();
    }
    if (!take()) return false;
    if (!more() && sent_ == completed_) return end(Ending::finished);
    if (flags_.stopping()) return end(Ending::stopped);
    now = clock_.now();
    if (sent_ == completed_) progress_ = now;  // nothing in flight, nothing can be late
    if (now - progress_ < stall_ticks_) return true;
    return fail({.what = more() ? Failure::stalled : Failure::drain, .code = 0, .receiving = false, .completion = {}});
  }

  bool post(std::uint64_t now) noexcept {
    transport::PostResult result = queue_.post(0, slot_, 1);
    if (result.accepted != 1)
      return fail({.what = Failure::post, .code = result.error, .receiving = false, .completion = Completion{.lane = 0, .slot = slot_}});
    if (intended_.wants(instant(sent_))) {
      ++window_sent_;
      if (now - instant(sent_) > late_ticks_) ++outcome_.late_sends;
    }
    post_ticks_[slot_] = now;
    if (++slot_ == settings_.latency.ring) slot_ = 0;
    ++sent_;
    return true;
  }

  bool take() noexcept {
    int n = queue_.poll(completions_);
    if (n < 0) return fail({.what = Failure::poll, .code = -n, .receiving = false, .completion = {}});
    if (n == 0) return true;
    std::uint64_t now = clock_.now_ordered();
    std::span<const Completion> batch = std::span(completions_).first(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].status != transport::kSuccess) return fail(fault_of(queue_, batch.subspan(i), false));
      intended_.add(instant(completed_), now);
      posted_.add(post_ticks_[completed_ % settings_.latency.ring], now);
      ++completed_;
    }
    progress_ = now;
    return true;
  }

  bool end(Ending ending) noexcept {
    outcome_.latency.ending = ending;
    if (ending == Ending::finished && !late_) return false;
    const std::uint64_t until = std::min(clock_.now(), schedule_end_);
    const std::uint64_t first = std::max(instant(sent_), intended_.window_tick());
    if (until > first) outcome_.unsent = static_cast<std::uint64_t>(std::ceil(static_cast<double>(until - first) / period_ticks_));
    return false;
  }
  bool fail(const Fault& fault) noexcept {
    outcome_.latency.fault = fault;
    return end(Ending::failed);
  }

  transport::WorkQueue& queue_;
  const OpenLoopSettings& settings_;
  const Flags flags_;
  const TickClock& clock_;
  Sampler intended_;
  Sampler posted_;
  const double period_ticks_;
  const std::uint64_t late_ticks_;
  const std::uint64_t stall_ticks_;
  std::vector<std::uint64_t> post_ticks_;
  std::array<Completion, kPollBatch> completions_;
  OpenLoopOutcome outcome_;
  std::uint64_t begin_ = 0;
  std::uint64_t progress_ = 0;
  std::uint64_t schedule_end_ = 0;
  std::uint64_t give_up_ = 0;
  bool late_ = false;  // past give_up_: nothing more is sent
  std::uint64_t sent_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t window_sent_ = 0;
  std::uint32_t slot_ = 0;
};

}  // namespace

OpenLoopOutcome send_by_schedule(transport::WorkQueue& queue, const OpenLoopSettings& settings, Flags flags, const TickClock& clock,
                                 stats::LatencyRecorder& from_intended, stats::LatencyRecorder& from_posted, Live live) {
  return OpenLoop(queue, settings, flags, clock, from_intended, from_posted, live).run();
}

}  // namespace railgauge::loops
