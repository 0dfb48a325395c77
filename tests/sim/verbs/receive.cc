#include "receive.h"

#include <algorithm>
#include <cstring>

#include "cq.h"
#include "engine.h"
#include "pacing.h"
#include "transfer.h"

namespace railgauge::simverbs {

namespace {

constexpr std::uint32_t kGrhBytes = 40;  // a datagram's buffer begins with room for the global route header

RecvWqe* next_receive(const Target& t) noexcept {
  const std::uint32_t head = t.qp->rq_head.load(std::memory_order_relaxed);
  if (head == t.qp->rq_tail.load(std::memory_order_acquire)) return nullptr;
  return t.peer->at<RecvWqe>(t.qp->rq + std::uint64_t{head & t.qp->rq_mask} * t.qp->rq_stride);
}

/// Status the responder's receive ends with; 0 when its buffers take the message.
std::uint8_t check_receive(const Target& t, const RecvWqe& wqe, std::uint64_t needed) noexcept {
  std::uint64_t room = 0;
  for (std::uint32_t i = 0; i < wqe.num_sge; ++i) {
    const RecvSge& s = wqe.sge[i];
    room += s.length;
    if (s.length == 0) continue;
    const MrShared* mr = find_region(*t.peer->header, s.lkey);
    if (mr == nullptr || mr->pd != t.qp->pd || !inside(*mr, s.address, s.length)) return IBV_WC_LOC_PROT_ERR;
    if ((mr->access & IBV_ACCESS_LOCAL_WRITE) == 0) return IBV_WC_LOC_ACCESS_ERR;
  }
  return room < needed ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

/// Walks the receive's buffers.
struct Scatter {
  Target& target;
  const RecvWqe& wqe;
  std::uint32_t sge = 0;
  std::uint64_t used = 0;

  bool put(const char* from, std::uint64_t length, bool copy) noexcept {
    while (length > 0) {
      const RecvSge& s = wqe.sge[sge];
      const std::uint64_t piece = std::min<std::uint64_t>(length, s.length - used);
      if (piece == 0) {
        ++sge;
        used = 0;
        continue;
      }
      const MrShared* mr = find_region(*target.peer->header, s.lkey);
      if (mr == nullptr) return false;
      if (copy && !write_peer(target, *mr, owner_address(*mr, s.address + used), from, piece)) return false;
      used += piece;
      from += piece;
      length -= piece;
    }
    return true;
  }
};

bool move_message(SimQp& qp, Target& t, const RecvWqe& wqe, const Message& m) noexcept {
  const bool copy = moves(qp, m.total);
  if (!m.with_data) {
    std::uint64_t remote = m.wr.wr.rdma.remote_addr;
    for (int i = 0; copy && i < m.piece_count; ++i) {
      const auto& p = m.pieces[i];
      const std::uint64_t bytes = arriving(qp.tamper, remote - m.wr.wr.rdma.remote_addr, p.length);
      if (bytes > 0 && !write_peer(t, *m.write, owner_address(*m.write, remote), p.bytes, bytes)) return false;
      remote += p.length;
    }
    return true;
  }
  Scatter scatter{t, wqe};
  if (qp.base_type() == IBV_QPT_UD) {
    char grh[kGrhBytes] = {};
    const ibv_ah_attr& av = sim(m.wr.wr.ud.ah).attr;
    grh[0] = 0x60;  // version 6
    std::memcpy(grh + 24, av.grh.dgid.raw, 16);
    if (!scatter.put(grh, kGrhBytes, true)) return false;
  }
  std::uint64_t offset = 0;
  for (int i = 0; i < m.piece_count; ++i) {
    if (!scatter.put(m.pieces[i].bytes, arriving(qp.tamper, offset, m.pieces[i].length), copy)) return false;
    offset += m.pieces[i].length;
  }
  return true;
}

Completion receive_completion(const SimQp& qp, const Target& t, const RecvWqe& wqe, const Message& m) noexcept {
  Completion c;
  c.qp_num = t.qpn;
  c.wr_id = wqe.wr_id;
  c.is_recv = true;
  c.opcode = m.with_data ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  c.byte_len = static_cast<std::uint32_t>(m.total) - (qp.tamper.kind == Tamper::Kind::shorter ? 1 : 0);
  c.src_qp = qp.verbs.qp_base.qp_num;
  c.solicited = (m.wr.send_flags & IBV_SEND_SOLICITED) != 0;
  if (m.wr.opcode == IBV_WR_SEND_WITH_IMM || m.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    c.wc_flags = IBV_WC_WITH_IMM;
    c.imm_data = m.wr.imm_data;
  }
  if (qp.base_type() == IBV_QPT_UD) {
    c.byte_len += kGrhBytes;
    if (sim(m.wr.wr.ud.ah).attr.is_global != 0) c.wc_flags |= IBV_WC_GRH;
  }
  return c;
}

/// The receive's own fault: its completion says what was wrong with it, the sender gets the matching NAK.
Outcome refuse(Target& t, Completion completion, std::uint8_t status) noexcept {
  completion.status = status;
  completion.vendor_err = status == IBV_WC_LOC_LEN_ERR ? kVendorLength : kVendorLocalKey;
  t.qp->rq_head.fetch_add(1, std::memory_order_release);
  push_completion(*t.peer, *t.peer->at<CqShared>(t.qp->recv_cq), completion);
  fail_shared(*t.peer, *t.qp);
  Outcome outcome;
  outcome.status = status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
  outcome.vendor_err = kVendorRemoteOperation;
  outcome.responder_failed = true;
  return outcome;
}

}  // namespace

Outcome deliver(SimQp& qp, Target& t, const Message& m) noexcept {
  Outcome outcome;
  const bool datagram = qp.base_type() == IBV_QPT_UD;
  Guard guard(t.qp->receive_lock);
  if (t.qp->receivable.load(std::memory_order_acquire) != t.qpn) {
    outcome.verdict = Verdict::unreachable;
    return outcome;
  }
  RecvWqe* wqe = next_receive(t);
  if (wqe == nullptr) {
    outcome.verdict = Verdict::not_ready;
    return outcome;
  }
  Completion completion = receive_completion(qp, t, *wqe, m);
  const std::uint64_t needed = m.with_data ? m.total + (datagram ? kGrhBytes : 0) : 0;
  const std::uint8_t bad = m.with_data ? check_receive(t, *wqe, needed) : std::uint8_t{IBV_WC_SUCCESS};
  if (bad != IBV_WC_SUCCESS) return datagram ? outcome : refuse(t, completion, bad);
  if (!move_message(qp, t, *wqe, m)) {
    outcome.status = IBV_WC_REM_OP_ERR;
    outcome.vendor_err = kVendorMemory;
    return outcome;
  }
  if (qp.context->has_wire_model()) outcome.due_ns = book_wire(qp, t, m.total, false);
  completion.due_ns = outcome.due_ns;
  t.qp->rq_head.fetch_add(1, std::memory_order_release);
  if (qp.tamper.kind != Tamper::Kind::unseen) push_completion(*t.peer, *t.peer->at<CqShared>(t.qp->recv_cq), completion);
  outcome.byte_len = static_cast<std::uint32_t>(m.total);
  return outcome;
}

}  // namespace railgauge::simverbs
