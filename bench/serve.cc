#include "bench/serve.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <memory>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bench/arguments.h"
#include "bench/connection_options.h"
#include "bench/signals.h"
#include "control/token.h"

namespace railgauge::bench {
namespace {

struct ServeOptions {
  std::string bind;
  std::uint16_t port = control::kDefaultPort;
  std::string token;
  std::string token_file;
  bool open = false;
  std::uint64_t max_runs = 0;
  std::string idle_exit;
  std::string max_memory;
  std::string max_duration;
  std::string sysroot;
};

std::chrono::nanoseconds above_zero(const char* option, const std::string& text) {
  auto duration = parse_duration(text, option);
  if (duration <= std::chrono::nanoseconds::zero()) throw Error(ErrorKind::usage, fmt::format("{} {}: use more than 0, or leave it out", option, text));
  return duration;
}

plan::Limits limits_of(const ServeOptions& options, const host::Snapshot& facts) {
  auto limits = default_limits(facts, false);
  if (!options.max_memory.empty()) limits.max_memory_bytes = parse_size(options.max_memory, "--max-memory");
  if (limits.max_memory_bytes == 0) throw Error(ErrorKind::usage, "--max-memory 0 lets nobody measure: use more, or leave it out");
  if (!options.max_duration.empty()) limits.max_duration = above_zero("--max-duration", options.max_duration);
  return limits;
}

/// The token in force, for as long as this process serves: a host is checked more than once. Empty: none, which only --open
/// brings about. One of its own making unless one is given.
std::string token_of(const ServeOptions& options, const std::optional<std::string>& given) {
  if (options.open && (!options.token.empty() || !options.token_file.empty()))
    throw Error(ErrorKind::usage, "--open means no token: leave out either it or the token");
  if (options.open) {
    if (given) log_warning("--open: the token in RAILGAUGE_TOKEN is not asked for");
    log_warning("no token (--open): whoever reaches the port may start measurements");
    return {};
  }
  if (!given) return control::make_token();
  if (auto weakness = control::weakness_of(*given)) log_warning("token: {}", *weakness);
  return *given;
}

/// How the other host calls this one: by the address listened on, or by the host's name where that is any.
std::string call_name(const control::Acceptor& acceptor, const std::string& host) {
  std::string first = acceptor.addresses().front();
  first.resize(first.rfind(':'));
  const bool bracketed = first.size() > 2 && first.front() == '[';
  if (bracketed) first = first.substr(1, first.size() - 2);
  return first == "::" || first == "0.0.0.0" ? host : first;
}

/// The one thing serve says on stdout: where it listens and how to call it.
void print_invitation(const control::Acceptor& acceptor, const std::string& host, const std::string& token, bool token_is_new) {
  std::string where;
  for (const auto& address : acceptor.addresses()) where += (where.empty() ? "" : ", ") + address;
  fmt::print("railgauge serves on {}\n", where);
  std::string call = call_name(acceptor, host);
  std::string port = acceptor.port() == control::kDefaultPort ? "" : fmt::format(" --port {}", acceptor.port());
  if (token_is_new) fmt::print("token  {}  (for this run of serve)\n", token);
  if (token.empty()) {
    fmt::print("on the other host:  railgauge check {}{}\n", call, port);
  } else if (token_is_new) {
    fmt::print("on the other host:  RAILGAUGE_TOKEN={} railgauge check {}{}\n", token, call, port);
  } else {
    fmt::print("on the other host:  railgauge check {}{} --token-file FILE\n", call, port);
  }
  if (std::fflush(stdout) != 0 && token_is_new) throw Error(ErrorKind::system, "stdout did not take the token: nobody could connect");
}

std::uint64_t run_serve(const ServeOptions& options) {
  auto given = resolve_token(options.token, options.token_file);
  auto idle = options.idle_exit.empty() ? Clock::duration::zero() : Clock::duration(above_zero("--idle-exit", options.idle_exit));
  std::string token = token_of(options, given);
  const auto read_host = [&] {
    auto local = read_local_host(options.sysroot, command_line());
    local.node.role = "server";
    return local;
  };
  const auto facts = read_host().node.facts;
  const auto limits = limits_of(options, facts);
  control::AcceptorOptions door;
  door.bind = options.bind;
  door.port = options.port;
  door.token = token;
  door.open = options.open;
  control::Acceptor acceptor(door);
  print_invitation(acceptor, facts.hostname, token, !given && !token.empty());
  return serve_clients(acceptor, read_host, limits, options.max_runs, idle);
}

void serve_one(control::Acceptor& acceptor, control::Channel channel, const ReadHost& read_host, const plan::Limits& limits) {
  Conversation conversation(std::move(channel));
  try {
    serve_client(conversation, read_host, limits, [&](const std::string& what, Clock::time_point until) { acceptor.set_busy(what, until); });
    log_info("{} is done", conversation.peer());
  } catch (const std::exception& error) {
    log_warning("{}: {}", conversation.peer(), error.what());
  }
  // Before the channel closes: a client that waits for that is free to call again at once.
  acceptor.set_idle();
}

}  // namespace

std::uint64_t serve_clients(control::Acceptor& acceptor, const ReadHost& read_host, const plan::Limits& limits,
                            std::uint64_t max_clients, Clock::duration idle_exit) {
  std::uint64_t served = 0;
  auto idle_since = Clock::now();
  while (!stop_requested() && (max_clients == 0 || served < max_clients)) {
    std::array<int, 1> wake{stop_fd()};
    auto until = idle_exit.count() > 0 ? Deadline(idle_since + idle_exit) : Deadline::after(std::chrono::hours(1));
    auto channel = acceptor.next(until, wake);
    if (!channel) {
      if (idle_exit.count() > 0 && until.passed()) break;
      continue;
    }
    serve_one(acceptor, std::move(*channel), read_host, limits);
    ++served;
    idle_since = Clock::now();
  }
  return served;
}

LoopbackServer::LoopbackServer(const LocalHost& local)
    : local_(local), token_(control::make_token()), acceptor_([&] {
        control::AcceptorOptions door;
        door.bind = "127.0.0.1";
        door.port = 0;
        door.token = token_;
        return door;
      }()) {
  local_.node.role = "server";
  thread_ = std::thread([this] {
    std::array<int, 2> wake{stop_fd(), quit_.fd()};
    auto channel = acceptor_.next(Deadline::after(std::chrono::seconds(60)), wake);
    if (channel) serve_one(acceptor_, std::move(*channel), [this] { return local_; }, default_limits(local_.node.facts, true));
  });
}

LoopbackServer::~LoopbackServer() {
  quit_.set();
  thread_.join();
}

void add_serve_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  auto* c = app.add_subcommand("serve", "Wait for the other host's measurements (run this on B)");
  c->add_option("--bind", options->bind, "address to listen on (default: all with a token, else loopback)");
  c->add_option("--port", options->port, "control port; 0: any free one")->check(CLI::Range(0, 65535))->capture_default_str();
  c->add_option("--token", options->token, "shared token; better --token-file or RAILGAUGE_TOKEN: others see a command line");
  c->add_option("--token-file", options->token_file, "file whose first line is the token");
  c->add_flag("--open", options->open, "no token: only on loopback or a network you trust");
  c->add_option("--max-runs", options->max_runs, "end after so many clients");
  c->add_option("--idle-exit", options->idle_exit, "end when nobody came for so long: 10m");
  c->add_option("--max-memory", options->max_memory, "most buffer memory a client may ask for (default: half of this host's, 64G at most)");
  c->add_option("--max-duration", options->max_duration, "longest measurement (default 24h); one by count is stopped when it takes longer");
  add_sysroot_option(*c, options->sysroot, "Options");
  c->footer(
      "Examples:\n"
      "  railgauge serve                          prints a token for this run of serve\n"
      "  railgauge serve --bind 10.0.0.2 --token-file /etc/railgauge.token\n"
      "  railgauge serve --open --bind 127.0.0.1 --port 0 --max-runs 1\n");
  c->callback([options, &exit_code] {
    run_serve(*options);
    exit_code = 0;
  });
}

}  // namespace railgauge::bench
