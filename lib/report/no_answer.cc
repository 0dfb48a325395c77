#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "host/differences.h"
#include "host/inactive_port.h"
#include "host/snapshot.h"
#include "host/subnet.h"
#include "report/cause.h"
#include "report/used_path.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Node;
using results::Record;
using results::SideResult;

/// IBV_WC_RETRY_EXC_ERR of <infiniband/verbs.h>: no acknowledgement came back.
constexpr int kRetryExceeded = 12;
/// What RoCE v2 over IPv4 puts around the payload of a write's first packet: IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4; and ping: IPv4 20,
/// ICMP 8 (link-rates.md 2.1).
constexpr int kMoreThanPing = 60 - 28;

/// One end of an RDMA measurement, as its host describes it.
struct End {
  const Node* node;
  const SideResult* side;
  const host::RdmaDevice* device;
  const host::RdmaPort* port;
  std::string name() const { return fmt::format("{} port {} on {}", device->name, port->port, node->facts.hostname); }
  const char* option() const { return side->role == "server" ? "--peer-device" : "--device"; }
};

std::optional<End> end_of(const Measurement& m, const Record& record, const char* role) {
  const SideResult* side = results::side_of(m, role);
  for (const Node& node : record.nodes) {
    const host::RdmaDevice* device = side != nullptr && node.role == role ? device_of(node, *side) : nullptr;
    const host::RdmaPort* port = device != nullptr && side->placement.port ? host::find_port(*device, *side->placement.port) : nullptr;
    if (port != nullptr) return End{&node, side, device, port};
  }
  return std::nullopt;
}

/// Field case F59.
Cause no_common_pkey(const End& one, const End& other) {
  if (one.port->link_layer != host::LinkLayer::infiniband || one.port->pkeys.empty() || other.port->pkeys.empty() ||
      host::share_pkey(*one.port, *other.port))
    return {};
  return {fmt::format("no common P_Key: {} has {}, {} has {}", one.name(), host::list_pkeys(*one.port), other.name(), host::list_pkeys(*other.port)),
          {"ask the subnet manager's administrator for one partition with both ports, one of them a full member at least"}};
}

/// The address of the GID in use.
std::optional<std::string> ip_of(const End& end) {
  for (const host::Gid& gid : end.port->gids)
    if (end.side->placement.gid_index == gid.index) return gid.ip;
  return std::nullopt;
}

/// The option that names a port of the same host with an address in `subnet`, and that address.
std::optional<std::string> option_for(const End& end, const host::Subnet& subnet) {
  for (const host::RdmaDevice& device : end.node->facts.rdma_devices)
    for (const host::RdmaPort& port : device.ports)
      for (const host::Gid& gid : port.gids)
        if (host::is_active(port) && gid.ip && host::contains(subnet, *gid.ip)) return fmt::format("`{} {}` ({})", end.option(), device.name, *gid.ip);
  return std::nullopt;
}

/// Ports that lie in different networks: a router that is none, or cables that are crossed (field case F27).
Cause different_subnets(const End& one, const End& other) {
  const auto own = ip_of(one);
  const auto peer = ip_of(other);
  const auto subnet = own ? host::subnet_of_own_ip(*own, one.node->facts.netdevs) : std::nullopt;
  if (!subnet || !peer || host::contains(*subnet, *peer)) return {};
  Cause cause{fmt::format("{} ({}) and {} ({}) lie in different networks", one.name(), *own, other.name(), *peer), {}};
  if (auto better = option_for(other, *subnet)) cause.remedies.push_back(fmt::format("use {}, which lies in {}", *better, host::text_of(*subnet)));
  else cause.remedies.emplace_back("route between them, or give both ports addresses of one network");
  return cause;
}

bool went(const Measurement& m) { return m.plan.transport == plan::Transport::rdma && m.outcome == results::Outcome::done; }

/// Messages of one packet go through and larger ones have not, the same way: a smaller MTU on the way (field cases F37 and F38). What a
/// ping-pong sends goes both ways.
Cause smaller_mtu(const Measurement& m, const Record& record, const End& one) {
  const auto mtu = one.side->path_mtu_bytes;
  auto same_way = [&](const Measurement& other) {
    return other.plan.direction == m.plan.direction || other.plan.direction == plan::Direction::both || other.plan.metric == plan::Metric::latency;
  };
  auto larger_went = [&](const Measurement& other) { return went(other) && other.plan.message_bytes > kOnePacket && same_way(other); };
  auto small_went = [&](const Measurement& other) { return went(other) && other.plan.message_bytes <= kOnePacket && same_way(other); };
  const auto& all = record.measurements;
  if (!mtu || m.plan.message_bytes <= kOnePacket || std::any_of(all.begin(), all.end(), larger_went) || std::none_of(all.begin(), all.end(), small_went))
    return {};
  Cause cause{fmt::format("small messages pass: something on the way carries less than packets of path MTU {}", *mtu), {}};
  if (one.port->link_layer == host::LinkLayer::ethernet)
    cause.remedies.push_back(fmt::format("compare the MTUs of both interfaces and the switches: `ping -M do -s {} ADDRESS` must pass; or use a smaller --mtu",
                                         *mtu + kMoreThanPing));
  else cause.remedies.emplace_back("compare the MTUs of ports and switches, or use a smaller --mtu");
  return cause;
}

/// Ports that were not tried (field case F51); empty where there are none.
std::string other_ports(const End& end) {
  std::string names;
  for (const host::RdmaDevice& device : end.node->facts.rdma_devices)
    for (const host::RdmaPort& port : device.ports)
      if (host::is_active(port) && port.link_layer == end.port->link_layer && &port != end.port)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", device.ports.size() > 1 ? fmt::format("{} port {}", device.name, port.port) : device.name);
  return names.empty() ? names : fmt::format("{} ({} on {})", end.option(), names, end.node->facts.hostname);
}

}  // namespace

bool is_unanswered(const results::ErrorInfo& error) {
  if (error.stage != "run") return false;
  return error.kind == name_of(ErrorKind::timeout) || (error.kind == name_of(ErrorKind::verbs) && error.code == kRetryExceeded);
}

Cause cause_of_no_answer(const Measurement& measurement, const Record& record) {
  const bool silent = measurement.error && is_unanswered(*measurement.error) && measurement.outcome == results::Outcome::failed;
  if (!silent || measurement.plan.transport != plan::Transport::rdma) return {};
  const auto client = end_of(measurement, record, "client");
  const auto server = end_of(measurement, record, "server");
  if (!client || !server) return {};
  if (std::any_of(record.measurements.begin(), record.measurements.end(), went)) return smaller_mtu(measurement, record, *client);
  if (Cause cause = no_common_pkey(*client, *server); !cause.sentence.empty()) return cause;
  if (Cause cause = different_subnets(*client, *server); !cause.sentence.empty()) return cause;
  const std::string here = other_ports(*client);
  const std::string there = other_ports(*server);
  if (here.empty() && there.empty()) return {};
  return {{}, {fmt::format("try other ports: {}{}{}", here, here.empty() || there.empty() ? "" : ", ", there)}};
}

}  // namespace railgauge::report
