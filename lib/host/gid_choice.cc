#include "host/gid_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "host/subnet.h"

namespace railgauge::host {
namespace {

/// Kinds of GID from the most to the least wanted; two ports can talk only within one kind.
enum class Kind { v2_ipv4, v2_ipv6, v2_local_ipv4, v2_local_ipv6, v1_ipv4, v1_ipv6, v1_local_ipv4, v1_local_ipv6 };

bool has_ipv4(const Gid& gid) { return gid.ip && gid.ip->find(':') == std::string::npos; }

bool is_link_local(const Gid& gid) {
  if (has_ipv4(gid)) return gid.ip->compare(0, 8, "169.254.") == 0;
  return gid.gid.compare(0, 3, "fe8") == 0 || gid.gid.compare(0, 3, "fe9") == 0 || gid.gid.compare(0, 3, "fea") == 0 ||
         gid.gid.compare(0, 3, "feb") == 0;
}

Kind kind_of(const Gid& gid) {
  int rank = gid.type == GidType::roce_v2 ? 0 : 4;
  if (is_link_local(gid)) rank += 2;
  if (!has_ipv4(gid)) rank += 1;
  return static_cast<Kind>(rank);
}

const char* words_of(Kind kind) {
  switch (kind) {
    case Kind::v2_ipv4: return "RoCE v2 with an IPv4 address";
    case Kind::v2_ipv6: return "RoCE v2 with a global IPv6 address";
    case Kind::v2_local_ipv4: return "RoCE v2 with a link-local IPv4 address";
    case Kind::v2_local_ipv6: return "RoCE v2, link-local";
    case Kind::v1_ipv4: return "RoCE v1 with an IPv4 address";
    case Kind::v1_ipv6: return "RoCE v1 with a global IPv6 address";
    case Kind::v1_local_ipv4: return "RoCE v1 with a link-local IPv4 address";
    case Kind::v1_local_ipv6: break;
  }
  return "RoCE v1, link-local";
}

std::string port_name(const GidQuestion& q) { return fmt::format("{} port {}", q.device, q.port.port); }

/// "3 (10.0.0.1, RoCE v2, ens1)"
std::string describe(const Gid& gid) {
  return fmt::format("{} ({}, {}{}{})", gid.index, gid.ip.value_or(gid.gid), gid.type_doubt ? "version not known, taken for " : "",
                     name_of(gid.type), gid.netdev ? ", " + *gid.netdev : std::string());
}

std::string describe(const std::vector<Gid>& gids) {
  constexpr std::size_t kShown = 8;
  if (gids.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(gids.size(), kShown); ++i) text += (i ? ", " : "") + describe(gids[i]);
  if (gids.size() > kShown) text += fmt::format(" and {} more", gids.size() - kShown);
  return text;
}

void warn_of_kind(const GidQuestion& q, const Gid& gid, GidChoice& choice) {
  if (gid.type_doubt)
    choice.warnings.push_back(fmt::format("GID index {} of {} is taken for {}: {}", gid.index, port_name(q), name_of(gid.type), *gid.type_doubt));
  if (gid.type == GidType::roce_v1)
    choice.warnings.push_back(
        fmt::format("GID index {} of {} is RoCE v1: not routed and not ECN-marked", gid.index, port_name(q)));
  bool common = q.peer.empty() || std::any_of(q.peer.begin(), q.peer.end(), [&](const Gid& p) { return kind_of(p) == kind_of(gid); });
  if (!common)
    choice.warnings.push_back(fmt::format("the peer has no GID of the kind of index {} of {} ({}); it has {}", gid.index,
                                          port_name(q), words_of(kind_of(gid)), describe(q.peer)));
}

GidChoice by_user(const GidQuestion& q) {
  for (const Gid& gid : q.port.gids) {
    if (gid.index != *q.index) continue;
    GidChoice choice{gid.index, fmt::format("GID index {} of {}: asked for", describe(gid), port_name(q)), {}};
    if (q.port.link_layer == LinkLayer::ethernet) warn_of_kind(q, gid, choice);
    return choice;
  }
  throw Error(ErrorKind::usage, fmt::format("GID index {} of {} is empty; present: {}", *q.index, port_name(q), describe(q.port.gids)));
}

/// Within one subnet the LID is enough; another subnet prefix (the upper 64 bits) needs a global route header.
GidChoice for_infiniband(const GidQuestion& q) {
  constexpr std::size_t kPrefixCharacters = 19;
  std::string lid = q.port.lid ? fmt::format("LID {}", *q.port.lid) : "LID";
  if (q.port.gids.empty() || q.peer.empty())
    return {std::nullopt, fmt::format("InfiniBand: {} is addressed by {}, no GID needed", port_name(q), lid), {}};
  const Gid& own = q.port.gids.front();
  for (const Gid& peer : q.peer)
    if (peer.gid.compare(0, kPrefixCharacters, own.gid, 0, kPrefixCharacters) == 0)
      return {std::nullopt, fmt::format("InfiniBand, both ports in one subnet: {} is addressed by {}, no GID needed", port_name(q), lid), {}};
  return {own.index, fmt::format("GID index {} of {}: the ports are in different InfiniBand subnets", describe(own), port_name(q)), {}};
}

/// What decides between GIDs, the most important first; false sorts before true.
struct Candidate {
  const Gid* gid = nullptr;
  Kind kind = Kind::v1_local_ipv6;
  bool other_subnet = true;
  bool not_control = true;
  bool tagged = true;       ///< on a VLAN or another virtual interface above the port's own
  bool down = true;
  std::optional<Subnet> subnet;
  auto key() const { return std::tuple(kind, other_subnet, not_control, tagged, down, subnet, gid->index); }
};

Candidate candidate_of(const GidQuestion& q, const Gid& gid) {
  Candidate c;
  c.gid = &gid;
  c.kind = kind_of(gid);
  if (gid.ip) c.subnet = subnet_of_own_ip(*gid.ip, q.netdevs);
  for (const Gid& peer : q.peer)
    if (c.subnet && peer.ip && kind_of(peer) == c.kind && contains(*c.subnet, *peer.ip)) c.other_subnet = false;
  if (q.peer.empty() && c.subnet && contains(*c.subnet, q.peer_ip)) c.other_subnet = false;
  c.not_control = !gid.ip || *gid.ip != q.local_ip;
  for (const Netdev& netdev : q.netdevs) {
    if (gid.netdev != netdev.name) continue;
    c.tagged = netdev.virtual_device && netdev.bond_slaves.empty();
    c.down = netdev.operstate && *netdev.operstate == "down";
  }
  return c;
}

std::vector<Candidate> candidates_of(const GidQuestion& q) {
  std::vector<Candidate> candidates;
  for (const Gid& gid : q.port.gids) {
    if (gid.index > kMaxGidIndex) continue;
    bool common = q.peer.empty() || std::any_of(q.peer.begin(), q.peer.end(), [&](const Gid& p) { return kind_of(p) == kind_of(gid); });
    if (common) candidates.push_back(candidate_of(q, gid));
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
  return candidates;
}

std::string reason_for(const GidQuestion& q, const Candidate& best, std::size_t count_of_kind) {
  std::string why = count_of_kind == 1 ? "the only one that is " : "";
  why += words_of(best.kind);
  if (!best.other_subnet) why += ", in the peer's subnet " + text_of(*best.subnet);
  if (!best.not_control) why += ", the address of the control connection";
  return fmt::format("GID index {} of {}: {}", describe(*best.gid), port_name(q), why);
}

}  // namespace

bool is_routable_roce(const Gid& gid) { return gid.type == GidType::roce_v2 && !is_link_local(gid); }

GidChoice choose_gid(const GidQuestion& question) {
  if (question.index) return by_user(question);
  if (question.port.link_layer == LinkLayer::infiniband) return for_infiniband(question);
  if (question.port.gids.empty())
    throw Error(ErrorKind::system, fmt::format("{} has no GID but all-zero ones: give its interface an address, in this network namespace",
                                               port_name(question)));
  std::vector<Candidate> candidates = candidates_of(question);
  if (candidates.empty())
    throw Error(ErrorKind::system,
                fmt::format("{} and the peer have no GID of the same RoCE version and address family; here: {}; peer: {}",
                            port_name(question), describe(question.port.gids), describe(question.peer)));
  const Candidate& best = candidates.front();
  auto same_kind = std::count_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.kind == best.kind; });
  GidChoice choice{best.gid->index, reason_for(question, best, static_cast<std::size_t>(same_kind)), {}};
  if (question.port.link_layer == LinkLayer::ethernet) warn_of_kind(question, *best.gid, choice);
  if (!question.peer.empty() && best.subnet && best.other_subnet)
    choice.warnings.push_back(fmt::format("no GID of the peer lies in {}: the traffic is routed", text_of(*best.subnet)));
  return choice;
}

}  // namespace railgauge::host
