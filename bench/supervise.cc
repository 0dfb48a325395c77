#include "bench/supervise.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "bench/signals.h"
#include "control/heartbeat.h"

namespace railgauge::bench {
namespace {

// How often the supervisor looks whether the engine's active part is done; a run's end is late by at most this.
constexpr std::chrono::milliseconds kTick{10};
constexpr int kTicksPerUpdate = 10;

/// The supervisor's view of one run.
class Watch {
 public:
  Watch(Conversation& conversation, RunControl& control, RunEnd& end) : conversation_(conversation), control_(control), end_(end) {}

  void tick(int finished_fd, const RunLimit& limit) {
    if (stop_requested() && !control_.stop) halt("stopped on this host (Ctrl-C, SIGTERM or SIGHUP)", "Ctrl-C, SIGTERM or SIGHUP there");
    if (limit.until.passed() && !control_.stop) halt(limit.reason, limit.reason);
    if (control_.active_done && !told_) {
      told_ = true;
      conversation_.send(control::MessageType::done, control::to_json(control::Done{control_.completed}));
    }
    auto message = conversation_.wait(finished_fd, Deadline::after(kTick));
    if (message) take(*message);
  }

  /// `tell_peer` is the reason as the peer should read it; empty: the peer knows.
  void halt(const std::string& why, const std::string& tell_peer) {
    if (!end_.interrupted) end_.interrupted = why;
    control_.stop = true;
    if (!tell_peer.empty()) conversation_.send(control::MessageType::stop, control::to_json(control::Stop{tell_peer}));
  }

 private:
  void take(control::Message& message) {
    switch (message.type) {
      case control::MessageType::done:
        if (!control_.peer_done) control_.peer_completed = control::done_from_json(message.body).completed;
        control_.peer_done = true;
        return;
      case control::MessageType::result:
        end_.peer_result = std::move(message.body);
        control_.peer_done = true;
        // It has ended before this side has: it failed, and what it owes does not come any more. Its error says why.
        if (!control_.active_done) control_.stop = true;
        return;
      default: break;
    }
    if (!control::ends_conversation(message.type)) return;
    (message.type == control::MessageType::failure ? end_.peer_failed : end_.peer_left) = true;
    try {
      control::throw_if_ended(message, conversation_.peer());
    } catch (const Error& error) {
      halt(error.what(), {});
    }
  }

  Conversation& conversation_;
  RunControl& control_;
  RunEnd& end_;
  bool told_ = false;
};

void read_counters(const CounterWatch& counters, results::SideResult& side) noexcept {
  try {
    counters.tell(side);
  } catch (const std::exception& error) {
    side.warnings.push_back(fmt::format("the NIC counters after the run could not be read: {}", error.what()));
  }
}

}  // namespace

RunEnd supervise(Conversation& conversation, const RunPart& part, const RunLimit& limit, const std::function<void(const RunControl&)>& on_tick) {
  RunEnd end;
  RunControl control;
  control::WakeEvent finished;
  std::thread runner([&] {
    end.side = part.engine.run(control);
    read_counters(part.counters, end.side);
    finished.set();
  });
  Watch watch(conversation, control, end);
  try {
    for (int ticks = 0; !finished.is_set(); ++ticks) {
      watch.tick(finished.fd(), limit);
      if (on_tick && ticks % kTicksPerUpdate == 0) on_tick(control);
    }
    // The engine may have ended its active part and returned between two ticks.
    watch.tick(finished.fd(), limit);
  } catch (const std::exception& lost) {
    if (!end.interrupted) end.interrupted = lost.what();
    control.stop = true;
  }
  runner.join();
  end.transfers = control.transfers;
  return end;
}

}  // namespace railgauge::bench
