#include "loops/round_trip.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace railgauge::loops {
namespace {

/// Empty polls between two looks at the stop flag and the clock: about 200 us of spinning.
constexpr unsigned kLookEvery = 1024;
/// Open loop: so many messages may be under way; beyond it sends wait and count as late.
constexpr std::uint64_t kMaxOutstanding = 4096;
/// Open loop: how long what is overdue is still sent after the last due time, and then replies are waited for.
constexpr Clock::duration kDrainTime = std::chrono::seconds(1);
constexpr Clock::duration kLate = std::chrono::microseconds(100);

/// The number of a message stands in its first (at most eight) bytes, little endian.
void number(std::span<std::byte> message, std::uint64_t k) noexcept {
  std::memcpy(message.data(), &k, std::min<std::size_t>(sizeof k, message.size()));
}

bool stopped(const RoundTripJob& job) noexcept { return job.stop != nullptr && job.stop->load(std::memory_order_relaxed); }

/// Counts one more. The live line may see each: a few ns beside the system calls of a round trip, and outside of its time.
void note_recorded(const RoundTripJob& job, RoundTripOutcome& outcome) noexcept {
  ++outcome.recorded;
  if (job.live_messages != nullptr) job.live_messages->fetch_add(1, std::memory_order_relaxed);
}

/// Notes why a call gave nothing for good.
void note_failure(RoundTripOutcome& outcome, ssize_t n) noexcept {
  outcome.error = static_cast<int>(-n);
  outcome.end = n == 0 || n == -EPIPE || n == -ECONNRESET ? RoundTripEnd::peer_gone : RoundTripEnd::failed;
}

/// Watches a wait: every kLookEvery empty polls, or after each where the stream sleeps in it, it looks at the stop flag
/// and the clock.
class Patience {
 public:
  explicit Patience(const RoundTripJob& job) noexcept : job_(job), look_every_(job.blocking ? 1 : kLookEvery) {}
  void progress() noexcept {
    empty_ = 0;
    waiting_ = false;
  }
  /// False when the wait is over without result; the reason stands in `outcome` then.
  bool goes_on(RoundTripOutcome& outcome) noexcept {
    if (++empty_ < look_every_) return true;
    empty_ = 0;
    const auto now = Clock::now();
    if (!waiting_) since_ = now;
    waiting_ = true;
    if (stopped(job_)) {
      outcome.end = RoundTripEnd::stopped;
      return false;
    }
    if (now - since_ < job_.stall_limit) return true;
    outcome.end = RoundTripEnd::stalled;
    outcome.error = ETIMEDOUT;
    return false;
  }

 private:
  const RoundTripJob& job_;
  unsigned look_every_;
  unsigned empty_ = 0;
  bool waiting_ = false;
  Clock::time_point since_{};
};

bool send_whole(const RoundTripJob& job, std::span<const std::byte> message, Patience& patience, RoundTripOutcome& outcome) noexcept {
  while (!message.empty()) {
    const ssize_t n = job.stream->send_some(message);
    if (n > 0) {
      message = message.subspan(static_cast<std::size_t>(n));
      patience.progress();
    } else if (n != -EAGAIN) {
      note_failure(outcome, n);
      return false;
    } else if (!patience.goes_on(outcome)) {
      return false;
    }
  }
  return true;
}

/// `got` bytes are there already and say afterwards how many came.
bool receive_whole(const RoundTripJob& job, std::span<std::byte> room, Patience& patience, RoundTripOutcome& outcome, std::size_t& got) noexcept {
  while (got < room.size()) {
    const ssize_t n = job.stream->receive_some(room.subspan(got));
    if (n > 0) {
      got += static_cast<std::size_t>(n);
      patience.progress();
    } else if (n != -EAGAIN) {
      note_failure(outcome, n);
      return false;
    } else if (!patience.goes_on(outcome)) {
      return false;
    }
  }
  return true;
}

/// Compares reply k with what was sent.
void check_reply(const RoundTripJob& job, std::uint64_t k, RoundTripOutcome& outcome) noexcept {
  number(job.message, k);
  ++outcome.checked;
  outcome.checked_bytes += job.reply.size();
  if (std::memcmp(job.reply.data(), job.message.data(), job.reply.size()) == 0) return;
  for (std::size_t i = 0; i < job.reply.size(); ++i) {
    if (job.reply[i] == job.message[i]) continue;
    if (outcome.mismatched_bytes++ != 0) continue;
    outcome.first_mismatch = k * job.reply.size() + i;
    outcome.expected = job.message[i];
    outcome.found = job.reply[i];
  }
}

bool complete(const RoundTripJob& job, const RoundTripOutcome& outcome, Clock::time_point now) noexcept {
  if (job.iterations > 0) return outcome.recorded >= job.iterations;
  // One round trip at least, also where a single one outlasts the window.
  return outcome.recorded > 0 && now >= outcome.window_begin + job.duration;
}

/// The open loop's state: message `sent` goes next, reply `answered` comes next.
struct Schedule {
  Clock::time_point begin;
  double period_ns;
  std::uint64_t warm_up_count;
  std::uint64_t total;
  Clock::duration late;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::size_t out_offset = 0;
  std::size_t in_offset = 0;
  std::array<Clock::time_point, kMaxOutstanding> sent_at{};
  Clock::time_point due(std::uint64_t k) const noexcept {
    return begin + Clock::duration(static_cast<std::int64_t>(static_cast<double>(k) * period_ns));
  }
  bool measured(std::uint64_t k) const noexcept { return k >= warm_up_count; }
};

Schedule schedule_of(const RoundTripJob& job) noexcept {
  const double period_ns = 1e9 / job.rate_per_s;
  const auto count = [&](Clock::duration time) { return static_cast<std::uint64_t>(static_cast<double>(time.count()) / period_ns); };
  const std::uint64_t warm_up = count(job.warm_up);
  const std::uint64_t measured = job.iterations > 0 ? job.iterations : std::max<std::uint64_t>(1, count(job.duration));
  const auto late = std::min<Clock::duration>(kLate, Clock::duration(static_cast<std::int64_t>(period_ns)));
  return Schedule{.begin = Clock::now(), .period_ns = period_ns, .warm_up_count = warm_up, .total = warm_up + measured, .late = late};
}

/// Sends what is due; false on a failure.
bool send_due(const RoundTripJob& job, Schedule& s, RoundTripOutcome& outcome, Clock::time_point now) noexcept {
  if (s.sent == s.total || s.sent - s.answered >= kMaxOutstanding) return true;
  const bool fresh = s.out_offset == 0;
  const auto due = s.due(s.sent);
  if (fresh && now < due) return true;
  if (fresh) number(job.message, s.sent);
  const ssize_t n = job.stream->send_some(job.message.subspan(s.out_offset));
  if (n == -EAGAIN) return true;
  if (n <= 0) {
    note_failure(outcome, n);
    return false;
  }
  if (fresh) s.sent_at[s.sent % kMaxOutstanding] = now;
  if (fresh && s.measured(s.sent) && now - due > s.late) ++outcome.late_sends;
  s.out_offset += static_cast<std::size_t>(n);
  if (s.out_offset == job.message.size()) {
    s.out_offset = 0;
    ++s.sent;
  }
  return true;
}

struct Recorders {
  stats::LatencyRecorder& from_intended;
  stats::LatencyRecorder& from_send;
};

/// Takes what has come; false on a failure, `moved` says whether anything came.
bool take_reply(const RoundTripJob& job, Schedule& s, RoundTripOutcome& outcome, const Recorders& recorders, bool& moved) noexcept {
  const ssize_t n = job.stream->receive_some(job.reply.subspan(s.in_offset));
  moved = n > 0;
  if (n == -EAGAIN) return true;
  if (n <= 0) {
    note_failure(outcome, n);
    return false;
  }
  s.in_offset += static_cast<std::size_t>(n);
  if (s.in_offset < job.reply.size()) return true;
  const auto now = Clock::now();
  const std::uint64_t k = s.answered++;
  s.in_offset = 0;
  if (s.measured(k)) {
    const auto due = s.due(k);
    recorders.from_intended.record(due - outcome.window_begin, now - due);
    recorders.from_send.record(due - outcome.window_begin, now - s.sent_at[k % kMaxOutstanding]);
    note_recorded(job, outcome);
    outcome.window_end = now;
  } else {
    ++outcome.warm_up;
  }
  // A partly sent message must not be renumbered.
  if (job.verify && s.out_offset == 0) check_reply(job, k, outcome);
  return true;
}

/// Says what became of the schedule. Stopped early, it reaches to now.
void note_rest(const Schedule& s, RoundTripOutcome& outcome) noexcept {
  const std::uint64_t measured_sent = s.sent > s.warm_up_count ? s.sent - s.warm_up_count : 0;
  outcome.unanswered = measured_sent - std::min(measured_sent, outcome.recorded);
  const auto elapsed = static_cast<double>((Clock::now() - s.begin).count());
  const std::uint64_t due = std::min(s.total, static_cast<std::uint64_t>(elapsed / s.period_ns) + 1);
  const std::uint64_t first = std::max(s.sent, s.warm_up_count);
  outcome.unsent = due > first ? due - first : 0;
}

}  // namespace

RoundTripOutcome run_round_trips(const RoundTripJob& job, stats::LatencyRecorder& from_send) noexcept {
  RoundTripOutcome outcome;
  Patience patience(job);
  outcome.window_begin = Clock::now() + job.warm_up;
  for (std::uint64_t k = 0;; ++k) {
    number(job.message, k);
    const auto begin = Clock::now();
    std::size_t got = 0;
    if (!send_whole(job, job.message, patience, outcome)) break;
    if (!receive_whole(job, job.reply, patience, outcome, got)) break;
    const auto end = Clock::now();
    if (begin >= outcome.window_begin) {
      from_send.record(begin - outcome.window_begin, end - begin);
      note_recorded(job, outcome);
      outcome.window_end = end;
    } else {
      ++outcome.warm_up;
    }
    if (job.verify) check_reply(job, k, outcome);
    if (complete(job, outcome, end)) break;
    if (stopped(job)) {
      outcome.end = RoundTripEnd::stopped;
      break;
    }
  }
  return outcome;
}

RoundTripOutcome run_scheduled_round_trips(const RoundTripJob& job, stats::LatencyRecorder& from_intended,
                                           stats::LatencyRecorder& from_send) noexcept {
  RoundTripOutcome outcome;
  Patience patience(job);
  Schedule s = schedule_of(job);
  outcome.window_begin = s.due(s.warm_up_count);
  const Recorders recorders{from_intended, from_send};
  const auto send_until = s.due(s.total) + kDrainTime;
  while (s.answered < s.total) {
    const auto now = Clock::now();
    // A message of which a part is under way is sent to its end: the echo must not take the end for a peer that vanished.
    const bool sends = now <= send_until || s.out_offset != 0;
    if (now > send_until + kDrainTime || (!sends && s.answered == s.sent)) break;
    // At each turn: replies that come without a pause never let the patience look.
    if (stopped(job)) {
      outcome.end = RoundTripEnd::stopped;
      break;
    }
    bool moved = false;
    if ((sends && !send_due(job, s, outcome, now)) || !take_reply(job, s, outcome, recorders, moved)) break;
    if (moved || s.sent == s.answered) patience.progress();
    if (moved) continue;
    if (!patience.goes_on(outcome)) break;
  }
  note_rest(s, outcome);
  return outcome;
}

RoundTripOutcome run_echo(const RoundTripJob& job) noexcept {
  RoundTripOutcome outcome;
  Patience patience(job);
  for (;;) {
    std::size_t got = 0;
    if (!receive_whole(job, job.reply, patience, outcome, got)) {
      // Between two messages the peer ends the stream when it has all it wants.
      if (outcome.end == RoundTripEnd::peer_gone && outcome.error == 0 && got == 0) outcome.end = RoundTripEnd::planned;
      break;
    }
    if (!send_whole(job, job.reply, patience, outcome)) break;
    ++outcome.recorded;
    if (stopped(job)) {
      outcome.end = RoundTripEnd::stopped;
      break;
    }
  }
  return outcome;
}

}  // namespace railgauge::loops
