#include "target.h"

#include <cstring>

#include "clock.h"
#include "engine.h"
#include "fabric.h"

namespace railgauge::simverbs {

namespace {

const GidRecord* own_gid(const SimContext& c, std::uint32_t port, std::uint32_t index) noexcept {
  if (port < 1 || port > c.header->port_count || index >= kMaxGids) return nullptr;
  const GidRecord& gid = c.header->ports[port].gids[index];
  return gid.valid != 0 ? &gid : nullptr;
}

/// Does the address vector lead to that port? Same RoCE version at both ends, or the LID of an InfiniBand port.
bool leads_to(const SimContext& c, const ibv_ah_attr& av, const PortRecord& port) noexcept {
  if (av.is_global == 0) return port.is_ethernet == 0 && port.lid == av.dlid;
  const GidRecord* own = own_gid(c, av.port_num, av.grh.sgid_index);
  if (own == nullptr) return false;
  for (std::uint32_t i = 0; i < kMaxGids; ++i) {
    const GidRecord& gid = port.gids[i];
    if (gid.valid != 0 && gid.type == own->type && std::memcmp(gid.raw, av.grh.dgid.raw, 16) == 0) return true;
  }
  return false;
}

bool look_up(SimQp& qp, const ibv_ah_attr& av, std::uint32_t qpn, Target& target) noexcept {
  const QpSlot& slot = fabric()->qps[qpn % kQpSlots];
  if (slot.qpn.load(std::memory_order_acquire) != qpn) return false;
  Peer* peer = acquire_peer(slot);
  if (peer == nullptr) return false;
  auto* shared = peer->at<QpShared>(slot.offset);
  const bool fits = shared->qpn == qpn && shared->type == qp.shared->type && shared->port != 0 &&
                    leads_to(*qp.context, av, peer->header->ports[shared->port]);
  if (!fits) {
    release_peer(peer);
    return false;
  }
  target.peer = peer;
  target.qp = shared;
  target.qpn = qpn;
  target.window = {};
  return true;
}

bool port_down(const ContextHeader& header, std::uint32_t port) noexcept {
  return (header.ports_down.load(std::memory_order_relaxed) >> port & 1u) != 0;
}

}  // namespace

void drop_target(Target& target) noexcept {
  if (target.peer != nullptr) release_peer(target.peer);
  target = {};
}

bool connect_target(SimQp& qp) noexcept {
  return look_up(qp, qp.attr.ah_attr, qp.attr.dest_qp_num, qp.target);
}

Target* datagram_target(SimQp& qp, const ibv_ah_attr& address, std::uint32_t qpn) noexcept {
  auto& known = qp.datagram_targets[qpn];
  if (known && known->qp->qpn == qpn && peer_alive(*known->peer)) return known.get();
  if (known) drop_target(*known);
  known = std::make_unique<Target>();
  if (look_up(qp, address, qpn, *known)) return known.get();
  qp.datagram_targets.erase(qpn);
  return nullptr;
}

bool reachable(SimQp& qp, std::uint64_t length) noexcept {
  Target& t = qp.target;
  if (t.qp == nullptr && !connect_target(qp)) return false;
  if (t.qp->receivable.load(std::memory_order_acquire) != t.qpn || t.qp->dest_qpn != qp.base().qp_num) {
    // a process that is gone stays gone; one that has reset its queue pair may connect it again
    if (t.qp->qpn != t.qpn || !peer_alive(*t.peer)) drop_target(t);
    return false;
  }
  if (port_down(*qp.context->header, qp.shared->port) || port_down(*t.peer->header, t.qp->port)) return false;
  if (qp.shared->path_mtu_bytes > t.qp->path_mtu_bytes && length > t.qp->path_mtu_bytes) return false;
  return peer_alive(*t.peer);
}

}  // namespace railgauge::simverbs
