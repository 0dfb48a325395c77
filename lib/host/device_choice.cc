#include "host/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "host/snapshot.h"

namespace railgauge::host {
namespace {

struct Candidate {
  const RdmaDevice* device;
  const RdmaPort* port;
  std::string name() const { return fmt::format("{} port {}", device->name, port->port); }
};

bool is_active(const RdmaPort& port) { return port.state && *port.state == "ACTIVE"; }

std::string list_devices(const Snapshot& snapshot) {
  std::string text;
  for (const RdmaDevice& device : snapshot.rdma_devices) text += (text.empty() ? "" : ", ") + device.name;
  return text.empty() ? "none" : text;
}

std::string list_ports(const RdmaDevice& device) {
  std::string text;
  for (const RdmaPort& port : device.ports) text += fmt::format("{}{}", text.empty() ? "" : ", ", port.port);
  return text.empty() ? "none" : text;
}

Error no_device(const Snapshot& snapshot) {
  bool mlx5_half = snapshot.modules.count("mlx5_core") != 0 && snapshot.modules.count("mlx5_ib") == 0;
  return Error(ErrorKind::unsupported,
               fmt::format("no RDMA device is present ({}/sys/class/infiniband is empty): {}", snapshot.root,
                           mlx5_half ? "mlx5_core is loaded without mlx5_ib: `modprobe mlx5_ib`"
                                     : "load the NIC's RDMA driver (`modprobe mlx5_ib`, `bnxt_re`, `irdma` …)"));
}

/// The ports that the user's wish leaves; throws when it names something that is not there.
std::vector<Candidate> candidates_of(const Snapshot& snapshot, const DeviceWish& wish) {
  if (wish.device && find_device(snapshot, *wish.device) == nullptr)
    throw Error(ErrorKind::usage, fmt::format("no RDMA device {}; present: {}", *wish.device, list_devices(snapshot)));
  if (snapshot.rdma_devices.empty()) throw no_device(snapshot);
  std::vector<Candidate> found;
  for (const RdmaDevice& device : snapshot.rdma_devices) {
    if (wish.device && device.name != *wish.device) continue;
    for (const RdmaPort& port : device.ports)
      if (!wish.port || port.port == *wish.port) found.push_back({&device, &port});
  }
  if (!found.empty()) return found;
  const RdmaDevice& named = wish.device ? *find_device(snapshot, *wish.device) : snapshot.rdma_devices.front();
  if (named.ports.empty() && !named.char_device) throw Error(ErrorKind::system, fmt::format("{} shows no port: {}", named.name, named.char_device.reason));
  throw Error(ErrorKind::usage, fmt::format("{} has no port {}; present: {}", named.name, wish.port.value_or(1), list_ports(named)));
}

/// The ports that can carry traffic; throws with the state of each and what mends it when there is none.
std::vector<Candidate> active_of(const std::string& hostname, const std::vector<Candidate>& candidates) {
  constexpr std::size_t kShown = 4;
  std::vector<Candidate> active;
  for (const Candidate& c : candidates)
    if (is_active(*c.port)) active.push_back(c);
  if (!active.empty()) return active;
  std::string text;
  for (std::size_t i = 0; i < std::min(candidates.size(), kShown); ++i)
    text += fmt::format("{}{} is {}", i ? "; " : "", candidates[i].name(), why_not_active(hostname, *candidates[i].device, *candidates[i].port));
  if (candidates.size() > kShown) text += fmt::format("; and {} more", candidates.size() - kShown);
  throw Error(ErrorKind::system, fmt::format("no RDMA port is ACTIVE{}: {}", hostname.empty() ? std::string() : " on " + hostname, text));
}

bool carries_address(const Snapshot& snapshot, const Candidate& c, const std::string& ip) {
  for (const Gid& gid : c.port->gids)
    if (gid.ip == ip) return true;
  if (c.device->ports.size() > 1) return false;  // the interfaces of a device are not told apart by port
  const Netdev* netdev = find_netdev_by_address(snapshot, ip);
  if (netdev == nullptr) return false;
  const std::vector<std::string>& own = c.device->netdevs;
  auto is_own = [&own](const std::string& name) { return std::find(own.begin(), own.end(), name) != own.end(); };
  return is_own(netdev->name) || std::any_of(netdev->bond_slaves.begin(), netdev->bond_slaves.end(), is_own);
}

/// Hardware before software, then the fastest; what is not known counts as slowest.
using Preference = std::tuple<bool, double>;
Preference preference(const Candidate& c) { return {!c.device->software, c.port->rate_gbit_per_s.value.value_or(0)}; }

/// The ACTIVE ports that the wish leaves; none where candidates_of and active_of throw.
std::vector<Candidate> usable(const Snapshot& snapshot, const DeviceWish& wish) {
  std::vector<Candidate> found;
  for (const RdmaDevice& device : snapshot.rdma_devices)
    for (const RdmaPort& port : device.ports)
      if (is_active(port) && (!wish.device || *wish.device == device.name) && (!wish.port || *wish.port == port.port)) found.push_back({&device, &port});
  return found;
}

/// The best usable port on a link layer.
std::optional<Preference> best_port(const std::vector<Candidate>& ports, LinkLayer layer) {
  std::optional<Preference> best;
  for (const Candidate& c : ports)
    if (c.port->link_layer == layer) best = std::max(best, std::optional(preference(c)));  // nothing is less than anything
  return best;
}

/// The link layer of the port whose interface carries the control connection.
std::optional<LinkLayer> layer_of_address(const Snapshot& snapshot, const std::vector<Candidate>& ports, const std::string& ip) {
  if (ip.empty()) return std::nullopt;
  for (const Candidate& c : ports)
    if (carries_address(snapshot, c, ip)) return c.port->link_layer;
  return std::nullopt;
}

std::string rate_words(const RdmaPort& port) { return port.rate_text ? *port.rate_text : "rate unknown"; }

DeviceChoice fastest(std::vector<Candidate> active, const DeviceWish& wish) {
  std::string of = "ACTIVE ports";
  if (wish.peer_link_layer && *wish.peer_link_layer != LinkLayer::unknown) {
    auto other = [&](const Candidate& c) { return c.port->link_layer != *wish.peer_link_layer; };
    if (!std::all_of(active.begin(), active.end(), other)) {
      active.erase(std::remove_if(active.begin(), active.end(), other), active.end());
      of = fmt::format("ACTIVE {} ports, which the peer has too", name_of(*wish.peer_link_layer));
    }
  }
  auto slower = [](const Candidate& a, const Candidate& b) { return preference(a) < preference(b); };
  const Candidate& best = *std::max_element(active.begin(), active.end(), slower);
  auto equals = std::count_if(active.begin(), active.end(), [&](const Candidate& c) { return preference(c) == preference(best); });
  std::string reason = active.size() == 1
                           ? fmt::format("{} ({}): the only one of the {}", best.name(), rate_words(*best.port), of)
                           : fmt::format("{} ({}): {} of the {} {}", best.name(), rate_words(*best.port),
                                         equals > 1 ? "the first of the fastest" : "the fastest", active.size(), of);
  return {best.device->name, best.port->port, reason};
}

/// A port, and where it is.
struct Located {
  const std::string& hostname;
  const RdmaDevice& device;
  const RdmaPort& port;
  std::string host() const { return hostname.empty() ? "its host" : hostname; }
};

/// What switches a port on: an Ethernet port follows its interface, an InfiniBand port has none that must be up.
std::string switch_on(const Located& at) {
  if (at.port.link_layer == LinkLayer::infiniband)
    return fmt::format("`mlxlink -d {} -a UP`, or `ibportstate -C {} -P {} -D 0 {} enable`", at.device.name, at.device.name, at.port.port, at.port.port);
  return fmt::format("`ip link set {} up`", at.device.netdevs.empty() ? "IF" : at.device.netdevs.front());
}

/// The hints of host-facts.md 2.1. Disabled is this end, Polling the cable or the other end (field case F79).
std::string hint_for(const Located& at, const std::string& state, const std::string& physical) {
  bool infiniband = at.port.link_layer == LinkLayer::infiniband;
  if (physical == "Polling")
    return fmt::format("no signal reaches {}: check the cable, the far port, breakout or split, speed and FEC", at.host());
  if (physical == "Disabled") return fmt::format("switched off on {}, there: {}", at.host(), switch_on(at));
  if (infiniband && (state == "INIT" || state == "ARMED" || physical == "LinkUp"))
    return "no subnet manager has configured this port: start opensm or UFM";
  if (state == "INIT" || state == "ARMED") return fmt::format("the interface is not up yet, on {}: {}", at.host(), switch_on(at));
  if (physical == "LinkUp") return fmt::format("the link is up, the port is not, on {}: {}", at.host(), switch_on(at));
  if (physical == "PortConfigurationTraining" || physical == "LinkErrorRecovery")
    return "the link does not finish training: reseat or replace the cable";
  return fmt::format("see dmesg on {}", at.host());
}

}  // namespace

std::string why_not_active(const std::string& hostname, const RdmaDevice& device, const RdmaPort& port) {
  if (is_active(port)) return {};
  std::string state = port.state ? *port.state : "of unknown state (" + port.state.reason + ")";
  std::string physical = port.physical_state ? *port.physical_state : "unknown (" + port.physical_state.reason + ")";
  return fmt::format("{}, physical state {} ({})", state, physical, hint_for({hostname, device, port}, state, physical));
}

std::optional<LinkLayer> common_link_layer(const Snapshot& one, const DeviceWish& wish_of_one, const Snapshot& other,
                                           const DeviceWish& wish_of_other) {
  const std::vector<Candidate> ports = usable(one, wish_of_one);
  const std::vector<Candidate> ports_of_other = usable(other, wish_of_other);
  auto called = layer_of_address(one, ports, wish_of_one.local_ip);
  if (called && called == layer_of_address(other, ports_of_other, wish_of_other.local_ip)) return called;
  std::optional<LinkLayer> best;
  std::optional<Preference> of_best;
  for (LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    auto here = best_port(ports, layer);
    auto there = best_port(ports_of_other, layer);
    if (!here || !there) continue;
    Preference slower = std::min(*here, *there);
    if (of_best && slower <= *of_best) continue;
    best = layer;
    of_best = slower;
  }
  return best;
}

DeviceChoice choose_device(const Snapshot& snapshot, const DeviceWish& wish) {
  std::vector<Candidate> active = active_of(snapshot.hostname, candidates_of(snapshot, wish));
  if (wish.device && (wish.port || active.size() == 1)) {
    const Candidate& c = active.front();
    return {c.device->name, c.port->port, fmt::format("{} ({}): asked for", c.name(), rate_words(*c.port))};
  }
  if (!wish.local_ip.empty()) {
    for (const Candidate& c : active) {
      if (wish.peer_link_layer && c.port->link_layer != *wish.peer_link_layer) continue;
      if (carries_address(snapshot, c, wish.local_ip))
        return {c.device->name, c.port->port,
                fmt::format("{} ({}): its interface carries the control connection ({})", c.name(), rate_words(*c.port), wish.local_ip)};
    }
  }
  if (active.size() == 1) {
    const Candidate& c = active.front();
    return {c.device->name, c.port->port, fmt::format("{} ({}): the only ACTIVE port", c.name(), rate_words(*c.port))};
  }
  return fastest(std::move(active), wish);
}

}  // namespace railgauge::host
