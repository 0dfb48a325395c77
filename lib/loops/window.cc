#include "loops/window.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace railgauge::loops {

using transport::Completion;

namespace {

/// What is in flight at a stop arrives within this or, from a peer that is gone, never.
constexpr nanoseconds kStoppedDrain = std::chrono::seconds(1);

Times times_of(const WindowSettings& settings) {
  Times times = settings.times;
  times.by_count = settings.iterations > 0;
  return times;
}

}  // namespace

WindowSender::WindowSender(transport::WorkQueue& queue, const WindowSettings& settings, Flags flags, const TickClock& clock, Live live)
    : queue_(queue),
      settings_(settings),
      flags_(flags),
      clock_(clock),
      schedule_(times_of(settings), clock, live),
      lanes_(queue.lanes()),
      completions_(kPollBatch),
      stall_ticks_(clock.ticks_of(settings.stall_limit)),
      drain_ticks_(clock.ticks_of(settings.drain_limit)),
      stopped_drain_ticks_(clock.ticks_of(std::min(settings.drain_limit, kStoppedDrain))),
      step_(std::lcm<std::uint64_t>(settings.post_batch, settings.signal_every)),
      pace_(settings.messages_per_s > 0 ? Pace(settings.messages_per_s, settings.post_batch, clock) : Pace()),
      courtesy_(settings.yields) {}

bool WindowSender::start(std::uint64_t tick) noexcept {
  progress_tick_ = clock_.now();
  schedule_.start(tick, counters());
  if (schedule_.phase() == Schedule::Phase::settling) begin_iterations(progress_tick_);
  fill();
  return state_ != State::over;
}

void WindowSender::fill() noexcept {
  if (pace_) budget_ = pace_.start(clock_.now(), posted_, settings_.post_batch);
  for (std::uint32_t filled = 0; filled + settings_.post_batch <= settings_.depth; filled += settings_.post_batch)
    for (std::uint32_t i = 0; i < lanes_.size() && state_ != State::over; ++i)
      if (lanes_[i].posted < lanes_[i].limit && posted_ < budget_) post(i, lanes_[i]);
}

bool WindowSender::turn(bool may_sleep) noexcept {
  int n = queue_.poll(completions_);
  if (n == 0) {
    if (++empty_polls_ < kEmptyPolls && !settings_.events) return true;
    idle(may_sleep);
    return state_ != State::over;
  }
  if (n < 0) {
    fail({.what = Failure::poll, .code = -n, .receiving = false, .completion = {}});
    return false;
  }
  take_all(std::span(completions_).first(static_cast<std::size_t>(n)));
  if (state_ == State::over) return false;
  empty_polls_ = 0;
  courtesy_.busy();
  progress_tick_ = clock_.now();
  look_at_time(progress_tick_);
  return state_ != State::over;
}

void WindowSender::take_all(std::span<const Completion> batch) noexcept {
  for (std::size_t i = 0; i < batch.size() && state_ != State::over;) {
    if (batch[i].status != transport::kSuccess) return fail(fault_of(queue_, batch.subspan(i), false));
    // Completions of one lane come in runs, and one refill serves a run.
    const std::uint32_t index = batch[i].lane;
    std::size_t next = i + 1;
    while (next < batch.size() && batch[next].lane == index && batch[next].status == transport::kSuccess) ++next;
    const std::uint64_t done = (next - i) * settings_.signal_every;
    Lane& lane = lanes_[index];
    if (settings_.check != nullptr)
      for (std::uint64_t k = lane.completed; k < lane.completed + done; ++k)
        settings_.check->check(index, static_cast<std::uint32_t>(k % settings_.ring));
    lane.completed += done;
    messages_ += done;
    if (lane.completed == lane.limit) --open_lanes_;
    refill(index);
    i = next;
  }
}

void WindowSender::refill(std::uint32_t index) noexcept {
  Lane& lane = lanes_[index];
  while (lane.posted - lane.completed + settings_.post_batch <= settings_.depth && lane.posted < lane.limit && posted_ < budget_) {
    post(index, lane);
    if (state_ == State::over) return;
  }
}

void WindowSender::post(std::uint32_t index, Lane& lane) noexcept {
  transport::PostResult result = queue_.post(index, lane.slot, settings_.post_batch);
  lane.posted += result.accepted;
  posted_ += result.accepted;
  if (result.accepted != settings_.post_batch) {
    Completion at{.lane = index, .slot = lane.slot + result.accepted};
    fail({.what = Failure::post, .code = result.error, .receiving = false, .completion = at});
    return;
  }
  lane.slot += settings_.post_batch;
  if (lane.slot == settings_.ring) lane.slot = 0;
}

void WindowSender::spend_time(std::uint64_t tick) noexcept {
  budget_ = pace_.budget(tick, posted_);
  if (!completion_due()) progress_tick_ = tick;  // nothing is awaited, so nothing can be late
  for (std::uint32_t i = 0; i < lanes_.size() && state_ == State::running && posted_ < budget_; ++i) refill(i);
}

void WindowSender::look_at_time(std::uint64_t tick) noexcept {
  if (state_ == State::running && pace_) spend_time(tick);
  if (state_ == State::running && schedule_.due(tick)) {
    auto phase = schedule_.on_due(tick, counters());
    if (phase == Schedule::Phase::over) begin_drain(tick);
    if (phase == Schedule::Phase::settling) finish_posted(State::settling);
  }
  if (flags_.stopping() && (state_ == State::running || state_ == State::settling)) {
    ending_ = Ending::stopped;
    schedule_.finish(counters());
    begin_drain(tick);
  }
  if (open_lanes_ == 0) on_all_completed(tick);
}

void WindowSender::on_all_completed(std::uint64_t tick) noexcept {
  if (state_ == State::draining) {
    drain_ = clock_.duration_of(tick - drain_tick_);
    end(ending_);
  } else if (state_ == State::settling) {
    state_ = State::running;
    begin_iterations(tick);
    fill();
  } else if (state_ == State::running) {
    // By count the window is over with the last completion, so there is nothing to drain.
    schedule_.finish(counters());
    end(Ending::finished);
  }
}

void WindowSender::idle(bool may_sleep) noexcept {
  empty_polls_ = 0;
  courtesy_.idle();
  if (settings_.events && may_sleep && completion_due()) {
    int n = poll_or_sleep(queue_, false, completions_);
    if (n < 0) return fail({.what = Failure::poll, .code = -n, .receiving = false, .completion = {}});
    take_all(std::span(completions_).first(static_cast<std::size_t>(n)));
    if (state_ == State::over) return;
    if (n > 0) progress_tick_ = clock_.now();
  }
  std::uint64_t tick = clock_.now();
  look_at_time(tick);
  if (state_ == State::over) return;
  if (flags_.aborting()) {
    schedule_.finish(counters());
    return end(Ending::stopped);
  }
  // Only what is awaited can be late: an idle lane set has nothing in flight.
  std::uint64_t limit = state_ != State::draining ? stall_ticks_ : ending_ == Ending::stopped ? stopped_drain_ticks_ : drain_ticks_;
  if (tick - progress_tick_ < limit) return;
  fail({.what = state_ == State::draining ? Failure::drain : Failure::stalled, .code = 0, .receiving = false, .completion = {.lane = waiting_lane()}});
}

/// The first that waits for a completion.
std::uint32_t WindowSender::waiting_lane() const noexcept {
  auto waits = [](const Lane& lane) { return lane.posted != lane.completed; };
  const auto first = std::find_if(lanes_.begin(), lanes_.end(), waits);
  return first == lanes_.end() ? 0 : static_cast<std::uint32_t>(first - lanes_.begin());
}

/// A pace leaves lanes idle, or with requests that ask for no completion: nothing would end a sleep.
bool WindowSender::completion_due() const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [this](const Lane& lane) { return lane.posted - lane.completed >= settings_.signal_every; });
}

/// Nothing is in flight: what is posted from here on is what counts.
void WindowSender::begin_iterations(std::uint64_t tick) noexcept {
  assert(settings_.iterations % step_ == 0);  // plan::validate refuses others
  for (Lane& lane : lanes_) lane.limit = lane.completed + settings_.iterations;
  count_open_lanes();
  progress_tick_ = tick;
  schedule_.open(counters());
}

void WindowSender::begin_drain(std::uint64_t tick) noexcept {
  drain_tick_ = tick;
  finish_posted(State::draining);
}

void WindowSender::finish_posted(State state) noexcept {
  state_ = state;
  budget_ = ~0ULL;
  // The last signalled request must be posted, or what stands before it never completes.
  for (std::uint32_t i = 0; i < lanes_.size() && state_ == state; ++i) {
    lanes_[i].limit = whole_signals(lanes_[i].posted);
    refill(i);
  }
  count_open_lanes();
}

void WindowSender::fail(const Fault& fault) noexcept {
  if (state_ == State::draining) drain_ = clock_.duration_of(clock_.now() - drain_tick_);
  // After a stop the peer may be gone, and what was in flight with it.
  if (state_ == State::draining && ending_ == Ending::stopped) return end(Ending::stopped);
  fault_ = fault;
  schedule_.finish(counters());
  end(Ending::failed);
}

void WindowSender::end(Ending ending) noexcept {
  ending_ = ending;
  state_ = State::over;
}

void WindowSender::count_open_lanes() noexcept {
  open_lanes_ = static_cast<std::size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.completed < lane.limit; }));
}

std::uint64_t WindowSender::whole_signals(std::uint64_t messages) const noexcept { return (messages + step_ - 1) / step_ * step_; }

bool WindowSender::drained() const noexcept {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.posted == lane.completed; });
}

void WindowSender::completed_per_lane(std::span<std::uint64_t> into) const noexcept {
  for (std::size_t i = 0; i < lanes_.size(); ++i) into[i] = lanes_[i].completed;
}

WindowOutcome WindowSender::outcome() const {
  WindowOutcome outcome{.ending = ending_, .fault = fault_, .drain = drain_, .completed = std::vector<std::uint64_t>(lanes_.size()), .drained = drained()};
  completed_per_lane(outcome.completed);
  return outcome;
}

WindowOutcome run(WindowSender& sender, std::uint64_t tick) {
  bool going = sender.start(tick);
  while (going) going = sender.turn();
  return sender.outcome();
}

}  // namespace railgauge::loops
