#include "loops/receive.h"

#include <fmt/format.h>

#include "base/error.h"

namespace railgauge::loops {

using transport::Completion;

void post_first_receives(transport::WorkQueue& queue, const ReceiveSettings& settings) {
  for (std::uint32_t lane = 0; lane < queue.lanes(); ++lane) {
    for (std::uint32_t posted = 0; posted < settings.depth; posted += settings.post_batch) {
      transport::PostResult result = queue.post_recv(lane, posted % settings.ring, settings.post_batch);
      if (result.accepted != settings.post_batch)
        throw Error(ErrorKind::verbs,
                    fmt::format("posting receive {} of lane {}: {}", posted + result.accepted, lane, errno_text(result.error)),
                    result.error);
    }
  }
}

WindowReceiver::WindowReceiver(transport::WorkQueue& queue, const ReceiveSettings& settings, Flags flags, const TickClock& clock, Live live,
                               std::atomic<std::uint64_t>& first_arrival)
    : queue_(queue),
      settings_(settings),
      flags_(flags),
      clock_(clock),
      first_arrival_(first_arrival),
      schedule_(Times{settings.times.warm_up, settings.iterations > 0 ? nanoseconds{} : settings.times.duration, settings.times.interval}, clock,
                live),
      lanes_(queue.lanes()),
      completions_(kPollBatch),
      courtesy_(settings.yields) {
  for (Lane& lane : lanes_) lane.slot = settings.depth % settings.ring;
}

bool WindowReceiver::turn(bool may_sleep) noexcept {
  int n = queue_.poll_recv(completions_);
  if (n == 0) {
    if (++empty_polls_ < kEmptyPolls && !settings_.events) return true;
    idle(may_sleep);
    return !over_;
  }
  take_all(n);
  return !over_;
}

void WindowReceiver::take_all(int n) noexcept {
  if (n < 0) return fail({.what = Failure::poll, .code = -n, .receiving = true, .completion = {}});
  if (n == 0) return;
  std::uint64_t tick = clock_.now();
  if (schedule_.phase() == Schedule::Phase::idle) on_first_arrival(tick);
  std::span<const Completion> batch = std::span(completions_).first(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < batch.size() && !over_; ++i) {
    if (batch[i].status != transport::kSuccess) return fail(fault_of(queue_, batch.subspan(i), true));
    take(batch[i]);
  }
  if (over_) return;
  empty_polls_ = 0;
  courtesy_.busy();
  last_look_ = false;
  progress_tick_ = tick;
  if (schedule_.due(tick)) schedule_.on_due(tick, counters_);
  if (flags_.stopping()) end(Ending::stopped);
}

void WindowReceiver::take(const Completion& completion) noexcept {
  Lane& lane = lanes_[completion.lane];
  ++lane.received;
  // Of a write_imm too: the bytes written, without the immediate data.
  if (completion.bytes != settings_.message_bytes)
    return fail({.what = Failure::length, .code = 0, .receiving = true, .completion = completion, .message = lane.received});
  counters_.bytes += completion.bytes;
  ++counters_.messages;
  if (settings_.check != nullptr) settings_.check->check(completion.lane, completion.slot);
  if (++lane.used == settings_.post_batch) repost(completion.lane, lane);
}

void WindowReceiver::repost(std::uint32_t index, Lane& lane) noexcept {
  transport::PostResult result = queue_.post_recv(index, lane.slot, lane.used);
  if (result.accepted != lane.used) {
    Completion at{.lane = index, .slot = lane.slot + result.accepted};
    fail({.what = Failure::post_recv, .code = result.error, .receiving = true, .completion = at});
    return;
  }
  lane.slot += lane.used;
  if (lane.slot == settings_.ring) lane.slot = 0;
  lane.used = 0;
}

void WindowReceiver::on_first_arrival(std::uint64_t tick) noexcept {
  std::uint64_t first = 0;
  if (first_arrival_.compare_exchange_strong(first, tick)) first = tick;
  schedule_.start(first, counters_);
}

void WindowReceiver::idle(bool may_sleep) noexcept {
  empty_polls_ = 0;
  courtesy_.idle();
  // Whoever sent has been told of every arrival before the flag was set, so that one empty poll after it proves the end.
  bool peer_ended = flags_.peer_ended();
  if (peer_ended && last_look_) return end(Ending::finished);
  last_look_ = peer_ended;
  if (settings_.events && may_sleep && !peer_ended) {
    int n = poll_or_sleep(queue_, true, completions_);
    if (n != 0) return take_all(n);
  }
  std::uint64_t tick = clock_.now();
  if (schedule_.due(tick)) schedule_.on_due(tick, counters_);
  if (flags_.stopping()) return end(Ending::stopped);
  bool started = schedule_.phase() != Schedule::Phase::idle;
  // After the window the peer may drain, verify and talk: that is the supervisor's time, not this loop's.
  if (schedule_.phase() == Schedule::Phase::over) return;
  if (clock_.duration_of(tick - progress_tick_) < (started ? settings_.stall_limit : settings_.first_limit)) return;
  fail({.what = Failure::stalled, .code = 0, .receiving = true, .completion = {}});
}

void WindowReceiver::fail(const Fault& fault) noexcept {
  fault_ = fault;
  end(Ending::failed);
}

void WindowReceiver::end(Ending ending) noexcept {
  schedule_.finish(counters_);
  ending_ = ending;
  over_ = true;
}

ReceiveOutcome WindowReceiver::outcome() const {
  ReceiveOutcome outcome{.ending = ending_, .fault = fault_, .received = {}};
  for (const Lane& lane : lanes_) outcome.received.push_back(lane.received);
  return outcome;
}

ReceiveOutcome run(WindowReceiver& receiver) {
  receiver.start();
  while (receiver.turn()) {
  }
  return receiver.outcome();
}

namespace {

/// Event mode of two loops on one thread. A completion that came before its queue was armed wakes nobody, so both are polled
/// (by a turn of each) between arming and sleeping.
class DuplexSleep {
 public:
  explicit DuplexSleep(transport::WorkQueue& queue) noexcept : queue_(queue) {}
  /// After a turn of each. `something`: one of them found something, or must not wait. 0, or −errno.
  int after_turns(bool something) noexcept {
    if (something) {
      armed_ = false;
      return 0;
    }
    armed_ = !armed_;
    if (armed_) return queue_.arm();
    const int rc = queue_.wait(Deadline::after(kLongestSleep));
    return rc < 0 ? rc : 0;
  }

 private:
  transport::WorkQueue& queue_;
  bool armed_ = false;
};

}  // namespace

DuplexOutcome run_duplex(WindowSender& sender, WindowReceiver& receiver, std::uint64_t tick, const std::function<void()>& sender_ended) {
  receiver.start();
  bool sending = sender.start(tick);
  bool receiving = true;
  bool told = false;
  DuplexSleep sleep(sender.queue());
  while (sending || receiving) {
    const std::uint64_t before = sender.completed() + receiver.arrived();
    if (sending) sending = sender.turn(!receiving);
    if (receiving) receiving = receiver.turn(!sending);
    if (sender.sleeps() && sending && receiving) {
      const bool something = sender.completed() + receiver.arrived() != before || !sender.completion_due();
      if (const int rc = sleep.after_turns(something); rc < 0) {
        sender.fail({.what = Failure::poll, .code = -rc, .receiving = false, .completion = {}});
        sending = false;
      }
    }
    if (sending || told) continue;
    told = true;
    sender_ended();
    if (sender.failed()) receiving = false;
  }
  receiver.close();
  return {sender.outcome(), receiver.outcome()};
}

}  // namespace railgauge::loops
