#include "bench/evaluate.h"

#include <algorithm>

#include "base/units.h"
#include "host/differences.h"
#include "rates/expect.h"
#include "report/judge.h"

namespace railgauge::bench {
namespace {

using results::Measurement;
using results::Record;

rates::RdmaOperation operation_of(plan::Operation operation) {
  switch (operation) {
    case plan::Operation::write_imm: return rates::RdmaOperation::write_imm;
    case plan::Operation::read: return rates::RdmaOperation::read;
    case plan::Operation::send: return rates::RdmaOperation::send;
    case plan::Operation::fetch_add:
    case plan::Operation::compare_swap: return rates::RdmaOperation::atomic;
    default: return rates::RdmaOperation::write;
  }
}

rates::Flow flow_of(plan::Direction direction) {
  switch (direction) {
    case plan::Direction::from: return rates::Flow::to_client;
    case plan::Direction::both: return rates::Flow::both;
    default: return rates::Flow::to_server;
  }
}

/// The smaller of what both sides report as in effect; nothing if neither does.
std::optional<int> smaller(const Measurement& m, std::optional<int> results::SideResult::* figure) {
  std::optional<int> out;
  for (const auto& side : m.sides)
    if (side.*figure) out = std::min(out.value_or(*(side.*figure)), *(side.*figure));
  return out;
}

std::optional<double> user_rate(const ClientOptions& options) {
  if (options.link_gbit_per_s.empty()) return std::nullopt;
  return parse_rate_gbit_per_s(options.link_gbit_per_s);
}

rates::Expectation no_expectation(const std::string& reason) {
  rates::Expectation none;
  none.reason = reason;
  return none;
}

rates::Expectation expect_rdma(const Measurement& m, const Record& record, const ClientSession::Paths& paths, const ClientOptions& options) {
  auto end = [&](std::size_t node, const host::UsedPath& path) {
    auto out = rates::rdma_end(record.nodes[node].facts, path.device.value_or(""), path.port, path.gid_index);
    out.link_gbit_per_s = user_rate(options);
    return out;
  };
  rates::RdmaQuestion question;
  question.operation = operation_of(m.plan.operation);
  question.message_bytes = m.plan.message_bytes;
  question.path_mtu_bytes = smaller(m, &results::SideResult::path_mtu_bytes);
  question.flow = flow_of(m.plan.direction);
  question.qps = m.plan.rdma.qps * m.plan.threads;
  question.grh = paths.client.gid_index.has_value();
  question.message_rate = m.plan.metric == plan::Metric::rate;
  question.asked_gbit_per_s = m.plan.rdma.rate_limit_gbit_per_s;
  return rates::expect_rdma(question, end(0, paths.client), end(1, paths.server));
}

rates::Expectation expect_tcp(const Measurement& m, const Record& record, const ClientSession& session, const ClientSession::Paths& paths,
                              const ClientOptions& options) {
  if (!paths.client.netdev || !paths.server.netdev) return no_expectation("the interface of the connection is not known");
  auto end = [&](std::size_t node, const host::UsedPath& path) {
    auto out = rates::tcp_end(record.nodes[node].facts, *path.netdev);
    out.link_gbit_per_s = user_rate(options);
    return out;
  };
  rates::TcpQuestion question;
  question.ipv6 = session.endpoints().peer_address.find(':') != std::string::npos;
  question.flow = flow_of(m.plan.direction);
  question.streams = m.plan.streams;
  question.mss_bytes = smaller(m, &results::SideResult::mss_bytes);
  question.asked_gbit_per_s = m.plan.tcp.pacing_gbit_per_s;
  return rates::expect_tcp(question, end(0, paths.client), end(1, paths.server));
}

rates::Expectation expectation_of(const Measurement& m, const Record& record, const ClientSession& session, const ClientOptions& options) {
  if (m.plan.metric == plan::Metric::latency) return no_expectation("latency has no computed expectation");
  const auto& paths = m.plan.transport == plan::Transport::rdma ? session.rdma_paths() : session.tcp_paths();
  if (!paths) return no_expectation("the path was never known");
  try {
    return m.plan.transport == plan::Transport::rdma ? expect_rdma(m, record, *paths, options)
                                                     : expect_tcp(m, record, session, *paths, options);
  } catch (const Error& error) {
    return no_expectation(error.what());
  }
}

report::Thresholds thresholds_of(const ClientOptions& options) {
  report::Thresholds thresholds;
  if (!options.require_rate.empty()) thresholds.required_gbit_per_s = parse_rate_gbit_per_s(options.require_rate);
  auto microseconds = [](const std::string& text) {
    return text.empty() ? std::optional<double>() : static_cast<double>(parse_duration(text).count()) / 1e3;
  };
  thresholds.allowed_p50_us = microseconds(options.require_p50);
  thresholds.allowed_p99_us = microseconds(options.require_p99);
  return thresholds;
}

}  // namespace

void evaluate(Measurement& m, const Record& record, const ClientSession& session, const ClientOptions& options) {
  m.expectation = expectation_of(m, record, session, options);
  m.verdict = report::judge(m, record, thresholds_of(options));
}

void note_differences(Record& record, const ClientSession& session) {
  auto add = [&](const std::optional<ClientSession::Paths>& paths) {
    if (!paths || record.nodes.size() < 2) return;
    for (auto& d : host::differences(record.nodes[0].facts, paths->client, record.nodes[1].facts, paths->server))
      if (std::find(record.differences.begin(), record.differences.end(), d) == record.differences.end())
        record.differences.push_back(std::move(d));
  };
  add(session.rdma_paths());
  add(session.tcp_paths());
}

void conclude_record(Record& record) {
  for (const auto& m : record.measurements)
    for (const auto& side : m.sides) {
      record.simulated |= side.simulated;
      record.software_device |= side.software_device;
    }
  record.verdict = report::overall(record);
  record.exit_code = static_cast<int>(report::exit_code(record));
}

}  // namespace railgauge::bench
