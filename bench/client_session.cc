#include "bench/client_session.h"

#include <fmt/format.h>

#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "base/units.h"
#include "bench/byte_check.h"
#include "bench/headline.h"
#include "bench/signals.h"
#include "bench/supervise.h"
#include "results/json.h"

namespace railgauge::bench {
namespace {

using control::MessageType;

// For the server's half of a run that was cut short: it lets what is in flight drain first.
constexpr std::chrono::seconds kLastWords{10};
// How long the server may take to free what the last measurement used.
constexpr std::chrono::seconds kFarewell{3};

/// Shows how fast a run goes on: bytes of a bandwidth, messages of a rate, round trips of a latency.
class LiveRate {
 public:
  LiveRate(Progress& progress, const plan::Plan& plan) : progress_(progress), plan_(plan) {}
  void operator()(const RunControl& control) {
    const bool bytes = plan_.metric == plan::Metric::bandwidth;
    const auto count = (bytes ? control.live_bytes : control.live_messages).load(std::memory_order_relaxed);
    // Engines write at the ends of intervals, which may be longer than a tick: since the last change, not the last look.
    if (count != last_count_) {
      const auto now = Clock::now();
      text_ = live_text(plan_, count - last_count_, now - last_);
      last_count_ = count;
      last_ = now;
    }
    progress_.update(text_);
  }

 private:
  Progress& progress_;
  const plan::Plan& plan_;
  std::string text_ = "...";
  std::uint64_t last_count_ = 0;
  Clock::time_point last_ = Clock::now();
};

/// What a driver keeps is not waited for: the record must be written.
std::string left_behind_text(const plan::Plan& plan) {
  return fmt::format("what \"{}\" used on this host was not freed within {}: its driver hangs (see dmesg); the process may end only when it returns",
                     plan.label, format_duration(kReleaseBudget));
}

}  // namespace

ClientSession::ClientSession(control::Channel channel, const LocalHost& local) : conversation_(std::move(channel)), local_(local) {
  conversation_.send(MessageType::facts, results::node_to_json(local.node));
  server_ = results::node_from_json(conversation_.expect(MessageType::facts, Deadline::after(kStepBudget), "exchanging facts"));
  server_.role = "server";
}

results::Measurement ClientSession::measure(const plan::Plan& plan, Progress& progress) {
  results::Measurement measurement;
  measurement.plan = plan;
  measurement.started_utc = utc_now_text();
  auto begin = Clock::now();
  progress.begin(plan.label);
  const char* stage = "prepare";
  auto used = std::make_shared<Used>();
  try {
    prepare(*used, plan);
    stage = "connect";
    connect(*used);
    stage = "run";
    run(measurement, *used, progress);
  } catch (const Error& error) {
    give_up(measurement, error, stage);
  } catch (const std::exception& error) {
    give_up(measurement, error_from(error), stage);
  }
  if (!conversation_.release(std::move(used), Deadline::after(kReleaseBudget))) {
    const auto text = left_behind_text(plan);
    log_warning("{}", text);
    lost(text);
  }
  measurement.wall = Clock::now() - begin;
  if (stop_requested()) lost("stopped on this host (Ctrl-C, SIGTERM or SIGHUP)");
  progress.end(headline_text(measurement));
  return measurement;
}

void ClientSession::prepare(Used& p, const plan::Plan& plan) {
  const auto& ends = conversation_.endpoints();
  if (stop_requested()) throw stopped_here();
  const Standpoint at{plan, Side::client, local_.node.facts, server_.facts, ends.local_address, ends.peer_address};
  plan::validate(plan, default_limits(local_.node.facts, same_host()));
  lock(p, at);  // before anything is allocated or asked of the server
  server_ended_ = false;
  conversation_.forget_failure();
  conversation_.send(MessageType::prepare, results::plan_to_json(plan));
  conversation_.work([&] { p.engine = make_engine(at); });
  p.server_offer = control::offer_from_json(conversation_.expect(MessageType::prepared, Deadline::after(kStepBudget), "preparing"));
  conversation_.work([&] { p.own_offer = p.engine->offer(&p.server_offer); });
  p.path = used_path(plan, p.own_offer, local_.node.facts, ends.local_address);
  auto& paths = plan.transport == plan::Transport::rdma ? rdma_paths_ : tcp_paths_;
  paths = Paths{p.path, used_path(plan, p.server_offer, server_.facts, ends.peer_address)};
}

/// On one host, the server's lock speaks for both sides if both use one NIC: a second one would find the first.
void ClientSession::lock(Used& p, const Standpoint& at) const {
  const Nic nic = nic_of(at);
  if (same_host() && nic_of({at.plan, Side::server, at.peer, at.local, at.peer_address, at.local_address}).key == nic.key) return;
  p.lock.emplace(nic, fmt::format("a measurement against {}, pid {}", conversation_.peer(), getpid()),
                 Clock::now() + plan::expected_wall_time(at.plan));
}

void ClientSession::connect(Used& p) {
  conversation_.send(MessageType::connect, control::offer_to_json(p.own_offer));
  conversation_.work([&] { p.engine->connect(p.server_offer, Deadline::after(kConnectBudget)); }, [&] { p.engine->cancel_connect(); });
  conversation_.expect(MessageType::connected, Deadline::after(kStepBudget), "connecting");
  p.counters.emplace(local_.root, p.path);  // the server moves data as soon as it has said start
  conversation_.send(MessageType::start);
  conversation_.expect(MessageType::start, Deadline::after(kStepBudget), "starting");
}

void ClientSession::run(results::Measurement& m, const Used& p, Progress& progress) {
  auto deadline = Deadline::after(plan::expected_wall_time(m.plan) + kRunMargin);
  auto end = supervise(conversation_, {*p.engine, *p.counters}, {.until = deadline}, LiveRate(progress, m.plan));
  end.side.role = "client";
  end.side.host = local_.node.facts.hostname;
  check_bytes(end.transfers, same_host(), end.side);
  m.sides.push_back(std::move(end.side));
  if (end.interrupted) {
    m.outcome = results::Outcome::partial;
    m.reason = *end.interrupted;
  }
  server_ended_ = end.peer_failed;
  if (end.peer_left) lost(*end.interrupted);
  if (!conversation_.broken() && !server_ended_) {
    // A wish to stop must not cut off the server's half of what was measured.
    auto result = end.peer_result ? *end.peer_result : await_result(conversation_, deadline.passed() ? Deadline::after(kLastWords) : deadline);
    server_ended_ = true;
    m.sides.push_back(results::side_result_from_json(result));
    m.sides.back().role = "server";
  }
  if (conversation_.broken()) lost(end.interrupted.value_or("the connection to " + conversation_.peer() + " is lost"));
  conclude(m);
}

void ClientSession::give_up(results::Measurement& m, const Error& error, const char* stage) {
  bool measured = !m.sides.empty();
  m.outcome = measured ? results::Outcome::partial : error.kind() == ErrorKind::unsupported ? results::Outcome::skipped : results::Outcome::failed;
  // What the server said, and what is wrong with it, begins with its address.
  const bool of_server = std::string_view(error.what()).starts_with(conversation_.peer());
  m.reason = of_server ? error.what() : fmt::format("{}: {}", same_host() ? "the client" : local_.node.facts.hostname, error.what());
  m.error = results::ErrorInfo{name_of(error.kind()), error.code(), stage, "client", error.what()};
  if (measured) conclude(m);
  auto said = settle_with_server(error, stage);
  // Both gave up by themselves: "connection refused" here may be "too many open files" there.
  if (said && said->find(error.what()) == std::string::npos) m.reason += fmt::format("; {} says: {}", conversation_.peer(), *said);
}

/// Tells the server and reads until its result or failure, so that the next measurement starts from a clean channel. Its
/// words, if it failed: an echo of ours unless it had failed by itself.
std::optional<std::string> ClientSession::settle_with_server(const Error& error, const char* stage) {
  if (conversation_.broken()) lost(error.what());
  if (conversation_.broken() || server_ended_ || conversation_.peer_failed()) return std::nullopt;
  try {
    conversation_.send(MessageType::failure, control::to_json(control::Failure{error.kind(), error.code(), stage, error.what()}));
    auto deadline = Deadline::after(kStepBudget);
    while (!deadline.passed()) {
      auto message = conversation_.wait(-1, deadline);
      if (!message) continue;
      if (message->type == MessageType::failure) return control::failure_from_json(message->body).text;
      if (message->type == MessageType::result) return std::nullopt;
      if (!control::ends_conversation(message->type)) continue;
      lost(conversation_.peer() + " ended the conversation");
      return std::nullopt;
    }
    lost(conversation_.peer() + " did not end the failed measurement");
  } catch (const Error& gone) {
    lost(gone.what());
  }
  return std::nullopt;
}

void ClientSession::lost(const std::string& why) {
  if (usable_) end_reason_ = why;
  usable_ = false;
}

void ClientSession::close() noexcept {
  if (conversation_.broken()) return;
  try {
    conversation_.send(MessageType::bye);
    // Until the server has hung up: whoever calls next, a loop in a shell perhaps, must not find it busy with us.
    auto deadline = Deadline::after(kFarewell);
    while (!deadline.passed() && !stop_requested()) conversation_.wait(-1, deadline);
  } catch (const std::exception&) {
    // The server has hung up, or is gone: it notices the closed socket as well.
  }
}

}  // namespace railgauge::bench
