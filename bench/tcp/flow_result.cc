// What a flow has to say after its threads have ended: the part of class Flow that makes the result.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "bench/tcp/flow.h"
#include "bench/tcp/links.h"
#include "tcp/limiter.h"

namespace railgauge::bench {
namespace {

using loops::LaneState;

/// Clocks of two hosts differ by at most 500 ppm; and a close is noticed a little late.
constexpr double kClockSlack = 0.001;
/// How long late zero-copy completions are waited for: the peer must have acknowledged the data.
constexpr std::chrono::milliseconds kCompletionTime{100};

std::string what_ended(LaneState state, int error, bool sending, std::size_t stream) {
  if (state == LaneState::failed) return fmt::format("{} on stream {}: {}", sending ? "send" : "receive", stream, errno_text(error));
  return fmt::format("the peer closed stream {} before the measurement's end{}", stream, error != 0 ? " (" + errno_text(error) + ")" : "");
}

}  // namespace

/// Says why the window is not full, if it is not.
void Flow::judge_lanes(FlowResult& result) const {
  const auto planned = setup_.plan.warm_up + setup_.plan.duration;
  const auto tolerated = begun_ + std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(planned.count()) * (1 - kClockSlack)));
  if (window_full_ && setup_.iterations && !setup_.sending && result.summary.bytes == 0)
    result.error = run_error(ErrorKind::usage, 0, fmt::format("all of --iterations {} came at one instant, which has no length: use more or larger blocks",
                                                              *setup_.iterations));
  if (stopped_ || window_full_) return;
  if (stalled_) {
    result.error = run_error(ErrorKind::timeout, ETIMEDOUT, "no byte moved on any stream for 5 s");
    return;
  }
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) {
    const auto state = counters_[i].state.load();
    const int error = counters_[i].error.load();
    const bool in_time = !setup_.iterations && setup_.sending && state == LaneState::ended &&
                         counters_[i].end_ns.load() >= tolerated.time_since_epoch().count();
    if (state == LaneState::running || state == LaneState::finished || in_time) continue;
    const auto kind = state == LaneState::failed ? (error == ETIMEDOUT ? ErrorKind::timeout : ErrorKind::system) : ErrorKind::peer;
    result.error = run_error(kind, error, what_ended(state, error, setup_.sending, i));
    return;
  }
}

void Flow::note_checks(FlowResult& result) const {
  if (setup_.sending || !setup_.plan.verify) return;
  results::Verification all;
  for (const auto& worker : workers_) {
    for (const auto& lane : worker.receive_lanes) {
      all.checked_bytes += lane.check.checked_bytes;
      all.mismatched_bytes += lane.check.mismatched_bytes;
      if (!lane.check.first_offset || all.first_offset) continue;
      all.first_offset = lane.check.first_offset;
      all.expected = std::to_integer<int>(lane.check.expected);
      all.found = std::to_integer<int>(lane.check.found);
    }
  }
  if (all.mismatched_bytes > 0 && !result.error) {
    auto error = run_error(ErrorKind::data, 0, results::mismatch_text(all));
    error.stage = "verify";
    result.error = error;
  }
  if (all.checked_bytes == 0) result.warnings.push_back("verification was asked for, but no block came inside the window to be compared");
  all.scope = "one received block per interval on each stream";
  result.verification = all;
}

void Flow::note_limiter(FlowResult& result) const {
  tcp::LimiterInput input;
  input.spinning = wait_of(setup_.plan, tcp::StreamRole::to_server) == plan::Wait::spin;
  for (const auto& worker : workers_) {
    const double wanted = worker.watch.cpu_share() + worker.watch.queue_share();
    if (wanted < input.busiest_thread_share + input.busiest_thread_queue_share) continue;
    input.busiest_thread_share = worker.watch.cpu_share();
    input.busiest_thread_queue_share = worker.watch.queue_share();
  }
  if (setup_.sending) {
    input.busy_us = info_.increase("busy_time_us");
    input.rwnd_limited_us = info_.increase("rwnd_limited_us");
    input.sndbuf_limited_us = info_.increase("sndbuf_limited_us");
    input.window_asked_for = setup_.plan.tcp.window_bytes.has_value();
    if (setup_.plan.tcp.pacing_gbit_per_s) input.pacing_bytes_per_s = *setup_.plan.tcp.pacing_gbit_per_s * 1e9 / 8;
  }
  input.bytes_per_s = result.summary.mean_gbit_per_s.value.value_or(0) * 1e9 / 8;
  const auto limiter = tcp::name_limiter(input);
  result.limiter = limiter.word;
  result.limiter_sentence = limiter.sentence;
}

void Flow::note_zerocopy(FlowResult& result) {
  if (!setup_.plan.tcp.zerocopy || !setup_.sending) return;
  tcp::ZerocopyCount all;
  const auto deadline = Deadline::after(kCompletionTime);
  for (auto* stream : setup_.streams) {
    stream->collect_completions();
    while (stream->zerocopy().completions < stream->zerocopy_sends() && !deadline.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stream->collect_completions();
    }
    all.completions += stream->zerocopy().completions;
    all.copied += stream->zerocopy().copied;
  }
  if (all.completions > 0 && all.copied == all.completions)
    result.warnings.push_back("zero-copy: the kernel copied every send after all (as it always does on loopback)");
  result.zerocopy = all;
}

FlowResult Flow::collect() {
  FlowResult result;
  result.summary = stats::throughput_summary({}, recorder_.nominal());
  if (window_open_) {
    result.summary = recorder_.summary();
    result.intervals = recorder_.intervals();
    result.tcp_info = info_.samples(recorder_.window_begin());
    result.tcp_info_every_intervals = info_.every();
    result.tcp_info_limit_instants = info_.limit();
    result.drain = Clock::now() - window_closed_;
  }
  for (const auto& worker : workers_) {
    result.threads.push_back(worker.watch.usage());
    if (!setup_.cpus.empty() && !worker.watch.bound()) result.warnings.push_back("a measuring thread could not be bound to its CPU");
  }
  if (softirq_before_ && softirq_after_) {
    result.softirq = host::Fact<results::nanoseconds>::of(tcp::softirq_increase(*softirq_before_, *softirq_after_, setup_.cpus));
  } else {
    result.softirq = host::Fact<results::nanoseconds>::missing("/proc/stat could not be read");
  }
  result.buffer_at_end_bytes = buffer_at_end_bytes_;
  judge_lanes(result);
  note_checks(result);
  note_limiter(result);
  note_zerocopy(result);
  return result;
}

}  // namespace railgauge::bench
