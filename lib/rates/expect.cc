#include "rates/expect.h"

#include <fmt/format.h>

#include <algorithm>

#include "rates/terms.h"

namespace railgauge::rates {
namespace {

constexpr int kBestMtu = 4096;
constexpr int kPacedHeader = 14;        // Ethernet's, which the fq qdisc counts with the IP packet (qdisc_pkt_len_init, Linux 6.1)

/// How a host's PCIe links are used: by the sender's NIC reading memory, by the receiver's writing it, or both.
struct Traffic {
  bool reads = false;
  bool writes = false;
};

Traffic traffic_of(Flow flow, bool client) {
  const bool sends = flow == Flow::both || (flow == Flow::to_server) == client;
  const bool receives = flow == Flow::both || (flow == Flow::to_client) == client;
  return {sends, receives};
}

Expectation none(std::string reason) {
  Expectation out;
  out.reason = std::move(reason);
  return out;
}

/// The PCIe paths of one end: one, or those of the slaves of a bond.
struct HostPaths {
  std::vector<const host::PciPath*> paths;
  std::size_t slaves = 1;
};

/// Of a bond the slaves' paths; where none is known the end's own, which for RDMA is that of the card with all its ports.
HostPaths paths_of(const host::PciPath& own, const std::optional<host::Netdev>& netdev, const std::vector<host::Netdev>& slaves) {
  HostPaths out;
  for (const host::Netdev& slave : slaves)
    if (!slave.pci.links.empty()) out.paths.push_back(&slave.pci);
  if (netdev && netdev->bond_slaves.size() > 1 && !out.paths.empty()) return {out.paths, netdev->bond_slaves.size()};
  return {{&own}, 1};
}

HostPaths paths_of(const RdmaEnd& end) {
  // A stand-in lies beside the host's real interfaces: only its own path is its.
  return paths_of(end.device.pci, end.device.simulated ? std::nullopt : end.netdev, end.slaves);
}

HostPaths paths_of(const TcpEnd& end) { return paths_of(end.netdev.pci, end.netdev, end.slaves); }

/// One physical link, and how many paths cross it.
struct UsedLink {
  std::string key;
  const host::PciLink* link;
  const host::PciPath* path;
  std::size_t paths;
};

/// Every link once. The functions of one card (same domain:bus:device) share theirs; of bridges each function has its own.
std::vector<UsedLink> links_of(const std::vector<const host::PciPath*>& paths) {
  std::vector<UsedLink> out;
  for (const host::PciPath* path : paths) {
    for (const host::PciLink& link : path->links) {
      const bool card = &link == &path->links.front();
      const std::string key = card ? link.address.substr(0, link.address.rfind('.')) : link.address;
      const auto known = std::find_if(out.begin(), out.end(), [&](const UsedLink& used) { return used.key == key; });
      if (known == out.end())
        out.push_back({key, &link, path, 1});
      else
        ++known->paths;
    }
  }
  return out;
}

/// What a link of some slaves means for the traffic of the whole bond: with flows enough each slave carries its share; few
/// flows may all take this link, or as many slaves as there are flows.
void scale_to_bond(Term& term, std::size_t sharing, std::size_t slaves, std::size_t flows) {
  if (sharing >= slaves) return;
  const double own = term.gbit_per_s;
  term.name += fmt::format(" ({} of {} slaves)", sharing, slaves);
  if (flows < 2 * slaves) {
    if (flows > 1) term.at_most_gbit_per_s = own * static_cast<double>(std::min(flows, slaves));
    return;
  }
  term.gbit_per_s = own * static_cast<double>(slaves) / static_cast<double>(sharing);
  term.formula = fmt::format("{} / {} x {}", slaves, sharing, term.formula);
}

void add_pcie_terms(Expectation& out, const HostPaths& paths, const std::string& host_name, Traffic traffic, int flows) {
  PcieUse assumed{host_name, host::Fact<int>::of(kUsualMaxPayload), traffic.writes};
  for (const UsedLink& used : links_of(paths.paths)) {
    const PcieUse use{host_name, used.path->max_payload_bytes, traffic.writes};
    if (!use.max_payload_bytes) assumed = use;
    std::optional<Term> term = pcie_link_term(*used.link, use, out.notes);
    if (!term) continue;
    scale_to_bond(*term, used.paths, paths.slaves, static_cast<std::size_t>(flows));
    out.terms.push_back(std::move(*term));
  }
  note_assumed_payload(assumed, out.notes);
}

/// The path MTU in effect, or the reason why it is not known.
host::Fact<int> path_mtu(const RdmaQuestion& question, const RdmaEnd& client, const RdmaEnd& server) {
  if (question.path_mtu_bytes) return host::Fact<int>::of(*question.path_mtu_bytes);
  std::optional<int> smallest;
  for (const RdmaEnd* end : {&client, &server}) {
    std::optional<int> mtu = end->port.active_mtu_bytes.value;
    if (!mtu && end->port.link_layer == host::LinkLayer::ethernet && end->netdev && end->netdev->mtu_bytes)
      mtu = path_mtu_of_netdev(*end->netdev->mtu_bytes, false);
    if (!mtu) return host::Fact<int>::missing(fmt::format("path MTU of {} on {} unknown", end->device.name, end->host));
    smallest = std::min(smallest.value_or(*mtu), *mtu);
  }
  return host::Fact<int>::of(*smallest);
}

PacketFormat format_of(const RdmaQuestion& question, const RdmaEnd& end, Expectation& out) {
  if (end.port.link_layer != host::LinkLayer::ethernet) return {Wire::infiniband, question.grh, false, false};
  if (!end.gid) {
    out.notes.push_back("GID in use unknown: RoCE v2 over IPv4 assumed, which has the smallest headers");
    return {Wire::roce_v2, false, false, question.vlan};
  }
  if (end.gid->type != host::GidType::roce_v2) return {Wire::roce_v1, false, false, question.vlan};
  // A RoCE v2 GID that maps an IPv4 address sends IPv4 packets, any other one IPv6.
  const bool ipv4 = end.gid->gid.rfind("0000:0000:0000:0000:0000:ffff:", 0) == 0;
  return {Wire::roce_v2, false, !ipv4, question.vlan};
}

/// Makes the packets as short as `mss_bytes` has them, and says what they rest on: "MTU 1500", "MSS 524".
std::string shorten_to_mss(TcpFormat& format, std::optional<int> mss_bytes) {
  const int missing = tcp_payload_bytes(format) - mss_bytes.value_or(tcp_payload_bytes(format));
  if (missing <= 0) return fmt::format("MTU {}", format.mtu_bytes);
  format.mtu_bytes -= missing;
  return fmt::format("MSS {}", *mss_bytes);
}

std::string software_reason(const RdmaEnd& client, const RdmaEnd& server) {
  for (const RdmaEnd* end : {&client, &server}) {
    if (end->device.software && !end->device.simulated) return fmt::format("software device ({} on {})", end->device.name, end->host);
  }
  return {};
}

/// The term of a link that `share` of `rate` is payload of; name, formula and source are the caller's.
Term link_term(const LinkRate& rate, double share, const std::string& host_name, const std::string& address) {
  Term term;
  term.gbit_per_s = rate.gbit_per_s * share;
  term.host = host_name;
  term.address = address;
  term.given_by_user = rate.given_by_user;
  if (rate.at_most_gbit_per_s) term.at_most_gbit_per_s = *rate.at_most_gbit_per_s * share;
  return term;
}

/// The wire terms of both ends; sets `reason` when a rate is unknown. Returns the slower rate.
std::optional<double> add_port_terms(Expectation& out, const RdmaQuestion& question, const Message& message, const RdmaEnd& client,
                                     const RdmaEnd& server) {
  std::optional<double> slower;
  for (const RdmaEnd* end : {&client, &server}) {
    const host::Fact<LinkRate> rate = link_rate(*end, question.qps);
    if (!rate) {
      if (out.reason.empty())
        out.reason = fmt::format("link rate of {} port {} on {} unknown: {}", end->device.name, end->port.port, end->host, rate.reason);
      continue;
    }
    slower = std::min(slower.value_or((*rate).gbit_per_s), (*rate).gbit_per_s);
    Term term = link_term(*rate, wire_efficiency(message), end->host, end->device.name);
    term.name = fmt::format("port {} of {} on {}", (*rate).name, end->device.name, end->host);
    term.formula = fmt::format("{:.6g} Gb/s x {} ({} {}, path MTU {})", (*rate).gbit_per_s, wire_formula(message),
                               name_of(message.format.wire), name_of(message.operation), message.path_mtu_bytes);
    term.source = fmt::format("{}; per packet {}", (*rate).source, packet_overhead_text(message.format));
    out.terms.push_back(std::move(term));
  }
  return slower;
}

/// The limit that the plan set itself. It counts payload; where the kernel may count headers as well, `payload_share` of it
/// is safe to expect.
void add_asked_term(Expectation& out, std::optional<double> asked_gbit_per_s, const std::string& what, double payload_share, const std::string& share_formula) {
  if (!asked_gbit_per_s) return;
  Term term;
  term.name = fmt::format("{} {:g} Gb/s as asked", what, *asked_gbit_per_s);
  term.gbit_per_s = *asked_gbit_per_s * payload_share;
  term.formula = fmt::format("{:g} Gb/s{}", *asked_gbit_per_s, share_formula);
  term.source = "the plan: the limit of each sending side, over all its flows";
  term.kind = TermKind::asked;
  if (payload_share < 1) term.at_most_gbit_per_s = *asked_gbit_per_s;
  out.terms.push_back(std::move(term));
}

void add_better_mtu(Expectation& out, Message message, double rate) {
  if (message.path_mtu_bytes >= kBestMtu) return;
  const int actual = message.path_mtu_bytes;
  message.path_mtu_bytes = kBestMtu;
  out.terms.push_back({.name = fmt::format("ports with path MTU {} instead of {}", kBestMtu, actual),
                       .gbit_per_s = rate * wire_efficiency(message),
                       .formula = fmt::format("{:.6g} Gb/s x {}", rate, wire_formula(message)),
                       .source = fmt::format("per packet {}", packet_overhead_text(message.format)),
                       .informational = true});
}

}  // namespace

Expectation expect_rdma(const RdmaQuestion& question, const RdmaEnd& client, const RdmaEnd& server) {
  if (std::string reason = software_reason(client, server); !reason.empty()) return none(reason);
  const host::Fact<int> mtu = path_mtu(question, client, server);
  if (!mtu) return none(mtu.reason);
  Expectation out;
  const bool atomic = question.operation == RdmaOperation::atomic;
  const Message message{question.operation, atomic ? 8 : question.message_bytes, *mtu, format_of(question, client, out)};
  const auto slower = add_port_terms(out, question, message, client, server);
  if (slower) add_better_mtu(out, message, *slower);
  add_pcie_terms(out, paths_of(client), client.host, traffic_of(question.flow, true), question.qps);
  add_pcie_terms(out, paths_of(server), server.host, traffic_of(question.flow, false), question.qps);
  add_asked_term(out, question.asked_gbit_per_s, "rate limit", 1, " of payload");
  out.wire_limit_only = question.message_rate || atomic || question.message_bytes < kSmallMessageBytes;
  if (out.reason.empty()) find_limit(out);
  return out;
}

Expectation expect_tcp(const TcpQuestion& question, const TcpEnd& client, const TcpEnd& server) {
  Expectation out;
  std::optional<int> mtu = question.mtu_bytes;
  if (!mtu && client.netdev.mtu_bytes && server.netdev.mtu_bytes) mtu = std::min(*client.netdev.mtu_bytes, *server.netdev.mtu_bytes);
  if (!mtu) return none(fmt::format("MTU of {} on {} or of {} on {} unknown", client.netdev.name, client.host, server.netdev.name, server.host));
  TcpFormat format{*mtu, question.ipv6, question.vlan};
  if (tcp_payload_bytes(format) <= 0) return none(fmt::format("an MTU of {} has no room for TCP", *mtu));
  const std::string packets = shorten_to_mss(format, question.mss_bytes);
  for (const TcpEnd* end : {&client, &server}) {
    const host::Fact<LinkRate> rate = link_rate(*end, question.streams);
    if (!rate) {
      if (out.reason.empty()) out.reason = fmt::format("link rate of {} on {} unknown: {}", end->netdev.name, end->host, rate.reason);
      continue;
    }
    Term term = link_term(*rate, tcp_efficiency(format), end->host, end->netdev.name);
    term.name = fmt::format("link {} of {} on {}", (*rate).name, end->netdev.name, end->host);
    term.formula = fmt::format("{:.6g} Gb/s x {} ({}, {}, timestamps)", (*rate).gbit_per_s, tcp_formula(format), packets,
                               question.ipv6 ? "IPv6" : "IPv4");
    term.source = fmt::format("{}; Ethernet 38, IP {}, TCP 32 per frame", (*rate).source, question.ipv6 ? 40 : 20);
    out.terms.push_back(std::move(term));
  }
  add_pcie_terms(out, paths_of(client), client.host, traffic_of(question.flow, true), question.streams);
  add_pcie_terms(out, paths_of(server), server.host, traffic_of(question.flow, false), question.streams);
  const int paced_bytes = format.mtu_bytes + kPacedHeader;
  add_asked_term(out, question.asked_gbit_per_s, "pacing", static_cast<double>(tcp_payload_bytes(format)) / paced_bytes,
                 fmt::format(" x {} / {}, where frames are paced", tcp_payload_bytes(format), paced_bytes));
  if (out.reason.empty()) find_limit(out);
  return out;
}

Expectation expect_link(const LinkQuestion& question) {
  Expectation out;
  const double efficiency = question.rdma ? wire_efficiency(*question.rdma) : tcp_efficiency(*question.tcp);
  const std::string formula = question.rdma ? wire_formula(*question.rdma) : tcp_formula(*question.tcp);
  out.terms.push_back({.name = "port " + question.link_name,
                       .gbit_per_s = question.data_gbit_per_s * efficiency,
                       .formula = fmt::format("{:.6g} Gb/s x {}", question.data_gbit_per_s, formula),
                       .source = question.rdma ? "per packet " + packet_overhead_text(question.rdma->format)
                                               : fmt::format("Ethernet 38, IP {}, TCP 32 per frame", question.tcp->ipv6 ? 40 : 20)});
  if (question.rdma) add_better_mtu(out, *question.rdma, question.data_gbit_per_s);
  if (question.pcie) {
    out.terms.push_back(pcie_term(*question.pcie, "the receiver", true, true));
    out.terms.push_back(pcie_term(*question.pcie, "the sender", false, true));
  }
  if (question.rdma) out.wire_limit_only = question.rdma->operation == RdmaOperation::atomic || question.rdma->bytes < kSmallMessageBytes;
  find_limit(out);
  return out;
}

}  // namespace railgauge::rates
