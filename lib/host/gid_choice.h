#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"

namespace railgauge::host {

/// RoCE v2 with an address that is not link-local: reaches the peer through any router, and switches mark it for ECN.
bool is_routable_roce(const Gid& gid);

/// The largest index that verbs can name: ibv_global_route.sgid_index has eight bits, while tables may be longer.
inline constexpr int kMaxGidIndex = 255;

/// What the choice of a GID rests on.
struct GidQuestion {
  std::string device;                   ///< for messages: "mlx5_0"
  RdmaPort port;
  std::vector<Netdev> netdevs;          ///< of the same host: prefix lengths, up or down
  std::vector<Gid> peer;                ///< GIDs of the peer's chosen port; empty: not known, matched against nothing
  std::string local_ip;                 ///< of the control connection on this side; may be empty
  std::string peer_ip;                  ///< its other end: stands for the peer's subnet while `peer` is empty
  std::optional<int> index;             ///< the user's
};

struct GidChoice {
  std::optional<int> index;             ///< nothing: InfiniBand addressed by LID
  std::string reason;                   ///< one sentence
  std::vector<std::string> warnings;    ///< "index 3 is RoCE v1: neither routed nor ECN-marked"
};

/// Chooses this side's GID. Order: user index > RoCE v2 IPv4-mapped > v2 global IPv6 > v2 link-local > v1, among
/// the kinds that the peer has as well; within a kind: same subnet as one of the peer's, the control connection's
/// address, no VLAN, interface up, lowest subnet (so that both ends, deciding alone, agree), lowest index. Entries above
/// kMaxGidIndex are left out.
/// Throws Error{usage} for a user index that is empty or absent, naming those present; Error{system} when the
/// port has no GID or no kind in common with the peer.
GidChoice choose_gid(const GidQuestion& question);

}  // namespace railgauge::host
