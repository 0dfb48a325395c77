#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "host/gid_choice.h"
#include "host/snapshot.h"
#include "rates/expect.h"
#include "report/cause.h"
#include "report/used_path.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using results::SideResult;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The MTU commands of the hosts whose interface is smaller than RoCE path MTU 4096 needs.
std::vector<std::string> mtu_remedies(const Measurement& measurement, const Record& record) {
  // 4096 B and the 96 B the kernel takes off for headers (include/rdma/ib_addr.h, iboe_get_mtu).
  constexpr int kNeeded = 4192;
  std::vector<std::string> out;
  for (const results::Node& node : record.nodes) {
    const SideResult* side = side_of(measurement, node.role);
    const host::RdmaDevice* device = side ? device_of(node, *side) : nullptr;
    if (!device) continue;
    const host::Netdev* netdev = netdev_of(node, *side);
    if (netdev && netdev->mtu_bytes && *netdev->mtu_bytes < kNeeded)
      out.push_back(fmt::format("on {}: `ip link set {} mtu 9000` (now {}; RoCE needs {} for path MTU 4096), the switch ports as well",
                                node.facts.hostname, netdev->name, *netdev->mtu_bytes, kNeeded));
  }
  if (out.empty()) out.emplace_back("set the path MTU to 4096 on both ports and the switches between them");
  return out;
}

/// A PCIe link and the functions at its ends; `above` is null where the path does not tell it.
struct Slot {
  const host::PciLink* used;   ///< the end that the term names
  const host::PciLink* below;  ///< the card, or the uplink of a switch
  const host::PciLink* above;  ///< the port that it sits in
};

/// A path alternates: card, port above it, uplink of that port's switch, port above that, …; the two ends of each link are a pair.
std::optional<Slot> slot_in(const host::PciPath& path, const std::string& address) {
  const auto& links = path.links;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].address != address) continue;
    const std::size_t below = i - i % 2;
    return Slot{&links[i], &links[below], below + 1 < links.size() ? &links[below + 1] : nullptr};
  }
  return std::nullopt;
}

std::optional<Slot> find_slot(const host::Snapshot& facts, const std::string& address) {
  for (const host::RdmaDevice& device : facts.rdma_devices)
    if (auto slot = slot_in(device.pci, address)) return slot;
  for (const host::Netdev& netdev : facts.netdevs)
    if (auto slot = slot_in(netdev.pci, address)) return slot;
  return std::nullopt;
}

struct Speed {
  double gt_per_s;
  int width;
  bool within(const Speed& other) const { return gt_per_s <= other.gt_per_s && width <= other.width; }
};

std::string text_of(const Speed& speed) { return fmt::format("{:g} GT/s x{}", speed.gt_per_s, speed.width); }

std::optional<Speed> best_of(const host::PciLink* end) {
  if (!end || !end->max_gt_per_s || !end->max_width) return std::nullopt;
  return Speed{*end->max_gt_per_s, *end->max_width};
}

/// What to do about a PCIe link that limits: it should run at the smaller best of its two ends (host-facts.md 2.2). Where it
/// does not, something is loose; where it does, one of the ends is the limit, and reseating changes nothing.
std::string pcie_remedy(const Slot& slot, const std::string& host) {
  const auto below = best_of(slot.below);
  const auto above = best_of(slot.above);
  if (!below || !slot.used->current_gt_per_s || !slot.used->current_width) return {};
  const Speed now{*slot.used->current_gt_per_s, *slot.used->current_width};
  const Speed best = above ? Speed{std::min(below->gt_per_s, above->gt_per_s), std::min(below->width, above->width)} : *below;
  if (!best.within(now))
    return fmt::format("{} on {} runs at {} and could run at {}: reseat the card, try another slot, look at the riser", slot.used->address,
                       host, text_of(now), text_of(best));
  if (!above) return {};
  if (!below->within(*above))
    return fmt::format("the slot is the limit: {} on {} can run at {}, {} above it at {}: move the card to a better slot, or expect no more",
                       slot.below->address, host, text_of(*below), slot.above->address, text_of(*above));
  return fmt::format("{} on {} runs at its best, {}: it is the limit itself", slot.below->address, host, text_of(*below));
}

std::vector<std::string> pcie_remedies(const rates::Term& term, const Record& record) {
  for (const results::Node& node : record.nodes) {
    const auto slot = node.facts.hostname == term.host ? find_slot(node.facts, term.address) : std::nullopt;
    if (std::string remedy = slot ? pcie_remedy(*slot, term.host) : std::string(); !remedy.empty()) return {remedy};
  }
  return {};
}

struct Port {
  const results::Node* node;
  const host::RdmaDevice* device;
  const host::RdmaPort* port;
};

/// The RDMA ports a measurement used, as their hosts describe them.
std::vector<Port> ports_of(const Measurement& measurement, const Record& record) {
  std::vector<Port> out;
  for (const results::Node& node : record.nodes) {
    const SideResult* side = side_of(measurement, node.role);
    const host::RdmaDevice* device = side ? device_of(node, *side) : nullptr;
    if (!device) continue;
    for (const host::RdmaPort& port : device->ports)
      if (port.port == side->placement.port) out.push_back({&node, device, &port});
  }
  return out;
}

std::string runs_at(const Port& at, const std::string& rate) {
  return fmt::format("{} port {} on {} runs at {}", at.device->name, at.port->port, at.node->facts.hostname, rate);
}

constexpr const char* kLanesRemedy = "a damaged lane, or a splitter cable: reseat or replace the cable or its optics, unless this is by design";

constexpr const char* kRateRemedy =
    "unless this is by design: reseat or replace the cable or its optics, and compare port split and speed settings of both ends and the switch";

/// InfiniBand ports have four lanes; fewer is a lost lane or a split cable (host-facts.md 1, "lanes"). Empty else.
std::string missing_lanes(const host::RdmaPort& port) {
  constexpr int kLanes = 4;
  bool narrow = port.link_layer == host::LinkLayer::infiniband && port.width && *port.width < kLanes;
  return narrow ? fmt::format(": {} of {} lanes", *port.width, kLanes) : std::string();
}

/// A port that lost lanes, where the expectation has followed it.
Cause narrow_port(const Measurement& measurement, const Record& record) {
  auto expected = measurement.expectation.gbit_per_s();
  for (const Port& at : ports_of(measurement, record)) {
    std::string lanes = missing_lanes(*at.port);
    if (lanes.empty() || !at.port->rate_gbit_per_s || !expected || *at.port->rate_gbit_per_s < *expected) continue;
    const std::string rate = at.port->rate_text ? *at.port->rate_text : fmt::format("{:g} Gb/s", *at.port->rate_gbit_per_s);
    return {runs_at(at, rate) + lanes, {kLanesRemedy}};
  }
  return {};
}

/// One end slower than the other (field cases of ports that trained lower), where the expectation has followed it. One of a bond's slaves
/// is slower than all by itself.
Cause slower_end(const rates::Expectation& expectation) {
  constexpr double kSameRate = 1.01;  // headers and rounding
  const rates::Term& limit = *expectation.limit();
  for (const rates::Term& other : expectation.terms) {
    if (other.kind != rates::TermKind::link || other.informational || other.at_most_gbit_per_s || limit.at_most_gbit_per_s) continue;
    if (other.gbit_per_s <= kSameRate * limit.gbit_per_s) continue;
    return {fmt::format("{} is slower than {}: it trained lower, or is another kind of port", limit.name, other.name), {kRateRemedy}};
  }
  return {};
}

/// The GID of the port that the side used; null where it was addressed by LID.
const host::Gid* gid_of(const Port& at, const SideResult& side) {
  for (const host::Gid& gid : at.port->gids)
    if (side.placement.gid_index == gid.index) return &gid;
  return nullptr;
}

/// What the port itself carries by the facts of its host: never a figure that its driver prints for another speed, nor that
/// of one slave for a bond. Missing where they do not tell.
host::Fact<rates::LinkRate> own_rate(const Port& at, const Measurement& measurement) {
  const SideResult& side = *side_of(measurement, at.node->role);
  const rates::RdmaEnd end = rates::rdma_end(at.node->facts, at.device->name, at.port->port, gid_of(at, side) ? side.placement.gid_index : std::nullopt);
  return rates::link_rate(end, measurement.plan.rdma.qps * measurement.plan.threads);
}

/// One port slower than another of the same model on its host: both ends may have trained lower alike.
Cause slower_than_sibling(const Measurement& measurement, const Record& record) {
  constexpr double kSameRate = 1.01;
  for (const Port& at : ports_of(measurement, record)) {
    const auto own = own_rate(at, measurement);
    if (!own || !at.device->board_id || at.device->simulated) continue;
    for (const host::RdmaDevice& device : at.node->facts.rdma_devices) {
      if (!device.board_id || *device.board_id != *at.device->board_id) continue;
      for (const host::RdmaPort& port : device.ports) {
        const auto rate = rates::link_rate(rates::rdma_end(at.node->facts, device.name, port.port, std::nullopt), 1);
        if (!rate || (*rate).gbit_per_s <= kSameRate * (*own).at_most_gbit_per_s.value_or((*own).gbit_per_s)) continue;
        return {fmt::format("{}, and {} port {} there, of the same model, at {}: it trained lower, or is cabled to another kind of port",
                            runs_at(at, (*own).name), device.name, port.port, (*rate).name),
                {kRateRemedy}};
      }
    }
  }
  return {};
}

/// What to use instead of a GID that is not routed: one that the port has, else an address for its interface.
std::string gid_remedy(const Port& at, const SideResult& side, const host::Gid& used) {
  const char* option = side.role == "server" ? "--peer-gid-index" : "--gid-index";
  const std::string& host = at.node->facts.hostname;
  for (const host::Gid& gid : at.port->gids)
    if (host::is_routable_roce(gid) && gid.ip && !contains(*gid.ip, ":"))
      return fmt::format("use `{} {}`: RoCE v2 of {}, which {} port {} on {} has", option, gid.index, *gid.ip, at.device->name, at.port->port, host);
  std::string netdev = used.netdev.value_or(at.device->netdevs.empty() ? "its interface" : at.device->netdevs.front());
  return fmt::format("on {}: give {} an IPv4 address (`ip address add ADDRESS/PREFIX dev {}`): no RoCE v2 GID with one is there", host, netdev, netdev);
}

}  // namespace

Cause cause_in_port_rate(const Measurement& measurement, const Record& record) {
  const rates::Term* limit = measurement.expectation.limit();
  if (!limit || !limit->given_by_user) return {};
  for (const Port& at : ports_of(measurement, record)) {
    const auto own = own_rate(at, measurement);
    if (!own || (*own).at_most_gbit_per_s.value_or((*own).gbit_per_s) >= limit->gbit_per_s) continue;
    std::string lanes = missing_lanes(*at.port);
    const char* remedy = lanes.empty() ? "see the rate of the switch's port and of the cable" : kLanesRemedy;
    return {fmt::format("{}{}, less than the rate given", runs_at(at, (*own).name), lanes), {remedy}};
  }
  return {};
}

Cause cause_in_gids(const Measurement& measurement, const Record& record) {
  Cause cause;
  for (const Port& at : ports_of(measurement, record)) {
    const SideResult& side = *side_of(measurement, at.node->role);
    const host::Gid* gid = gid_of(at, side);
    // An RNIC speaks iWARP, over TCP: its GID only holds its MAC address (field case F34).
    if (at.device->node_type && at.device->node_type.value->starts_with("4")) continue;
    if (!gid || at.port->link_layer != host::LinkLayer::ethernet || host::is_routable_roce(*gid)) continue;
    cause.sentence += fmt::format("{}{} GID in use: index {} ({}) of {} port {} on {}", cause.sentence.empty() ? "" : "; ",
                                  gid->type == host::GidType::roce_v1 ? "RoCE v1" : "link-local", gid->index, gid->ip.value_or(gid->gid),
                                  at.device->name, at.port->port, at.node->facts.hostname);
    cause.remedies.push_back(gid_remedy(at, side, *gid));
  }
  return cause;
}

Cause cause_of_low_expectation(const Measurement& measurement, const Record& record) {
  const rates::Expectation& expectation = measurement.expectation;
  const rates::Term* limit = expectation.limit();
  if (!limit || expectation.is_as_asked()) return {};
  if (limit->kind == rates::TermKind::link) {
    if (Cause cause = narrow_port(measurement, record); !cause.sentence.empty()) return cause;
    if (Cause cause = slower_end(expectation); !cause.sentence.empty()) return cause;
    if (Cause cause = limit->given_by_user ? Cause{} : slower_than_sibling(measurement, record); !cause.sentence.empty()) return cause;
  }
  const rates::Term* port = expectation.slowest_link();
  if (limit->kind == rates::TermKind::pcie && port) {
    return {fmt::format("{} carries {:.1f} Gbit/s, less than the {:.1f} of {}", limit->name, limit->gbit_per_s, port->gbit_per_s, port->name),
            pcie_remedies(*limit, record)};
  }
  for (const rates::Term& better : expectation.terms) {
    if (!better.informational || better.gbit_per_s <= limit->gbit_per_s) continue;
    double share = 100.0 * (better.gbit_per_s - limit->gbit_per_s) / better.gbit_per_s;
    if (share < 1) continue;
    return {fmt::format("path MTU costs {:.1f} % ({:.1f} Gbit/s; {} could carry {:.1f})", share, limit->gbit_per_s, better.name, better.gbit_per_s),
            mtu_remedies(measurement, record)};
  }
  return {};
}

}  // namespace railgauge::report
