#include "bench/server_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/log.h"
#include "base/units.h"
#include "bench/measured_path.h"
#include "bench/nic_lock.h"
#include "bench/signals.h"
#include "bench/byte_check.h"
#include "bench/supervise.h"
#include "results/json.h"

namespace railgauge::bench {
namespace {

using control::MessageType;

constexpr std::chrono::seconds kIdleBudget{120};

control::Failure failure_of(const Error& error, const char* stage) {
  return {.kind = error.kind(), .code = error.code(), .stage = stage, .text = error.what()};
}

/// One measurement on the server's side. `stage` says how far it came, for the failure message. Its end frees what it used,
/// beating, so that the client does not take a slow driver for a dead server.
class ServedMeasurement {
 public:
  ServedMeasurement(Conversation& conversation, const LocalHost& local, const host::Snapshot& client, const plan::Limits& limits, const SetBusy& set_busy)
      : conversation_(conversation), local_(local), client_(client), limits_(limits), set_busy_(set_busy) {}
  ServedMeasurement(const ServedMeasurement&) = delete;
  ServedMeasurement& operator=(const ServedMeasurement&) = delete;
  ~ServedMeasurement() {
    if (!conversation_.release(std::move(used_), Deadline::after(kReleaseBudget)))
      log_warning("what the measurement for {} used was not freed within {}: its driver hangs (see dmesg), and until it returns the NIC stays busy",
                  conversation_.peer(), format_duration(kReleaseBudget));
  }

  void run(const std::string& plan_text) {
    auto plan = plan_from(plan_text);
    set_busy_(plan.label, Clock::now() + plan::expected_wall_time(plan, limits_));
    prepare(plan);
    connect();
    measure(plan);
  }
  const char* stage() const { return stage_; }

 private:
  plan::Plan plan_from(const std::string& text) const {
    auto plan = results::plan_from_json(text);
    plan::validate(plan, limits_);
    return plan;
  }

  /// Nobody knows beforehand how long a run by count takes, so that it is stopped at the limit.
  RunLimit limit_of(const plan::Plan& plan) const {
    const auto sure = plan::expected_wall_time(plan, limits_) + kRunMargin;
    const auto allowed = plan.warm_up + limits_.max_duration;
    if (!plan.iterations || sure <= allowed) return {.until = Deadline::after(sure)};
    return {.until = Deadline::after(allowed),
            .reason = fmt::format("--iterations {} take longer than the {} that this server allows (serve --max-duration): use fewer, or --duration",
                                  *plan.iterations, format_duration(limits_.max_duration))};
  }

  void prepare(const plan::Plan& plan) {
    const auto& ends = conversation_.endpoints();
    const Standpoint at{plan, Side::server, local_.node.facts, client_, ends.local_address, ends.peer_address};
    same_host_ = one_host(at);
    // Before the engine takes memory and QPs that the measurement under way may need.
    used_->lock.emplace(nic_of(at),
                        fmt::format("a measurement for {}, pid {}", conversation_.peer(), getpid()), Clock::now() + plan::expected_wall_time(plan, limits_));
    transport::Offer offer;
    conversation_.work([&] {
      used_->engine = make_engine(at);
      offer = used_->engine->offer(nullptr);
    });
    path_ = used_path(plan, offer, local_.node.facts, ends.local_address);
    conversation_.send(MessageType::prepared, control::offer_to_json(offer));
  }

  void connect() {
    stage_ = "connect";
    auto peer_offer = control::offer_from_json(conversation_.expect(MessageType::connect, Deadline::after(kStepBudget), "preparing"));
    conversation_.work([&] { used_->engine->connect(peer_offer, Deadline::after(kConnectBudget)); }, [&] { used_->engine->cancel_connect(); });
    conversation_.send(MessageType::connected);
  }

  void measure(const plan::Plan& plan) {
    stage_ = "run";
    conversation_.expect(MessageType::start, Deadline::after(kStepBudget), "connecting");
    const CounterWatch counters(local_.root, path_);
    conversation_.send(MessageType::start);
    auto end = supervise(conversation_, {*used_->engine, counters}, limit_of(plan), {});
    if (conversation_.broken()) throw Error(ErrorKind::peer, end.interrupted.value_or("the connection is lost"));
    end.side.role = "server";
    end.side.host = local_.node.facts.hostname;
    check_bytes(end.transfers, same_host_, end.side);
    if (end.interrupted) end.side.warnings.push_back("cut short: " + *end.interrupted);
    conversation_.send(MessageType::result, results::side_result_to_json(end.side));
  }

  Conversation& conversation_;
  const LocalHost& local_;
  const host::Snapshot& client_;
  const plan::Limits& limits_;
  const SetBusy& set_busy_;
  const char* stage_ = "prepare";
  host::UsedPath path_;
  bool same_host_ = false;
  struct Used {
    std::optional<NicLock> lock;
    std::unique_ptr<Engine> engine;     ///< gone before the lock
  };
  std::shared_ptr<Used> used_ = std::make_shared<Used>();
};

/// What fails alike in one measurement after the other of a client is said once, and at the end how often.
class FailureLog {
 public:
  explicit FailureLog(const std::string& peer) : peer_(peer) {}
  FailureLog(const FailureLog&) = delete;
  FailureLog& operator=(const FailureLog&) = delete;
  ~FailureLog() { say_repeats(); }
  void failed(const char* stage, const char* what) {
    std::string text = fmt::format("{} failed: {}", stage, what);
    if (text == last_) {
      ++repeats_;
      return;
    }
    say_repeats();
    log_warning("{}: {}", peer_, text);
    last_ = std::move(text);
  }

 private:
  void say_repeats() {
    if (repeats_ > 0) log_warning("{}: the same {} more", peer_, repeats_ == 1 ? "once" : fmt::format("{} times", repeats_));
    repeats_ = 0;
  }
  const std::string peer_;
  std::string last_;
  int repeats_ = 0;
};

void serve_measurement(Conversation& conversation, const LocalHost& local, const host::Snapshot& client, const plan::Limits& limits, const SetBusy& set_busy,
                       const std::string& plan_text, FailureLog& log) {
  ServedMeasurement measurement(conversation, local, client, limits, set_busy);
  try {
    measurement.run(plan_text);
  } catch (const Error& error) {
    if (conversation.broken()) throw;
    log.failed(measurement.stage(), error.what());
    conversation.send(MessageType::failure, control::to_json(failure_of(error, measurement.stage())));
  } catch (const std::exception& error) {
    if (conversation.broken()) throw;
    conversation.send(MessageType::failure, control::to_json(failure_of(error_from(error), measurement.stage())));
  }
}

/// This host as it is now. A client must not wait for facts that cannot be had.
LocalHost introduce(Conversation& conversation, const ReadHost& read_host) {
  std::optional<LocalHost> local;
  try {
    conversation.work([&] { local = read_host(); });
  } catch (const std::exception& error) {
    if (!conversation.broken()) conversation.send(MessageType::failure, control::to_json(failure_of(error_from(error), "control")));
    throw;
  }
  conversation.send(MessageType::facts, results::node_to_json(local->node));
  return std::move(*local);
}

/// The client must hear why it is turned away.
results::Node facts_of_client(Conversation& conversation) {
  const auto facts = conversation.expect(MessageType::facts, Deadline::after(kStepBudget), "introducing itself");
  try {
    return results::node_from_json(facts);
  } catch (const Error& error) {
    conversation.send(MessageType::failure, control::to_json(failure_of(error, "control")));
    throw;
  }
}

}  // namespace

void serve_client(Conversation& conversation, const ReadHost& read_host, const plan::Limits& limits, const SetBusy& set_busy) {
  auto client = facts_of_client(conversation);
  log_info("serving {} ({})", printable(client.facts.hostname), conversation.peer());
  const LocalHost local = introduce(conversation, read_host);
  FailureLog log(conversation.peer());
  while (true) {
    auto message = conversation.next(Deadline::after(kIdleBudget));
    if (!message) {
      auto why = stop_requested() ? "the server was stopped" : "no measurement was asked for in 120 s";
      conversation.send(MessageType::stop, control::to_json(control::Stop{why}));
      return;
    }
    switch (message->type) {
      case MessageType::prepare: serve_measurement(conversation, local, client.facts, limits, set_busy, message->body, log); break;
      case MessageType::bye: return;
      default: break;  // left over from a measurement that failed on this side: its client learns that from our failure
    }
    if (stop_requested()) return conversation.send(MessageType::stop, control::to_json(control::Stop{"the server was stopped"}));
  }
}

}  // namespace railgauge::bench
