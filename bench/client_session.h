#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bench/conversation.h"
#include "bench/local_host.h"
#include "bench/measured_path.h"
#include "bench/nic_lock.h"
#include "bench/progress.h"
#include "host/differences.h"

namespace railgauge::bench {

/// The client's side of the talk: facts once, then any number of measurements. One thread.
class ClientSession {
 public:
  /// Exchanges facts. Throws Error.
  ClientSession(control::Channel channel, const LocalHost& local);

  const results::Node& server() const noexcept { return server_; }
  const control::Endpoints& endpoints() const noexcept { return conversation_.endpoints(); }

  /// Both ends run on one host.
  bool same_host() const {
    return one_host(local_.node.facts, server_.facts, endpoints().local_address, endpoints().peer_address);
  }

  /// One measurement from plan to both sides' results. Never throws: what went wrong stands in the measurement, and
  /// usable() says whether another one can follow. Expectation and verdict are left to the caller.
  results::Measurement measure(const plan::Plan& plan, Progress& progress);

  /// False once the channel is lost, the server stopped, or the user asked to stop.
  bool usable() const noexcept { return usable_; }
  /// Why it is not.
  const std::string& end_reason() const noexcept { return end_reason_; }
  /// Says goodbye if the channel still stands; never throws.
  void close() noexcept;

  /// What the last measurement used on each host (for the differences); empty before the first.
  struct Paths {
    host::UsedPath client;
    host::UsedPath server;
  };
  const std::optional<Paths>& rdma_paths() const noexcept { return rdma_paths_; }
  const std::optional<Paths>& tcp_paths() const noexcept { return tcp_paths_; }

 private:
  /// Everything that one measurement uses on this host, until its end.
  struct Used {
    std::optional<NicLock> lock;
    std::unique_ptr<Engine> engine;
    transport::Offer server_offer;
    transport::Offer own_offer;
    host::UsedPath path;
    std::optional<CounterWatch> counters;
  };
  void prepare(Used& used, const plan::Plan& plan);
  void lock(Used& used, const Standpoint& at) const;
  void connect(Used& used);
  void run(results::Measurement& measurement, const Used& used, Progress& progress);
  void give_up(results::Measurement& measurement, const Error& error, const char* stage);
  std::optional<std::string> settle_with_server(const Error& error, const char* stage);
  void lost(const std::string& why);

  Conversation conversation_;
  const LocalHost& local_;
  results::Node server_;
  std::optional<Paths> rdma_paths_;
  std::optional<Paths> tcp_paths_;
  bool usable_ = true;
  bool server_ended_ = true;    ///< the server has sent its result or failure of the present measurement
  std::string end_reason_;
};

}  // namespace railgauge::bench
