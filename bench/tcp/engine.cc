// The TCP measurement: one side's connections, flows and round trip, and what they say.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/units.h"
#include "bench/engine.h"
#include "bench/tcp/flow.h"
#include "bench/tcp/links.h"
#include "bench/tcp/ping.h"
#include "bench/tcp/placement.h"
#include "control/heartbeat.h"
#include "tcp/data_listener.h"

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Metric;

/// What the streams beside a round trip send at a time: the block that moved most on loopback (flow.cc).
constexpr std::uint64_t kLoadBlockBytes = 1 << 20;

class TcpEngine final : public Engine {
 public:
  explicit TcpEngine(const Standpoint& at)
      : plan_(at.plan),
        side_(at.side),
        local_address_(at.local_address),
        peer_address_(at.peer_address),
        cpus_(place_tcp_threads(at.plan, at.side, at.local, at.local_address)) {
    if (plan_.metric == Metric::latency && plan_.streams > 1 && !plan_.under_load) {
      throw Error(ErrorKind::usage, fmt::format("--streams {}: a round trip uses one connection; streams beside it need --under-load", plan_.streams));
    }
    if (side_ == Side::server) listener_.emplace(tcp::endpoint_from(local_address_, 0), settings_of(plan_, side_));
  }

  transport::Offer offer(const transport::Offer*) override {
    transport::Offer offer;
    if (!listener_) return offer;
    offer.data_addresses = {local_address_};
    offer.data_port = listener_->port();
    offer.data_nonce = listener_->nonce();
    return offer;
  }

  void connect(const transport::Offer& peer, Deadline deadline) override {
    if (side_ == Side::server) {
      links_ = accept_links(plan_, *listener_, deadline, cancelled_.fd());
      listener_.reset();
    } else {
      connect_to_server(peer, deadline);
    }
    if (!links_.to_server.empty()) to_server_.emplace(flow_setup(links_.to_server, side_ == Side::client));
    if (!links_.to_client.empty()) to_client_.emplace(flow_setup(links_.to_client, side_ == Side::server));
    if (links_.round_trip) ping_.emplace(plan_, *links_.round_trip, cpus_.round_trip);
  }

  void cancel_connect() noexcept override { cancelled_.set(); }

  results::SideResult run(RunControl& control) noexcept override {
    results::SideResult result;
    try {
      describe(result);
      run_parts(control, result);
    } catch (const std::exception& thrown) {
      const Error error = error_from(thrown);
      result.error = run_error(error.kind(), error.code(), error.what());
    }
    if (result.error) result.error->side = result.role;
    control.active_done = true;
    return result;
  }

 private:
  void connect_to_server(const transport::Offer& peer, Deadline deadline) {
    if (peer.data_port <= 0 || peer.data_port > 65535) throw Error(ErrorKind::peer, fmt::format("the server offers data port {}", peer.data_port));
    const auto& address = peer_address_.empty() && !peer.data_addresses.empty() ? peer.data_addresses.front() : peer_address_;
    const auto server = tcp::endpoint_from(address, static_cast<std::uint16_t>(peer.data_port));
    std::optional<tcp::Endpoint> source;
    // Bound to an interface, the kernel takes that interface's own address.
    if (!local_address_.empty() && !plan_.client.interface) source = tcp::endpoint_from(local_address_, 0);
    links_ = connect_links(plan_, server, source, peer.data_nonce, deadline, cancelled_.fd());
  }

  FlowSetup flow_setup(const Streams& streams, bool sending) {
    const bool beside_ping = plan_.metric == Metric::latency;
    FlowSetup setup{.plan = plan_,
                    .sending = sending,
                    .message_bytes = beside_ping ? kLoadBlockBytes : plan_.message_bytes,
                    .iterations = beside_ping ? std::nullopt : plan_.iterations,
                    .streams = {},
                    .cpus = sending ? cpus_.senders : cpus_.receivers,
                    .numa_node = cpus_.numa_node};
    for (const auto& stream : streams) setup.streams.push_back(stream.get());
    if (beside_ping) setup.hold = &ping_runs_;
    return setup;
  }

  void run_parts(RunControl& control, results::SideResult& result) {
    ping_runs_ = ping_.has_value();
    std::optional<FlowResult> forth;
    std::optional<FlowResult> back;
    std::exception_ptr failure;
    std::jthread second;  // joined also when what follows throws
    std::jthread third;
    // The calling thread takes the first part there is: the round trip, else a direction.
    const auto run_flow = [&](std::optional<Flow>& flow, std::optional<FlowResult>& into) {
      try {
        if (flow) into = flow->run(control);
      } catch (...) {
        control.stop = true;
        const std::lock_guard lock(failure_mutex_);
        failure = std::current_exception();
      }
    };
    try {
      if (to_client_ && (to_server_ || ping_)) second = std::jthread([&] { run_flow(to_client_, back); });
      if (to_server_ && ping_) third = std::jthread([&] { run_flow(to_server_, forth); });
      if (ping_) {
        note_ping(side_ == Side::client ? ping_->measure(control) : ping_->echo(control), result);
        ping_runs_ = false;
      } else if (to_server_) {
        run_flow(to_server_, forth);
      } else {
        run_flow(to_client_, back);
      }
    } catch (...) {
      control.stop = true;  // else the parts that did start would fill their windows first
      throw;
    }
    if (second.joinable()) second.join();
    if (third.joinable()) third.join();
    if (failure) std::rethrow_exception(failure);
    if (forth) note_flow(std::move(*forth), side_ == Side::client, result);
    if (back) note_flow(std::move(*back), side_ == Side::server, result);
  }

  void describe(results::SideResult& result) const;
  void note_flow(FlowResult flow, bool sending, results::SideResult& result) const;
  void note_ping(PingResult ping, results::SideResult& result) const;

  plan::Plan plan_;
  Side side_;
  std::string local_address_;
  std::string peer_address_;
  TcpPlacement cpus_;
  control::WakeEvent cancelled_;
  std::optional<tcp::DataListener> listener_;
  TcpLinks links_;
  std::optional<Flow> to_server_;
  std::optional<Flow> to_client_;
  std::optional<Ping> ping_;
  std::atomic<bool> ping_runs_{false};
  std::mutex failure_mutex_;
};

void TcpEngine::describe(results::SideResult& result) const {
  result.role = side_ == Side::client ? "client" : "server";
  result.placement = side_ == Side::client ? plan_.client : plan_.server;
  result.placement.cpus = cpus_.all();
  result.placement.numa_node = cpus_.numa_node;
  result.placement.interface = cpus_.interface;
  result.choices.push_back(cpus_.reason);
  result.settings = links_.settings;
  result.mss_bytes = links_.mss_bytes;
  result.settings["wait"] = plan::name_of(wait_of(plan_, ping_ ? tcp::StreamRole::round_trip : tcp::StreamRole::to_server));
  if (ping_ && plan_.load_rate_per_s) result.settings["schedule_per_s"] = fmt::format("{:.0f}", *plan_.load_rate_per_s);
  if (to_server_ || to_client_) {
    result.settings["send_block_bytes"] = std::to_string(ping_ ? kLoadBlockBytes : plan_.message_bytes);
    result.settings["receive_block_bytes"] = std::to_string((to_server_ ? to_server_ : to_client_)->receive_block_bytes());
    result.settings["streams_per_thread"] = std::to_string((plan_.streams + threads_of(plan_) - 1) / threads_of(plan_));
    if (plan_.verify) result.choices.push_back("verified: on each stream one received block per interval of the measured window");
  } else if (plan_.verify) {
    result.choices.push_back("verified: echoed messages, each after its time was taken; not one that came while another was half sent");
  }
  if (links_.strangers.wrong_hello + links_.strangers.silent > 0) {
    result.warnings.push_back(fmt::format("{} strangers on the data port were turned away ({} with a wrong hello, {} silent)",
                                          links_.strangers.wrong_hello + links_.strangers.silent, links_.strangers.wrong_hello,
                                          links_.strangers.silent));
  }
  if (cpus_.warning) result.warnings.push_back(*cpus_.warning);
}

void TcpEngine::note_flow(FlowResult flow, bool sending, results::SideResult& result) const {
  (sending ? result.sent : result.received) = std::move(flow.summary);
  (sending ? result.sent_intervals : result.received_intervals) = std::move(flow.intervals);
  // Streams of the direction to the client are numbered on after those to the server.
  const int shift = !result.tcp_info.empty() ? plan_.streams : 0;
  for (auto& sample : flow.tcp_info) {
    sample.stream += shift;
    result.tcp_info.push_back(std::move(sample));
  }
  if (!flow.tcp_info.empty()) {
    result.tcp_info_every_intervals = std::max(result.tcp_info_every_intervals.value_or(1), flow.tcp_info_every_intervals);
    result.tcp_info_limit_instants = flow.tcp_info_limit_instants;
  }
  result.threads.insert(result.threads.end(), flow.threads.begin(), flow.threads.end());
  result.warnings.insert(result.warnings.end(), flow.warnings.begin(), flow.warnings.end());
  if (!result.softirq) result.softirq = flow.softirq;
  // The sender knows more of what held it back than the receiver does, but a CPU-bound receiver is a cause of its own.
  if (result.limiter.empty() || (sending && result.limiter != "cpu" && !flow.limiter.empty())) {
    result.limiter = flow.limiter;
    result.settings["limiter_evidence"] = flow.limiter_sentence;
  }
  if (flow.buffer_at_end_bytes) result.settings[sending ? "sndbuf_at_end_bytes" : "rcvbuf_at_end_bytes"] = std::to_string(*flow.buffer_at_end_bytes);
  result.drain = std::max(result.drain, flow.drain);
  if (flow.verification) result.verification = flow.verification;
  if (flow.zerocopy) {
    result.zerocopy_completions = flow.zerocopy->completions;
    result.zerocopy_copied = flow.zerocopy->copied;
  }
  if (!result.error) result.error = flow.error;
}

void TcpEngine::note_ping(PingResult ping, results::SideResult& result) const {
  if (side_ == Side::client) {
    result.latency = std::move(ping.latency);
    result.loaded_latency = std::move(ping.from_intended);
    if (result.loaded_latency) {
      result.late_sends = ping.outcome.late_sends;
      result.unsent = ping.outcome.unsent;
    }
    result.histogram = std::move(ping.histogram);
    result.verification = ping.verification;
  }
  result.threads.push_back(ping.thread);
  result.warnings.insert(result.warnings.end(), ping.warnings.begin(), ping.warnings.end());
  result.error = ping.error;
}

}  // namespace

std::unique_ptr<Engine> make_tcp_engine(const Standpoint& at) { return std::make_unique<TcpEngine>(at); }

}  // namespace railgauge::bench
