/// The shortest way through a write: what a small message costs decides what a message rate on this device means.
#pragma once
#include "clock.h"
#include "fabric.h"
#include "objects.h"
#include "transfer.h"

namespace railgauge::simverbs {

/// Has the peer been asked for within the last millisecond of `qp.posted_at`?
inline bool peer_recently_alive(SimQp& qp) noexcept {
  Peer& peer = *qp.target.peer;
  const auto age = static_cast<std::int64_t>(qp.posted_at - peer.checked_at.load(std::memory_order_relaxed));
  if (age < qp.context->alive_ticks) return !peer.dead.load(std::memory_order_relaxed);
  return peer_alive(peer);
}

/// Carries out a one-SGE RDMA write when nothing is out of the ordinary. False: nothing was done, take the long way,
/// which also finds the reason of a refusal.
inline bool write_at_once(SimQp& qp, const ibv_send_wr& wr) noexcept {
  Target& t = qp.target;
  if (wr.opcode != IBV_WR_RDMA_WRITE || wr.num_sge != 1 || t.qp == nullptr || !qp.plain_device) return false;
  const ibv_sge& s = wr.sg_list[0];
  const ContextHeader& mine = *qp.context->header;
  const ContextHeader& theirs = *t.peer->header;
  const bool answers = t.qp->receivable.load(std::memory_order_acquire) == t.qpn &&
                       t.qp->dest_qpn == qp.verbs.qp_base.qp_num &&
                       (t.qp->access.load(std::memory_order_relaxed) & IBV_ACCESS_REMOTE_WRITE) != 0 &&
                       qp.shared->path_mtu_bytes <= t.qp->path_mtu_bytes &&
                       (mine.ports_down.load(std::memory_order_relaxed) | theirs.ports_down.load(std::memory_order_relaxed)) == 0;
  if (!answers || !peer_recently_alive(qp) || s.length == 0 || s.length > qp.max_message) return false;
  const char* from = reinterpret_cast<const char*>(s.addr);
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
    const MrShared* local = find_region(mine, s.lkey);
    if (local == nullptr || local->pd != qp.shared->pd || !inside(*local, s.addr, s.length)) return false;
    from = reinterpret_cast<const char*>(owner_address(*local, s.addr));
  }
  const std::uint64_t remote = wr.wr.rdma.remote_addr;
  if (wr.wr.rdma.rkey != t.prepared_key) return false;
  const MrShared* region = find_region(theirs, wr.wr.rdma.rkey);
  if (region == nullptr || region->pd != t.qp->pd || (region->access & IBV_ACCESS_REMOTE_WRITE) == 0) return false;
  if (!inside(*region, remote, s.length)) return false;
  char* to = direct(t, *region, owner_address(*region, remote), s.length);
  if (to == nullptr) return false;
  copy_in_order(to, from, s.length);
  qp.tx_bytes += s.length;
  qp.tx_packets += s.length <= qp.shared->path_mtu_bytes ? 1 : (s.length - 1) / qp.shared->path_mtu_bytes + 1;
  return true;
}

}  // namespace railgauge::simverbs
