#include "bench/tcp/ping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "memory/pattern.h"
#include "stats/summary.h"

namespace railgauge::bench {

using loops::RoundTripEnd;

Ping::Ping(const plan::Plan& plan, tcp::TcpStream& stream, std::optional<int> cpu)
    : plan_(plan),
      stream_(stream),
      cpu_(cpu),
      message_({.bytes = plan.message_bytes, .numa_node = {}}),
      reply_({.bytes = plan.message_bytes, .numa_node = {}}) {
  memory::fill_pattern(message_.span(), 0, memory::Pattern{.seed = plan.message_bytes});
}

loops::RoundTripJob Ping::job(RunControl& control) const noexcept {
  return {.stream = &stream_,
          .blocking = stream_.blocking(),
          .message = message_.span(),
          .reply = reply_.span(),
          .warm_up = plan_.warm_up,
          .duration = plan_.duration,
          .iterations = plan_.iterations.value_or(0),
          .verify = plan_.verify,
          .rate_per_s = plan_.load_rate_per_s.value_or(0),
          .stop = &control.stop,
          .live_messages = &control.live_messages};
}

void Ping::judge(PingResult& result) const {
  const auto& outcome = result.outcome;
  const auto after = fmt::format("after {} round trips", outcome.recorded + outcome.warm_up);
  switch (outcome.end) {
    case RoundTripEnd::planned:
    case RoundTripEnd::stopped: break;
    case RoundTripEnd::peer_gone:
      result.error = run_error(ErrorKind::peer, outcome.error, fmt::format("the peer closed the round-trip connection {}", after));
      break;
    case RoundTripEnd::stalled:
      result.error = run_error(ErrorKind::timeout, outcome.error, fmt::format("no reply for 5 s {}", after));
      break;
    case RoundTripEnd::failed:
      result.error = run_error(ErrorKind::system, outcome.error, fmt::format("round trip {}: {}", after, errno_text(outcome.error)));
      break;
  }
}

void Ping::note_checks(PingResult& result) const {
  if (!plan_.verify) return;
  const auto& outcome = result.outcome;
  results::Verification found{.checked_bytes = outcome.checked_bytes, .mismatched_bytes = outcome.mismatched_bytes,
                              .first_offset = {}, .expected = {}, .found = {}};
  if (outcome.first_mismatch) {
    found.first_offset = outcome.first_mismatch;
    found.expected = std::to_integer<int>(outcome.expected);
    found.found = std::to_integer<int>(outcome.found);
    if (!result.error) {
      result.error = run_error(ErrorKind::data, 0, results::mismatch_text(found));
      result.error->stage = "verify";
    }
  }
  found.checked_messages = outcome.checked;
  found.messages = outcome.recorded + outcome.warm_up;
  found.scope = found.checked_messages == found.messages ? "every echoed message" : "echoed messages, but for those that came while another was half sent";
  result.verification = found;
}

PingResult Ping::measure(RunControl& control) noexcept {
  PingResult result;
  ThreadWatch watch;
  if (watch.bind(cpu_) != 0) result.warnings.push_back("the round-trip thread could not be bound to its CPU");
  stats::LatencyRecorder from_send;
  stats::LatencyRecorder from_intended;
  watch.begin();
  const auto work = job(control);
  const bool open_loop = work.rate_per_s > 0;
  result.outcome = open_loop ? loops::run_scheduled_round_trips(work, from_intended, from_send) : loops::run_round_trips(work, from_send);
  watch.end();
  stream_.shut_down();
  result.thread = watch.usage();
  result.latency = stats::latency_summary(from_send);
  if (open_loop) result.from_intended = stats::latency_summary(from_intended);
  result.histogram = (open_loop ? from_intended : from_send).histogram.to_data();
  if (result.outcome.unsent > 0) result.warnings.push_back(unsent_text(result.outcome.unsent));
  if (result.outcome.unanswered > 0) {
    result.warnings.push_back(
        fmt::format("{} messages of the window were not answered by its end and are in no percentile", result.outcome.unanswered));
  }
  judge(result);
  note_checks(result);
  return result;
}

PingResult Ping::echo(RunControl& control) noexcept {
  PingResult result;
  ThreadWatch watch;
  if (watch.bind(cpu_) != 0) result.warnings.push_back("the echoing thread could not be bound to its CPU");
  watch.begin();
  result.outcome = loops::run_echo(job(control));
  watch.end();
  stream_.shut_down();
  result.thread = watch.usage();
  judge(result);
  return result;
}

}  // namespace railgauge::bench
