#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "bench/local_host.h"
#include "bench/server_session.h"
#include "control/acceptor.h"
#include "control/heartbeat.h"
#include "plan/plan.h"

namespace CLI {
class App;
}

namespace railgauge::bench {

/// Adds `railgauge serve`.
void add_serve_command(CLI::App& app, int& exit_code);

/// Serves client after client until the user asks to stop, `max_clients` (0: no limit) have been served, or nobody came
/// for `idle_exit` (zero: no limit). Returns the number served. Bad clients are logged and end only their own talk.
std::uint64_t serve_clients(control::Acceptor& acceptor, const ReadHost& read_host, const plan::Limits& limits,
                            std::uint64_t max_clients, Clock::duration idle_exit);

/// The server of `check --self`: listens on loopback with a token of its own and serves one client on a thread.
class LoopbackServer {
 public:
  explicit LoopbackServer(const LocalHost& local);
  /// Waits for the client's talk to end; its channel must be closed by then.
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  std::uint16_t port() const { return acceptor_.port(); }
  const std::string& token() const { return token_; }

 private:
  LocalHost local_;
  std::string token_;
  control::WakeEvent quit_;
  control::Acceptor acceptor_;
  std::thread thread_;
};

}  // namespace railgauge::bench
