#include "host/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "host/inactive_port.h"
#include "host/snapshot.h"

namespace railgauge::host {
namespace {

struct Candidate {
  const RdmaDevice* device;
  const RdmaPort* port;
  std::string name() const { return fmt::format("{} port {}", device->name, port->port); }
};

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

/// The port whose interface carries the control connection.
const Candidate* carrier_of(const Snapshot& snapshot, const std::vector<Candidate>& ports, const std::string& ip) {
  if (ip.empty()) return nullptr;
  auto carries = [&](const Candidate& c) { return carries_address(snapshot, c, ip); };
  auto found = std::find_if(ports.begin(), ports.end(), carries);
  return found == ports.end() ? nullptr : &*found;
}

/// The networks in which a RoCE port has an address that reaches further than its link.
std::vector<Subnet> subnets_of(const Snapshot& snapshot, const Candidate& c) {
  static const std::optional<Subnet> kLinkLocal = subnet_of("fe80::1/64");
  std::vector<Subnet> found;
  for (const Gid& gid : c.port->gids) {
    auto subnet = gid.ip ? subnet_of_own_ip(*gid.ip, snapshot.netdevs) : std::nullopt;
    if (subnet && subnet != kLinkLocal) found.push_back(*subnet);
  }
  return found;
}

/// The usable ports of one host that may meet the other's: the one that carries the control connection, else all.
struct Ports {
  const Snapshot& snapshot;
  std::vector<Candidate> all;
  const Candidate* carrier;
  Ports(const Snapshot& of, const DeviceWish& wish) : snapshot(of), all(usable(of, wish)), carrier(carrier_of(of, all, wish.local_ip)) {}
  std::vector<Candidate> that_meet() const { return carrier != nullptr ? std::vector<Candidate>{*carrier} : all; }
};

std::optional<LinkLayer> common_link_layer(const Ports& one, const Ports& other) {
  if (one.carrier && other.carrier && one.carrier->port->link_layer == other.carrier->port->link_layer) return one.carrier->port->link_layer;
  std::optional<LinkLayer> best;
  std::optional<Preference> of_best;
  for (LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    auto here = best_port(one.all, layer);
    auto there = best_port(other.all, layer);
    if (!here || !there) continue;
    Preference slower = std::min(*here, *there);
    if (of_best && slower <= *of_best) continue;
    best = layer;
    of_best = slower;
  }
  return best;
}

/// A network that a port reaches.
struct Reach {
  Subnet subnet;
  Preference port;
};

std::vector<Reach> reaches_of(const Ports& ports) {
  std::vector<Reach> found;
  for (const Candidate& c : ports.that_meet())
    for (const Subnet& subnet : subnets_of(ports.snapshot, c)) found.push_back({subnet, preference(c)});
  return found;
}

/// The network in which the faster pair of ports meets; of equals the lowest, so that both hosts, deciding alone, agree.
std::optional<Subnet> common_subnet(const Ports& one, const Ports& other) {
  std::optional<Reach> best;
  const std::vector<Reach> theirs = reaches_of(other);
  for (const Reach& here : reaches_of(one))
    for (const Reach& there : theirs) {
      if (here.subnet != there.subnet) continue;
      const Preference slower = std::min(here.port, there.port);
      if (!best || slower > best->port || (slower == best->port && here.subnet < best->subnet)) best = Reach{here.subnet, slower};
    }
  return best ? std::optional(best->subnet) : std::nullopt;
}

std::string rate_words(const RdmaPort& port) { return port.rate_text ? *port.rate_text : "rate unknown"; }

/// Drops the ports that `keep` refuses, unless it refuses all; true if some are left that it keeps.
template <typename Keep>
bool narrow(std::vector<Candidate>& ports, Keep keep) {
  if (std::none_of(ports.begin(), ports.end(), keep)) return false;
  ports.erase(std::remove_if(ports.begin(), ports.end(), [&](const Candidate& c) { return !keep(c); }), ports.end());
  return true;
}

DeviceChoice fastest(const Snapshot& snapshot, std::vector<Candidate> active, const CommonGround& common) {
  std::string of = "ACTIVE ports";
  if (common.link_layer && *common.link_layer != LinkLayer::unknown && narrow(active, [&](const Candidate& c) { return c.port->link_layer == *common.link_layer; }))
    of = fmt::format("ACTIVE {} ports, which the peer has too", name_of(*common.link_layer));
  auto lies_in_it = [&](const Candidate& c) {
    const std::vector<Subnet> own = subnets_of(snapshot, c);
    return std::find(own.begin(), own.end(), *common.subnet) != own.end();
  };
  if (common.subnet && narrow(active, lies_in_it)) of = fmt::format("ACTIVE ports in {}, where the peer has one too", text_of(*common.subnet));
  auto slower = [](const Candidate& a, const Candidate& b) { return preference(a) < preference(b); };
  const Candidate& best = *std::max_element(active.begin(), active.end(), slower);
  auto equals = std::count_if(active.begin(), active.end(), [&](const Candidate& c) { return preference(c) == preference(best); });
  std::string reason = active.size() == 1
                           ? fmt::format("{} ({}): the only one of the {}", best.name(), rate_words(*best.port), of)
                           : fmt::format("{} ({}): {} of the {} {}", best.name(), rate_words(*best.port),
                                         equals > 1 ? "the first of the fastest" : "the fastest", active.size(), of);
  return {best.device->name, best.port->port, reason};
}

}  // namespace

CommonGround common_ground(const Snapshot& one, const DeviceWish& wish_of_one, const Snapshot& other, const DeviceWish& wish_of_other) {
  const Ports here(one, wish_of_one);
  const Ports there(other, wish_of_other);
  CommonGround common{.link_layer = common_link_layer(here, there), .subnet = {}};
  if (common.link_layer == LinkLayer::ethernet) common.subnet = common_subnet(here, there);
  return common;
}

DeviceChoice choose_device(const Snapshot& snapshot, const DeviceWish& wish) {
  std::vector<Candidate> active = active_of(snapshot.hostname, candidates_of(snapshot, wish));
  if (wish.device && (wish.port || active.size() == 1)) {
    const Candidate& c = active.front();
    return {c.device->name, c.port->port, fmt::format("{} ({}): asked for", c.name(), rate_words(*c.port))};
  }
  if (!wish.local_ip.empty()) {
    for (const Candidate& c : active) {
      if (wish.common.link_layer && c.port->link_layer != *wish.common.link_layer) continue;
      if (carries_address(snapshot, c, wish.local_ip))
        return {c.device->name, c.port->port,
                fmt::format("{} ({}): its interface carries the control connection ({})", c.name(), rate_words(*c.port), wish.local_ip)};
    }
  }
  if (active.size() == 1) {
    const Candidate& c = active.front();
    return {c.device->name, c.port->port, fmt::format("{} ({}): the only ACTIVE port", c.name(), rate_words(*c.port))};
  }
  return fastest(snapshot, std::move(active), wish.common);
}

}  // namespace railgauge::host
