#include "bench/client_run.h"

#include <fmt/format.h>

#include <memory>

#include "base/env.h"
#include "base/log.h"
#include "bench/arguments.h"
#include "bench/client_session.h"
#include "bench/evaluate.h"
#include "bench/path_failures.h"
#include "bench/publish.h"
#include "bench/serve.h"
#include "bench/signals.h"
#include "control/connect.h"
#include "results/provenance.h"
#include "results/write.h"

namespace railgauge::bench {
namespace {

results::Record new_record(const std::string& subcommand, const ClientOptions& options, const LocalHost& local) {
  results::Record record;
  record.schema = results::kSchemaId;
  record.run_id = results::new_run_id();
  record.subcommand = subcommand;
  record.started_utc = utc_now_text();
  record.peer = options.self ? "(self)" : options.host;
  record.nodes.push_back(local.node);
  return record;
}

control::Channel call(const ClientOptions& options, const LoopbackServer* own_server) {
  control::ClientOptions target;
  target.host = own_server ? "127.0.0.1" : options.host;
  target.port = own_server ? own_server->port() : options.port;
  target.token = own_server ? own_server->token() : options.token;
  target.cancel_fd = stop_fd();
  return control::connect_client(target, Deadline::after(options.connect_timeout));
}

results::Measurement left_out(const plan::Plan& plan, const std::string& reason, Progress& progress) {
  progress.begin(plan.label);
  progress.end(reason);
  return skipped(plan, reason);
}

void measure_all(results::Record& record, ClientSession& session, Work work, const ClientOptions& options) {
  Progress progress(work.tasks.size(), options.quiet);
  PathFailures failures;
  std::move(work.skipped.begin(), work.skipped.end(), std::back_inserter(record.measurements));
  for (const auto& task : work.tasks) {
    if (!session.usable()) break;
    if (auto why = failures.why_not(task.plan)) {
      record.measurements.push_back(left_out(task.plan, *why, progress));
      continue;
    }
    auto measurement = session.measure(task.plan, progress);
    failures.note(measurement);
    if (!task.adapted.empty() && !measurement.sides.empty()) measurement.sides.front().choices.push_back(task.adapted);
    evaluate(measurement, record, session, options);
    record.measurements.push_back(std::move(measurement));
  }
  if (!session.usable()) {
    record.outcome = results::Outcome::partial;
    record.warnings.push_back("cut short: " + session.end_reason());
  }
  // Again, since the cause of one may lie in what was measured after it: a round trip that a depth does not fill.
  for (auto& measurement : record.measurements)
    if (!measurement.sides.empty()) evaluate(measurement, record, session, options);
  note_differences(record, session);
}

/// `stage` says how far it came, in the words of results::ErrorInfo.
void converse(results::Record& record, const ClientOptions& options, const LocalHost& local, const WorkMaker& make_work, const char*& stage) {
  std::unique_ptr<LoopbackServer> own_server;
  if (options.self) own_server = std::make_unique<LoopbackServer>(local);
  stage = "connect";
  auto channel = call(options, own_server.get());
  stage = "control";
  ClientSession session(std::move(channel), local);
  record.nodes.push_back(session.server());
  record.same_host = session.same_host();
  stage = "prepare";
  auto work = make_work(record.nodes[0], record.nodes[1]);
  stage = "run";
  measure_all(record, session, std::move(work), options);
  session.close();
}

/// Whatever ended the run, what was measured until then is kept.
void note_error(results::Record& record, const Error& error, const char* stage) {
  record.error = results::ErrorInfo{name_of(error.kind()), error.code(), stage, "client", error.what()};
  record.outcome = record.measurements.empty() ? results::Outcome::failed : results::Outcome::partial;
  log_error("{}", error.what());
}

}  // namespace

results::Measurement skipped(const plan::Plan& plan, const std::string& reason) {
  results::Measurement m;
  m.plan = plan;
  m.started_utc = utc_now_text();
  m.outcome = results::Outcome::skipped;
  m.reason = reason;
  m.expectation.reason = "not measured";
  m.verdict.word = results::VerdictWord::skipped;
  m.verdict.criterion = "none";
  m.verdict.cause = reason;
  return m;
}

int run_client(const std::string& subcommand, const ClientOptions& options, const WorkMaker& make_work) {
  bool to_file = !options.json || !options.output.empty();
  if (to_file) results::check_output(options.output);
  auto local = read_local_host(options.sysroot, command_line());
  local.node.role = "client";
  auto record = new_record(subcommand, options, local);
  auto begin = Clock::now();
  const char* stage = "prepare";
  try {
    converse(record, options, local, make_work, stage);
  } catch (const Error& error) {
    note_error(record, error, stage);
  } catch (const std::exception& error) {
    note_error(record, error_from(error), stage);
  }
  record.wall = Clock::now() - begin;
  conclude_record(record);
  return publish(record, options, to_file);
}

}  // namespace railgauge::bench
