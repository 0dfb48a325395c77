#include "stats/interval_recorder.h"

#include <algorithm>

namespace railgauge::stats {
namespace {

constexpr std::size_t kSmallestCapacity = 8;

bool can_join(const Interval& left, const Interval& right) { return left.warm_up == right.warm_up; }

Interval joined(const Interval& left, const Interval& right) {
  return {left.begin, right.begin + right.length - left.begin, left.bytes + right.bytes, left.messages + right.messages, left.warm_up};
}

}  // namespace

IntervalRecorder::IntervalRecorder(nanoseconds nominal, std::size_t capacity)
    : nominal_(nominal), early_(nominal / 4), capacity_(std::max(capacity, kSmallestCapacity)) {
  items_.resize(capacity_);  // touches the pages, so that no sample faults one in
  items_.clear();
}

void IntervalRecorder::start(Clock::time_point at, Counters counters) noexcept {
  open_at_ = window_at_ = end_at_ = at;
  open_ = window_ = end_ = counters;
}

void IntervalRecorder::sample(Clock::time_point at, Counters counters) noexcept {
  if (at < open_at_ + nominal_ - early_) return;
  if (items_.size() == capacity_) coarsen();  // may have opened the last interval again, or made this one too short to close
  if (at >= open_at_ + nominal_ - early_) close(at, counters);
}

void IntervalRecorder::begin_window(Clock::time_point at, Counters counters) noexcept {
  if (open_at_ != Clock::time_point{}) close(at, counters);
  warm_up_ = false;
  open_at_ = window_at_ = end_at_ = at;
  open_ = window_ = end_ = counters;
}

void IntervalRecorder::end_window(Clock::time_point at, Counters counters) noexcept {
  close(at, counters);
  end_at_ = at;
  end_ = counters;
}

void IntervalRecorder::close(Clock::time_point at, Counters counters) noexcept {
  if (at <= open_at_) return;
  if (items_.size() == capacity_) coarsen();
  items_.push_back({open_at_.time_since_epoch(), at - open_at_, counters.bytes - open_.bytes,
                    counters.messages - open_.messages, warm_up_});
  open_at_ = at;
  open_ = counters;
}

/// Merges neighbours in place and doubles the nominal interval. An odd last one is opened again, so that it grows to the
/// new length instead of staying half as long as the others.
void IntervalRecorder::coarsen() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items_.size(); ++kept) {
    const bool pair = i + 1 < items_.size() && can_join(items_[i], items_[i + 1]);
    items_[kept] = pair ? joined(items_[i], items_[i + 1]) : items_[i];
    i += pair ? 2 : 1;
  }
  nominal_ *= 2;
  items_.resize(kept);
  const Interval last = items_.back();
  if (last.warm_up != warm_up_ || last.length + early_ >= nominal_) return;
  items_.pop_back();
  open_at_ = Clock::time_point(last.begin);
  open_.bytes -= last.bytes;
  open_.messages -= last.messages;
}

std::vector<Interval> IntervalRecorder::intervals() const {
  std::vector<Interval> out = items_;
  for (Interval& interval : out) interval.begin -= window_at_.time_since_epoch();
  return out;
}

Totals IntervalRecorder::totals() const noexcept {
  return {end_.bytes - window_.bytes, end_.messages - window_.messages, end_at_ - window_at_};
}

}  // namespace railgauge::stats
