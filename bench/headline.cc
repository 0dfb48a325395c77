#include "bench/headline.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/units.h"

namespace railgauge::bench {
namespace {

using results::Measurement;
using results::SideResult;

/// What arrived at `receiver` from `sender`: counted where it arrived if that side counts, else where it completed. A read
/// completes at the receiver, who initiates it.
std::optional<stats::ThroughputSummary> flow(const plan::Plan& plan, const SideResult* sender, const SideResult* receiver) {
  if (receiver && receiver->received) return receiver->received;
  const auto* initiator = plan.operation == plan::Operation::read ? receiver : sender;
  return initiator ? initiator->sent : std::nullopt;
}

/// An open loop times each message to its completion, which says that the other end's acknowledgement is back; only a
/// ping-pong is halved.
std::string meaning_of(const plan::Plan& plan, bool open_loop) {
  if (open_loop) return "round trip, from the intended send";
  const bool whole = plan.transport == plan::Transport::tcp || is_read_or_atomic(plan.operation);
  return whole ? "round trip, closed loop" : "half round trip, closed loop";
}

void take_latency(Measurement& m, const SideResult* client, const SideResult* server) {
  bool server_measures = (m.plan.direction == plan::Direction::from) != (m.plan.operation == plan::Operation::read);
  const auto* active = server_measures ? server : client;
  const auto* other = active == client ? server : client;
  for (const auto* side : {active, other}) {
    if (!side) continue;
    const auto& latency = side->loaded_latency ? side->loaded_latency : side->latency;
    if (!latency) continue;
    m.latency = latency;
    m.latency_meaning = meaning_of(m.plan, side->loaded_latency.has_value());
    return;
  }
}

bool counted(const std::optional<stats::ThroughputSummary>& flow) { return flow && flow->mean_gbit_per_s.value && flow->bytes > 0; }

/// Nothing that arrived is no rate: 0 Gbit/s in the record would read as measured.
bool has_figure(const Measurement& m) {
  return (m.latency && m.latency->samples > 0) || counted(m.throughput) || counted(m.throughput_reverse);
}

/// Also of the second direction, where there are two.
bool has_all_figures(const Measurement& m) {
  return has_figure(m) && (m.plan.direction != plan::Direction::both || (counted(m.throughput) && counted(m.throughput_reverse)));
}

/// Whose words: the host, or the role where both are on one.
std::string said_by(const Measurement& m, const std::string& role) {
  const auto* side = side_of(m, role.c_str());
  const bool one_host = m.sides.size() == 2 && m.sides[0].host == m.sides[1].host;
  return side == nullptr || side->host.empty() || one_host ? "the " + role : side->host;
}

/// The error that counts, and what the other side says if that is something else: the cause may lie there.
std::string words_of_both(const Measurement& m) {
  std::string text = fmt::format("{}: {}", said_by(m, m.error->side), m.error->text);
  for (const auto& side : m.sides)
    if (side.error && side.error->text != m.error->text) text += fmt::format("; {}: {}", said_by(m, side.role), side.error->text);
  return text;
}

}  // namespace

std::string await_result(Conversation& conversation, Deadline deadline) {
  while (!deadline.passed()) {
    auto message = conversation.wait(-1, deadline);
    if (!message) continue;
    if (message->type == control::MessageType::result) return std::move(message->body);
    if (message->type == control::MessageType::failure) control::throw_if_ended(*message, conversation.peer());
  }
  throw Error(ErrorKind::timeout, fmt::format("{} sent no result", conversation.peer()), ETIMEDOUT);
}

void conclude(Measurement& m) {
  const auto* client = side_of(m, "client");
  const auto* server = side_of(m, "server");
  if (m.plan.metric == plan::Metric::latency) {
    take_latency(m, client, server);
  } else {
    auto to = flow(m.plan, client, server);
    auto from = flow(m.plan, server, client);
    m.throughput = m.plan.direction == plan::Direction::from ? from : to;
    if (m.plan.direction == plan::Direction::both) m.throughput_reverse = from;
  }
  // Data that differ are the cause of what else there is: a message that arrived damaged is one that the other side misses.
  for (const bool data : {true, false})
    for (const auto& side : m.sides)
      if (side.error && !m.error && (!data || side.error->kind == name_of(ErrorKind::data))) m.error = side.error;
  if (m.error && m.error->side.empty()) m.error->side = "client";
  bool whole = !m.error && m.reason.empty() && has_all_figures(m);
  if (whole) {
    m.outcome = results::Outcome::done;
    return;
  }
  // What one side alone could count, its peer being gone, is kept.
  m.outcome = has_figure(m) ? results::Outcome::partial : results::Outcome::failed;
  if (!m.reason.empty()) return;
  m.reason = m.error            ? words_of_both(m)
             : has_figure(m)    ? "nothing was counted of one direction in the measured window"
                                : "nothing was counted in the measured window";
}

std::string live_text(const plan::Plan& plan, std::uint64_t count, Clock::duration time) {
  if (time <= Clock::duration::zero()) return "...";
  if (plan.metric == plan::Metric::bandwidth) return format_gbit_per_s(gbit_per_s(count, time));
  const double per_s = static_cast<double>(count) / std::chrono::duration<double>(time).count();
  if (plan.metric == plan::Metric::rate) return fmt::format("{:.2f} M messages/s", per_s / 1e6);
  return fmt::format("{:.0f} {}/s", per_s, plan.under_load ? "messages" : "round trips");
}

std::string headline_text(const Measurement& m) {
  if (!has_figure(m)) return m.reason.empty() ? "no figure" : m.reason;
  std::string mark = m.outcome == results::Outcome::partial ? "  (partial: " + m.reason + ")" : "";
  auto duration = [](const stats::Value& v) {
    return v.value ? format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(*v.value + 0.5))) : std::string("-");
  };
  if (m.latency) return fmt::format("p50 {}  p99 {}{}", duration(m.latency->p50_ns), duration(m.latency->p99_ns), mark);
  if (m.plan.metric == plan::Metric::rate && counted(m.throughput) && m.throughput->messages_per_s.value)
    return fmt::format("{:.2f} M messages/s{}", *m.throughput->messages_per_s.value / 1e6, mark);
  std::string text = counted(m.throughput) ? format_gbit_per_s(*m.throughput->mean_gbit_per_s.value) : "-";
  if (counted(m.throughput_reverse)) text += ", back " + format_gbit_per_s(*m.throughput_reverse->mean_gbit_per_s.value);
  return text + mark;
}

}  // namespace railgauge::bench
