// When a flow's window begins and ends, and what the supervising thread does in between.
#include <algorithm>
#include <thread>

#include "bench/tcp/flow.h"
#include "tcp/socket_options.h"

namespace railgauge::bench {
namespace {

using loops::LaneState;
using loops::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The supervising thread looks at its lanes this often: short against the 0.5 s a run may take beyond its window.
constexpr milliseconds kLook{5};
/// The window begins at most this much after the first byte was seen.
constexpr std::chrono::microseconds kLookForFirst{500};
/// No byte on any stream for so long ends the run.
constexpr seconds kStall{5};

std::int64_t since_epoch(Clock::time_point at) { return at.time_since_epoch().count(); }
Clock::time_point time_of(std::int64_t ns) { return Clock::time_point(Clock::duration(ns)); }

}  // namespace

/// Lets each thread note its CPU time before the window opens: that reads two files of /proc. One that sleeps in its stream
/// notices after 50 ms at the latest; one on a crowded CPU may come later, and then notes it inside the window.
void Flow::settle() {
  constexpr milliseconds kSettle{100};
  orders_.phase.store(Phase::settle, std::memory_order_relaxed);
  const auto until = Clock::now() + kSettle;
  while (watching_.load(std::memory_order_relaxed) < workers_.size() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// True when each lane has moved a byte or is at its end; with `begun_or_ended` false: when each is at its end.
bool Flow::all_lanes(bool begun_or_ended) const noexcept {
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) {
    const bool ended = counters_[i].state.load(std::memory_order_acquire) != LaneState::running;
    const bool begun = counters_[i].first_ns.load(std::memory_order_relaxed) != loops::LaneCounters::kNotYet;
    if (!ended && !(begun_or_ended && begun)) return false;
  }
  return true;
}

Flow::Watch Flow::look(RunControl& control) noexcept {
  if (control.stop.load(std::memory_order_relaxed)) {
    stopped_ = true;
    return Watch::over;
  }
  if (all_lanes(false)) return Watch::over;
  bool lost = false;
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) {
    const auto state = counters_[i].state.load(std::memory_order_acquire);
    // A sender's peer closes its streams one after the other; a receiver's stream that ends inside the window is a loss.
    lost |= state == LaneState::failed || (!setup_.sending && state == LaneState::ended);
  }
  if (lost) return Watch::over;
  const auto now = read();
  if (now.counters.bytes != progress_bytes_) {
    progress_bytes_ = now.counters.bytes;
    progress_at_ = now.at;
  } else if (now.at - progress_at_ > kStall) {
    stalled_ = true;
    return Watch::over;
  }
  return Watch::goes_on;
}

bool Flow::await_first_bytes(RunControl& control) {
  while (!all_lanes(true)) {
    if (look(control) == Watch::over) return false;
    std::this_thread::sleep_for(kLookForFirst);
  }
  return look(control) == Watch::goes_on || (setup_.iterations && !stopped_);
}

/// Takes a sample at each interval's end until `end`.
Flow::Watch Flow::watch_until(Clock::time_point end, RunControl& control) {
  for (;;) {
    if (look(control) == Watch::over) return Watch::over;
    const auto now = Clock::now();
    if (now >= end) return Watch::goes_on;
    if (now >= recorder_.next_due()) {
      const auto reading = read();
      recorder_.sample(reading.at, reading.counters);
      if (window_open_) info_.take(reading.at);
      if (window_open_ && setup_.plan.verify) orders_.check.fetch_add(1, std::memory_order_relaxed);
      publish(control, reading.counters);
    }
    const auto next = std::min(end, recorder_.next_due());
    std::this_thread::sleep_for(std::clamp<Clock::duration>(next - Clock::now(), Clock::duration::zero(), kLook));
  }
}

void Flow::open_window() {
  softirq_before_ = tcp::read_softirq();
  info_.take(Clock::now());
  if (setup_.plan.verify) orders_.check.fetch_add(1, std::memory_order_relaxed);
  window_open_ = true;
}

void Flow::close_window(RunControl& control) {
  auto reading = read();
  if (all_lanes(false)) {
    // Nothing moved since the last lane ended, so the window ends there.
    std::int64_t end = since_epoch(recorder_.window_begin());
    for (std::size_t i = 0; i < setup_.streams.size(); ++i) end = std::max(end, counters_[i].end_ns.load(std::memory_order_relaxed));
    reading.at = std::min(reading.at, time_of(end));
  }
  recorder_.end_window(reading.at, reading.counters);
  orders_.phase.store(Phase::drain, std::memory_order_relaxed);
  window_closed_ = reading.at;
  info_.take(reading.at);
  softirq_after_ = tcp::read_softirq();
  // With auto-tuning the buffers have grown since they were read back.
  for (const auto* stream : setup_.streams) {
    const auto bytes = setup_.sending ? tcp::send_buffer_bytes(stream->descriptor()) : tcp::receive_buffer_bytes(stream->descriptor());
    if (bytes) buffer_at_end_bytes_ = std::max(buffer_at_end_bytes_.value_or(0), *bytes);
  }
  publish(control, reading.counters);
}

void Flow::measure_time(RunControl& control) {
  const auto& plan = setup_.plan;
  const auto first = read();
  recorder_.start(first.at, first.counters);
  if (watch_until(first.at + plan.warm_up, control) == Watch::over) return;
  settle();
  open_window();
  const auto begin = read();
  orders_.phase.store(Phase::measure, std::memory_order_relaxed);
  recorder_.begin_window(begin.at, begin.counters);
  window_full_ = watch_until(begin.at + plan.duration, control) == Watch::goes_on;
  close_window(control);
}

/// By count there is no warm-up (validate() refuses one): the window begins when the first block has moved, which itself is not
/// counted, since nothing says how long it took; and it ends with the last.
void Flow::measure_count(RunControl& control) {
  std::int64_t first_ns = INT64_MAX;
  stats::Counters before;
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) {
    const auto at = counters_[i].first_ns.load(std::memory_order_acquire);
    if (at == loops::LaneCounters::kNotYet || at >= first_ns) continue;
    first_ns = at;
    before.bytes = counters_[i].first_bytes.load(std::memory_order_relaxed);
  }
  if (first_ns == INT64_MAX) return;
  before.messages = before.bytes / setup_.message_bytes;
  open_window();
  recorder_.begin_window(time_of(first_ns), before);
  watch_until(Clock::time_point::max(), control);
  window_full_ = true;
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) window_full_ &= counters_[i].state.load() == LaneState::finished;
  close_window(control);
}

}  // namespace railgauge::bench
