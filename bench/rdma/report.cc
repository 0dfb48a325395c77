#include "bench/rdma/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "stats/summary.h"

namespace railgauge::bench {
namespace {

using results::SideResult;

const char* mode_of(GroupTask task) {
  switch (task) {
    case GroupTask::stream: return "stream";
    case GroupTask::ping_pong_memory: return "ping-pong seen in memory";
    case GroupTask::ping_pong_completion: return "ping-pong seen by completion";
    case GroupTask::requests: return "post and poll, one at a time";
    case GroupTask::open_loop: return "open loop by schedule";
  }
  return "";
}

/// One direction of all threads together: one thread's own summary, or the sum of their series.
void merge(std::vector<GroupOutcome>& outcomes, bool sent, stats::Extent extent, SideResult& result) {
  std::vector<stats::Series> series;
  std::optional<stats::ThroughputSummary> only;
  nanoseconds nominal{};
  for (GroupOutcome& o : outcomes) {
    auto& counted = sent ? o.sent : o.received;
    if (!counted || o.latency) continue;
    nominal = std::max(nominal, counted->summary.interval);
    only = std::move(counted->summary);
    series.push_back(std::move(counted->series));
  }
  if (series.empty()) return;
  auto& into = sent ? result.sent : result.received;
  auto& intervals = sent ? result.sent_intervals : result.received_intervals;
  if (series.size() == 1) {
    into = std::move(only);
    intervals = std::move(series.front().intervals);
    return;
  }
  stats::Combined sum = stats::combine(series, nominal, extent);
  into = std::move(sum.summary);
  intervals = std::move(sum.intervals);
  if (sum.apart)
    result.warnings.push_back(fmt::format("the windows of the {} threads do not overlap: the figure is all they moved, from the first begin to the "
                                          "last end; use fewer --threads or a longer --duration",
                                          series.size()));
}

void report_latency(const GroupOutcome& outcome, SideResult& result) {
  if (!outcome.latency) return;
  result.latency = stats::latency_summary(*outcome.latency);
  if (!outcome.from_intended) {
    result.histogram = outcome.latency->histogram.to_data();
    return;
  }
  // The histogram that stands in the record is the one of the figure that counts.
  result.loaded_latency = stats::latency_summary(*outcome.from_intended);
  result.histogram = outcome.from_intended->histogram.to_data();
  result.late_sends = outcome.late_sends;
  result.unsent = outcome.unsent;
  if (outcome.unsent > 0) result.warnings.push_back(unsent_text(outcome.unsent));
}

bool uses_cm(const SettingsSource& source) { return source.device.iwarp() || source.plan.rdma.connect == plan::ConnectBy::rdma_cm; }

/// It stands in the GRH, which packets that are addressed by LID do not have.
bool loses_traffic_class(const SettingsSource& source) { return !source.offer.gid_index && !uses_cm(source); }

}  // namespace

std::map<std::string, std::string> settings_in_effect(const SettingsSource& source) {
  const Group& g = source.group.layout();
  std::map<std::string, std::string> s;
  auto put = [&s](const char* key, auto value) { s[key] = fmt::format("{}", value); };
  put("mode", mode_of(g.task));
  put("qps", g.lanes);
  put("qp_depth", g.depth);
  put("qp_send_requests", source.group.queue().caps().send_requests);
  put("qp_receive_requests", source.group.queue().caps().recv_requests);
  put("qp_inline_bytes", source.group.queue().caps().inline_bytes);
  put("messages_inline", source.group.messages_inline());
  put("post_batch", g.post_batch);
  put("signal_every", g.signal_every);
  if (source.offer.gid_index) put("gid_index", *source.offer.gid_index);
  put("connected_by", uses_cm(source) ? "rdma_cm" : "socket");
  put("service_level", source.plan.rdma.service_level);
  if (!loses_traffic_class(source)) put("traffic_class", source.plan.rdma.traffic_class);
  put("retry_count", source.agreement.retry_count);
  put("timeout_code", source.agreement.timeout_code);
  put("initiator_reads", source.agreement.initiator_reads);
  put("responder_reads", source.agreement.responder_reads);
  const std::uint64_t landing_bytes = std::uint64_t{std::min(g.regions(), g.lanes)} * g.used_slots * g.stride;
  put("working_set_bytes", landing_bytes * g.versions);
  put("landing_bytes", landing_bytes);
  put("slot_bytes", g.stride);
  put("registered_bytes", source.group.registered_bytes());
  put("memory", source.group.placement());
  put("relaxed_ordering", source.group.relaxed_ordering());
  if (source.plan.rdma.rate_limit_gbit_per_s) {
    put("rate_limit_gbit_per_s", *source.plan.rdma.rate_limit_gbit_per_s);
    put("rate_limited_by", "the sending threads' clock");
  }
  put("completions", source.plan.rdma.events ? "events" : "polling");
  put("tick_clock", source.clock.uses_counter() ? fmt::format("TSC at {:.3f} ticks per ns", source.clock.ticks_per_ns())
                                                : std::string("CLOCK_MONOTONIC_RAW"));
  if (g.needs_receives()) put("receive_depth", g.recv_depth);
  put("when_idle", source.plan.rdma.events ? "sleeps" : source.same_host ? "spins, and naps after 20 us: both sides share this host" : "spins");
  if (source.data_in_order) s["last_byte_last"] = *source.data_in_order ? "promised by the device" : "not promised by the device";
  return s;
}

std::vector<std::string> unmet_wishes(const SettingsSource& source) {
  std::vector<std::string> unmet;
  const plan::RdmaSettings& asked = source.plan.rdma;
  const int reads = source.agreement.initiator_reads;
  const auto inline_bytes = source.group.queue().caps().inline_bytes;
  if (source.group.initiating() && asked.max_reads && *asked.max_reads > static_cast<std::uint64_t>(reads))
    unmet.push_back(fmt::format("--max-reads {}: {} took effect, the fewer of what {} can have outstanding ({}) and the peer answers; leave it out for as many "
                                "as there can be",
                                *asked.max_reads, reads, source.device.name(), source.device.limits().max_qp_init_rd_atom));
  if (source.group.initiating() && asked.inline_bytes && static_cast<std::uint32_t>(*asked.inline_bytes) > inline_bytes)
    unmet.push_back(fmt::format("--inline {}: {} gives {} bytes, so that messages were not sent inline; leave it out", *asked.inline_bytes,
                                source.device.name(), inline_bytes));
  if (asked.traffic_class != 0 && loses_traffic_class(source))
    unmet.push_back(fmt::format("--traffic-class {} had no effect: it stands in the GRH, and {} is addressed by LID without one; use --gid-index for a GRH, or "
                                "--sl for a service level",
                                asked.traffic_class, source.device.name()));
  return unmet;
}

void report(std::vector<GroupOutcome>& outcomes, const plan::Plan& plan, bool active, SideResult& result) {
  const auto extent = plan.iterations ? stats::Extent::whole : stats::Extent::common;
  merge(outcomes, true, extent, result);
  merge(outcomes, false, extent, result);
  if (plan.iterations && plan.metric != plan::Metric::latency)
    result.choices.emplace_back("by count the initiator alone counts: from its first post to its last completion, the warm-up completed before");
  for (const GroupOutcome& o : outcomes) {
    if (active) report_latency(o, result);
    result.threads.push_back(o.usage);
    result.drain = std::max(result.drain, o.drain);
    if (o.error.empty() || result.error) continue;
    bool silent = o.fault.what == loops::Failure::stalled || o.fault.what == loops::Failure::drain;
    ErrorKind kind = o.damaged ? ErrorKind::data : o.thrown ? o.thrown->kind() : silent ? ErrorKind::timeout : ErrorKind::verbs;
    int code = o.fault.what == loops::Failure::completion ? static_cast<int>(o.fault.completion.status) : o.thrown ? o.thrown->code() : o.fault.code;
    result.error = results::ErrorInfo{.kind = name_of(kind), .code = code, .stage = o.damaged ? "verify" : "run", .side = result.role, .text = o.error};
  }
}

void add_verification(const std::optional<results::Verification>& found, SideResult& result) {
  if (!found) return;
  if (!result.verification) {
    result.verification.emplace();
    result.verification->checked_messages = result.verification->messages = 0;
  }
  results::Verification& sum = *result.verification;
  sum.checked_bytes += found->checked_bytes;
  results::add_count(sum.checked_messages, found->checked_messages);
  results::add_count(sum.messages, found->messages);
  if (sum.scope.empty()) sum.scope = found->scope;
  else if (sum.scope != found->scope) sum.scope += " of one part, " + found->scope + " of another";
  sum.mismatched_bytes += found->mismatched_bytes;
  if (!sum.first_offset && found->first_offset) {
    sum.first_offset = found->first_offset;
    sum.expected = found->expected;
    sum.found = found->found;
  }
  if (sum.mismatched_bytes == 0 || result.error) return;
  result.error = results::ErrorInfo{
      .kind = name_of(ErrorKind::data),
      .code = 0,
      .stage = "verify",
      .side = result.role,
      .text = results::mismatch_text(sum)};
}

void report_events(const std::vector<verbs::AsyncEvent>& events, Clock::time_point began, SideResult& result) {
  for (const verbs::AsyncEvent& event : events) {
    if (event.at < began) continue;
    std::string text = fmt::format("{} after {}", event.text, format_duration(event.at - began));
    result.events.push_back(text);
    if (event.fatal && !result.error)
      result.error = results::ErrorInfo{.kind = name_of(ErrorKind::verbs), .code = 0, .stage = "run", .side = result.role, .text = text};
  }
}

std::optional<verbs::AsyncEvent> find_port_down(const std::vector<verbs::AsyncEvent>& events) {
  for (const verbs::AsyncEvent& event : events)
    if (event.port_down) return event;
  return std::nullopt;
}

void blame_port(const PortAfterRun& port, const std::vector<verbs::AsyncEvent>& events, Clock::time_point began, SideResult& result) {
  auto down = find_port_down(events);
  bool active = port.state.empty() || port.state == "ACTIVE";
  if (active && !(down && result.error)) return;
  std::string when = down && down->at >= began ? "after " + format_duration(down->at - began) : "before the run began";
  std::string text = down ? fmt::format("{} went down {} (PORT_ERR), its state is now {}", port.name, when, port.state.empty() ? "unknown" : port.state)
                          : fmt::format("{} was ACTIVE before and is {} now", port.name, port.state);
  if (result.error) result.error->text = fmt::format("{}: {}", text, result.error->text);
  else result.error = results::ErrorInfo{.kind = name_of(ErrorKind::verbs), .code = 0, .stage = "run", .side = result.role, .text = text};
}

}  // namespace railgauge::bench
