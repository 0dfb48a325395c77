#include "report/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "host/counters.h"

namespace railgauge::report {
namespace {

using results::CounterDelta;
using results::Measurement;
using results::Record;
using results::SideResult;

bool moved(const CounterDelta& counter) { return counter.delta && *counter.delta > 0; }

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Damage on a lane or contact, in whatever words the counter's source uses.
bool is_physical(std::string_view name) {
  return contains(name, "symbol") || contains(name, "err_lane") || contains(name, "carrier") || contains(name, "signal_integrity");
}

std::string moved_text(const SideResult& side, const CounterDelta& counter) {
  return fmt::format("{} +{} on {}", counter.name, *counter.delta, side.host.empty() ? side.role : side.host);
}

struct Moved {
  const SideResult* side;
  const CounterDelta* counter;
};

/// The first counter that moved and whose name fits, over both sides.
template <typename Fits>
std::optional<Moved> find_moved(const Measurement& measurement, Fits fits) {
  for (const SideResult& side : measurement.sides)
    for (const CounterDelta& counter : side.counters)
      if (moved(counter) && fits(std::string_view(counter.name))) return Moved{&side, &counter};
  return std::nullopt;
}

// The three families of host-facts.md 3.3, rules 2 to 4.
bool is_host_pressure(std::string_view name) {
  return (starts_with(name, "tx_prio") && contains(name, "pause")) || name == "tx_pause_ctrl_phy" || starts_with(name, "outbound_pci_stalled") ||
         name == "outbound_pci_buffer_overflow";
}
bool is_fabric_pressure(std::string_view name) {
  return (starts_with(name, "rx_prio") && contains(name, "pause")) || name == "rx_pause_ctrl_phy" || name == "port_xmit_wait" ||
         name == "np_cnp_sent" || name == "rp_cnp_handled" || name == "np_ecn_marked_roce_packets";
}
bool is_loss(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {"rcvd_seq_err", "out_of_seq_request", "out_of_sequence",   "packet_seq_err",  "implied_nak_seq_err", "local_ack_timeout_err",
                                                      "duplicate_request", "TcpRetransSegs",  "rx_missed_errors",    "rx_discards_phy"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || starts_with(name, "roce_adp_retrans");
}

/// Retransmissions of all streams of the sending side, from the last TCP_INFO of each.
std::uint64_t tcp_retransmissions(const Measurement& measurement) {
  std::uint64_t most = 0;
  for (const SideResult& side : measurement.sides) {
    std::map<int, std::uint64_t> last;
    for (const auto& sample : side.tcp_info)
      if (auto found = sample.fields.find("total_retrans"); found != sample.fields.end()) last[sample.stream] = found->second;
    std::uint64_t sum = 0;
    for (const auto& [stream, count] : last) sum += count;
    most = std::max(most, sum);
  }
  return most;
}

/// What TCP itself was waiting for most of the time, and what moves it (tcp_info busy, rwnd_limited, sndbuf_limited times).
Cause tcp_limiter(const std::string& limiter) {
  if (limiter == "cpu")
    return {"limited by CPU: a measuring thread was busy all the time",
            {"use more --threads and --streams, or place them on the NIC's NUMA node with --cpu"}};
  if (limiter == "receive window") return {"limited by the receive window", {"raise net.ipv4.tcp_rmem on the receiver, or --window"}};
  if (limiter == "send buffer") return {"limited by the send buffer", {"raise net.ipv4.tcp_wmem on the sender, or --window"}};
  if (limiter == "network")
    return {"limited by the network (congestion window)", {"look for loss and competing traffic; compare --congestion bbr and cubic"}};
  if (limiter == "pacing") return {"limited by pacing, as asked", {}};
  return {};
}

std::string limiter_of(const Measurement& measurement) {
  for (const SideResult& side : measurement.sides)
    if (!side.limiter.empty()) return side.limiter;
  return {};
}

const host::RdmaDevice* device_of(const results::Node& node, const SideResult& side) {
  for (const host::RdmaDevice& device : node.facts.rdma_devices)
    if (side.placement.device && device.name == *side.placement.device) return &device;
  return nullptr;
}

/// The interface below a RoCE device: of the GID in use, else the device's first.
std::string netdev_of(const host::RdmaDevice& device, const SideResult& side) {
  for (const host::RdmaPort& port : device.ports)
    for (const host::Gid& gid : port.gids)
      if (side.placement.gid_index && gid.index == *side.placement.gid_index && gid.netdev) return *gid.netdev;
  return device.netdevs.empty() ? std::string() : device.netdevs.front();
}

/// The MTU commands of the hosts whose interface is smaller than RoCE path MTU 4096 needs.
std::vector<std::string> mtu_remedies(const Measurement& measurement, const Record& record) {
  // 4096 B and the 96 B the kernel takes off for headers (include/rdma/ib_addr.h, iboe_get_mtu).
  constexpr int kNeeded = 4192;
  std::vector<std::string> out;
  for (const results::Node& node : record.nodes) {
    const SideResult* side = side_of(measurement, node.role);
    const host::RdmaDevice* device = side ? device_of(node, *side) : nullptr;
    if (!device) continue;
    std::string name = netdev_of(*device, *side);
    for (const host::Netdev& netdev : node.facts.netdevs)
      if (netdev.name == name && netdev.mtu_bytes && *netdev.mtu_bytes < kNeeded)
        out.push_back(fmt::format("on {}: `ip link set {} mtu 9000` (now {}; RoCE needs {} for path MTU 4096), the switch ports as well",
                                  node.facts.hostname, name, *netdev.mtu_bytes, kNeeded));
  }
  if (out.empty()) out.emplace_back("set the path MTU to 4096 on both ports and the switches between them");
  return out;
}

/// Links of the path that could run faster or wider than they do.
std::vector<std::string> pcie_remedies(const std::string& term, const Record& record) {
  std::vector<std::string> out;
  for (const results::Node& node : record.nodes)
    for (const host::RdmaDevice& device : node.facts.rdma_devices)
      for (const host::PciLink& link : device.pci.links) {
        if (!contains(term, link.address) || !contains(term, node.facts.hostname)) continue;
        if (!link.current_gt_per_s || !link.current_width || !link.max_gt_per_s || !link.max_width) continue;
        if (*link.current_gt_per_s >= *link.max_gt_per_s && *link.current_width >= *link.max_width) continue;
        out.push_back(fmt::format(
            "{} on {} runs at {:g} GT/s x{} and could run at {:g} GT/s x{}: reseat the card, try another slot, look at the riser",
            link.address, node.facts.hostname, *link.current_gt_per_s, *link.current_width, *link.max_gt_per_s, *link.max_width));
      }
  return out;
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

std::string runs_at(const Port& at) {
  return fmt::format("{} port {} on {} runs at {}", at.device->name, at.port->port, at.node->facts.hostname,
                     at.port->rate_text ? *at.port->rate_text : fmt::format("{:g} Gb/s", *at.port->rate_gbit_per_s));
}

constexpr const char* kLanesRemedy = "a damaged lane, or a splitter cable: reseat or replace the cable or its optics, unless this is by design";

/// InfiniBand ports have four lanes; fewer is a lost lane or a split cable (host-facts.md 1, "lanes"). Empty else.
std::string missing_lanes(const host::RdmaPort& port) {
  constexpr int kLanes = 4;
  bool narrow = port.link_layer == host::LinkLayer::infiniband && port.width && *port.width < kLanes;
  return narrow ? fmt::format(": {} of {} lanes", *port.width, kLanes) : std::string();
}

/// A port whose own rate is below what the user said the link carries: nothing else needs explaining.
Cause slower_port(const Measurement& measurement, const Record& record) {
  auto expected = measurement.expectation.gbit_per_s();
  for (const Port& at : ports_of(measurement, record)) {
    if (!expected || !at.port->rate_gbit_per_s || *at.port->rate_gbit_per_s >= *expected) continue;
    return {fmt::format("{}{}, less than the rate given", runs_at(at), missing_lanes(*at.port)), {missing_lanes(*at.port).empty() ? "see the rate of the switch's port and of the cable" : kLanesRemedy}};
  }
  return {};
}

/// A port that lost lanes, where the expectation has followed it.
Cause narrow_port(const Measurement& measurement, const Record& record) {
  auto expected = measurement.expectation.gbit_per_s();
  for (const Port& at : ports_of(measurement, record)) {
    std::string lanes = missing_lanes(*at.port);
    if (lanes.empty() || !at.port->rate_gbit_per_s || !expected || *at.port->rate_gbit_per_s < *expected) continue;
    return {runs_at(at) + lanes, {kLanesRemedy}};
  }
  return {};
}

const rates::Term* limiting_term(const rates::Expectation& expectation) {
  return expectation.limiting && *expectation.limiting < expectation.terms.size() ? &expectation.terms[*expectation.limiting] : nullptr;
}

/// The smallest term about a port: what the link would carry were it not for the slot.
const rates::Term* port_term(const rates::Expectation& expectation) {
  const rates::Term* smallest = nullptr;
  for (const rates::Term& term : expectation.terms)
    if (!term.informational && !starts_with(term.name, "PCIe") && (!smallest || term.gbit_per_s < smallest->gbit_per_s)) smallest = &term;
  return smallest;
}

}  // namespace

std::optional<std::string> mismatch_text(const Measurement& measurement) {
  for (const SideResult& side : measurement.sides) {
    if (!side.verification || side.verification->mismatched_bytes == 0) continue;
    const results::Verification& found = *side.verification;
    std::string text = fmt::format("data on {} is wrong: {} of {} bytes checked differ", side.host.empty() ? side.role : side.host,
                                   found.mismatched_bytes, found.checked_bytes);
    if (found.first_offset) text += fmt::format(", first at offset {}", *found.first_offset);
    if (found.expected && found.found) text += fmt::format(": expected 0x{:02x}, found 0x{:02x}", *found.expected, *found.found);
    return text;
  }
  return std::nullopt;
}

LinkState link_state(const Measurement& measurement) {
  LinkState worst;
  for (const SideResult& side : measurement.sides) {
    for (const CounterDelta& counter : side.counters) {
      if (!moved(counter)) continue;
      auto meaning = host::meaning_of(counter.name);
      if (!meaning) continue;
      Cleanliness state = Cleanliness::clean;
      if (meaning->severity == host::CounterSeverity::hard_fail) state = Cleanliness::dirty;
      if (meaning->severity == host::CounterSeverity::soft_fail) {
        state = is_physical(counter.name) ? Cleanliness::dirty : Cleanliness::suspicious;
        // TCP expects some loss and repairs it; only RDMA is meant to run on a lossless fabric.
        if (state == Cleanliness::suspicious && measurement.plan.transport == plan::Transport::tcp) state = Cleanliness::clean;
      }
      if (state > worst.cleanliness) worst = {state, fmt::format("{}: {}", moved_text(side, counter), meaning->sentence)};
    }
  }
  return worst;
}

Cause cpu_contention(const Measurement& measurement) {
  // On a CPU of its own a thread waits for interrupts and housekeeping only: some tenths of a per cent.
  constexpr double kContendedShare = 0.05;
  double worst = kContendedShare;
  const SideResult* where = nullptr;
  for (const SideResult& side : measurement.sides) {
    for (const results::ThreadUsage& thread : side.threads) {
      if (!thread.run_queue_wait || thread.elapsed.count() <= 0) continue;
      const double share = static_cast<double>((*thread.run_queue_wait).count()) / static_cast<double>(thread.elapsed.count());
      if (share <= worst) continue;
      worst = share;
      where = &side;
    }
  }
  if (where == nullptr) return {};
  return {fmt::format("CPU contention: a measuring thread on {} was ready to run but had no CPU for {:.0f} % of the time",
                      where->host.empty() ? where->role : where->host, 100 * worst),
          {"stop what else runs on that host, or give the threads CPUs of their own (--cpu, fewer --threads and --streams)"}};
}

/// On one host both sides may still have a port each.
bool one_port(const Measurement& measurement) {
  const SideResult* client = results::side_of(measurement, "client");
  const SideResult* server = results::side_of(measurement, "server");
  return client && server && client->placement.device && client->placement.device == server->placement.device &&
         client->placement.port == server->placement.port;
}

Cause cause_of_low_bandwidth(const Measurement& measurement, const Record& record) {
  if (Cause cause = slower_port(measurement, record); !cause.sentence.empty()) return cause;
  if (record.same_host && measurement.plan.transport == plan::Transport::rdma && measurement.plan.direction == plan::Direction::both && one_port(measurement))
    return {"both ends are on one host: the two directions share its port", {}};
  // Before the counters: a thread without a CPU looks like a slow receiver to the network.
  if (Cause cause = cpu_contention(measurement); !cause.sentence.empty()) return cause;
  if (auto host = find_moved(measurement, is_host_pressure))
    return {fmt::format("bound by the host: {} (it told the network to wait, or waited for PCIe)", moved_text(*host->side, *host->counter)),
            {"check NUMA placement, PCIe MaxReadReq, ACS and IOMMU on that host"}};
  if (auto fabric = find_moved(measurement, is_fabric_pressure))
    return {fmt::format("bound by the fabric: {} (congestion or a slow receiver)", moved_text(*fabric->side, *fabric->counter)),
            {"look for other traffic on the path, and at PFC and ECN settings of the switch"}};
  if (auto loss = find_moved(measurement, is_loss))
    return {fmt::format("lossy path: {}", moved_text(*loss->side, *loss->counter)),
            {"look at drops on the switch ports, and at MTU and flow control on both ends"}};
  if (measurement.plan.transport == plan::Transport::tcp) {
    std::uint64_t retransmissions = tcp_retransmissions(measurement);
    Cause cause = tcp_limiter(limiter_of(measurement));
    if (retransmissions > 0) cause.sentence += fmt::format("{}{} TCP retransmissions", cause.sentence.empty() ? "" : "; ", retransmissions);
    if (!cause.sentence.empty()) return cause;
  }
  bool counted = std::any_of(measurement.sides.begin(), measurement.sides.end(), [](const SideResult& side) { return !side.counters.empty(); });
  return {counted ? "no counter of loss, pause or congestion moved" : "no counters could be read",
          {"check CPU frequency and NUMA placement of both ends, then --depth and --qps"}};
}

Cause cause_of_low_expectation(const Measurement& measurement, const Record& record) {
  const rates::Expectation& expectation = measurement.expectation;
  const rates::Term* limit = limiting_term(expectation);
  if (!limit) return {};
  if (starts_with(limit->name, "port"))
    if (Cause cause = narrow_port(measurement, record); !cause.sentence.empty()) return cause;
  const rates::Term* port = port_term(expectation);
  if (starts_with(limit->name, "PCIe") && port) {
    return {fmt::format("{} carries {:.1f} Gbit/s, less than the {:.1f} of {}", limit->name, limit->gbit_per_s, port->gbit_per_s, port->name),
            pcie_remedies(limit->name, record)};
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
