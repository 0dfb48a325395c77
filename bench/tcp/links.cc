#include "bench/tcp/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using tcp::StreamName;
using tcp::StreamRole;

/// A blocked send or receive looks at its orders this often: short against the 0.5 s that a run may take beyond its
/// window, long against the cost of a wake-up.
constexpr std::chrono::milliseconds kBlockingLimit{50};

bool sends(StreamRole role, Side side) {
  if (role == StreamRole::round_trip) return true;
  return (role == StreamRole::to_server) == (side == Side::client);
}

/// The settings of one connection: pacing only where this side sends bulk data, no Nagle delay for round trips.
tcp::SocketSettings settings_for(const plan::Plan& plan, Side side, StreamRole role) {
  auto settings = settings_of(plan, side);
  settings.no_delay = role == StreamRole::round_trip;
  if (role != StreamRole::round_trip && sends(role, side) && plan.tcp.pacing_gbit_per_s) {
    settings.pacing_bytes_per_s = static_cast<std::uint64_t>(*plan.tcp.pacing_gbit_per_s * 1e9 / 8 / plan.streams);
  }
  return settings;
}

/// Adds one connection's settings to those of the others.
void merge_settings(std::map<std::string, std::string>& all, const std::map<std::string, std::string>& one) {
  for (const auto& [key, value] : one) {
    auto& known = all[key];
    if (known.empty()) known = value;
    else if (("," + known + ",").find("," + value + ",") == std::string::npos) known += "," + value;
  }
}

/// Threads with several streams sleep in poll(), so that their calls must not.
tcp::Blocking blocking_of(const plan::Plan& plan, StreamRole role) {
  const bool one_each = role == StreamRole::round_trip || threads_of(plan) == plan.streams;
  return wait_of(plan, role) == plan::Wait::block && one_each ? tcp::Blocking::yes : tcp::Blocking::no;
}

/// Takes a connected socket into the links.
void add(TcpLinks& links, const plan::Plan& plan, Side side, StreamName name, UniqueFd fd) {
  const auto settings = settings_for(plan, side, name.role);
  tcp::apply_connected(fd.get(), settings);
  tcp::limit_blocking(fd.get(), kBlockingLimit);
  auto in_effect = tcp::read_back(fd.get(), settings);
  if (name.role == StreamRole::round_trip && wanted_streams(plan).size() > 1) in_effect.settings.erase("no_delay");
  merge_settings(links.settings, in_effect.settings);
  links.mss_bytes = std::min(links.mss_bytes.value_or(in_effect.mss_bytes), in_effect.mss_bytes);
  const bool zerocopy = plan.tcp.zerocopy && name.role != StreamRole::round_trip;
  auto stream = std::make_unique<tcp::TcpStream>(std::move(fd), blocking_of(plan, name.role), zerocopy);
  switch (name.role) {
    case StreamRole::to_server: links.to_server.push_back(std::move(stream)); break;
    case StreamRole::to_client: links.to_client.push_back(std::move(stream)); break;
    case StreamRole::round_trip: links.round_trip = std::move(stream); break;
  }
}

void note_addresses(TcpLinks& links, int fd) {
  links.settings["local_address"] = tcp::local_endpoint(fd).text();
  links.settings["peer_address"] = tcp::peer_endpoint(fd).text();
}

}  // namespace

std::vector<StreamName> wanted_streams(const plan::Plan& plan) {
  std::vector<StreamName> wanted;
  const bool latency = plan.metric == plan::Metric::latency;
  if (latency) wanted.push_back({StreamRole::round_trip, 0});
  if (latency && !plan.under_load) return wanted;
  for (int i = 0; i < plan.streams; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (plan.direction != plan::Direction::from) wanted.push_back({StreamRole::to_server, index});
    if (plan.direction != plan::Direction::to) wanted.push_back({StreamRole::to_client, index});
  }
  return wanted;
}

plan::Wait wait_of(const plan::Plan& plan, StreamRole role) noexcept {
  const bool latency = plan.metric == plan::Metric::latency;
  if (role != StreamRole::round_trip) return latency ? plan::Wait::block : plan.tcp.wait;
  return plan.load_rate_per_s ? plan::Wait::spin : plan.tcp.wait;
}

int threads_of(const plan::Plan& plan) noexcept { return std::clamp(plan.threads, 1, plan.streams); }

tcp::SocketSettings settings_of(const plan::Plan& plan, Side side) {
  tcp::SocketSettings settings;
  settings.congestion = plan.tcp.congestion;
  settings.mss_bytes = plan.tcp.mss_bytes;
  settings.window_bytes = plan.tcp.window_bytes;
  settings.zerocopy = plan.tcp.zerocopy;
  settings.interface = side == Side::client ? plan.client.interface : plan.server.interface;
  return settings;
}

TcpLinks connect_links(const plan::Plan& plan, const tcp::Endpoint& server, const std::optional<tcp::Endpoint>& source, const tcp::Nonce& nonce,
                       Deadline deadline, int cancel_fd) {
  TcpLinks links;
  std::vector<std::pair<StreamName, UniqueFd>> opened;
  const auto settings = settings_of(plan, Side::client);
  for (const auto& name : wanted_streams(plan)) {
    auto fd = tcp::connect_to(server, source, settings, deadline, cancel_fd);
    const auto hello = tcp::encode_hello(nonce, name);
    tcp::send_all(fd.get(), hello.data(), hello.size(), deadline, "hello to " + server.text());
    opened.emplace_back(name, std::move(fd));
  }
  for (auto& [name, fd] : opened) {
    std::byte answer{};
    tcp::receive_all(fd.get(), &answer, 1, deadline, "answer to the data hello from " + server.text(), cancel_fd);
    if (answer != tcp::kHelloTaken) throw Error(ErrorKind::peer, server.text() + " is not the data port of this measurement");
    if (links.settings.empty()) note_addresses(links, fd.get());
    add(links, plan, Side::client, name, std::move(fd));
  }
  return links;
}

TcpLinks accept_links(const plan::Plan& plan, tcp::DataListener& listener, Deadline deadline, int cancel_fd) {
  TcpLinks links;
  for (auto& accepted : listener.accept_all(wanted_streams(plan), deadline, cancel_fd)) {
    if (links.settings.empty()) note_addresses(links, accepted.fd.get());
    add(links, plan, Side::server, accepted.name, std::move(accepted.fd));
  }
  links.strangers = listener.strangers();
  return links;
}

}  // namespace railgauge::bench
