#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/engine.h"
#include "plan/plan.h"
#include "tcp/data_listener.h"
#include "tcp/tcp_stream.h"

namespace railgauge::bench {

using Streams = std::vector<std::unique_ptr<tcp::TcpStream>>;

/// The data connections of one measurement on one side.
struct TcpLinks {
  Streams to_server;                            ///< the client sends
  Streams to_client;                            ///< the server sends
  std::unique_ptr<tcp::TcpStream> round_trip;   ///< latency only
  std::map<std::string, std::string> settings;  ///< read back, units in the keys; values that differ between streams stand side by side
  std::optional<int> mss_bytes;                 ///< read back: the smallest of all connections
  tcp::Strangers strangers;                     ///< server only
};

/// Every connection that the plan needs, the round trip first.
std::vector<tcp::StreamName> wanted_streams(const plan::Plan& plan);

/// How a connection of that kind waits: as planned; but an open loop spins, and the streams beside a round trip block.
plan::Wait wait_of(const plan::Plan& plan, tcp::StreamRole role) noexcept;

/// How many threads serve the streams of one direction: at most one each.
int threads_of(const plan::Plan& plan) noexcept;

/// The client's side: connects each stream, says its hello and waits for the server's word. Throws Error, at once when
/// `cancel_fd` is readable.
TcpLinks connect_links(const plan::Plan& plan, const tcp::Endpoint& server, const std::optional<tcp::Endpoint>& source, const tcp::Nonce& nonce,
                       Deadline deadline, int cancel_fd);

/// The server's side: accepts each stream. Throws Error, at once when `cancel_fd` is readable.
TcpLinks accept_links(const plan::Plan& plan, tcp::DataListener& listener, Deadline deadline, int cancel_fd);

/// What the server's listener and every connection of this side shall be set to. Throws Error{usage}.
tcp::SocketSettings settings_of(const plan::Plan& plan, Side side);

}  // namespace railgauge::bench
