#include "execute.h"

#include <algorithm>

#include "cq.h"
#include "engine.h"
#include "pacing.h"
#include "receive.h"
#include "target.h"
#include "transfer.h"

namespace railgauge::simverbs {

namespace {

constexpr Outcome failed(std::uint8_t status, std::uint16_t vendor) noexcept {
  Outcome outcome;
  outcome.status = status;
  outcome.vendor_err = vendor;
  return outcome;
}

/// Local keys and lengths. On success `total` is the message's length.
Outcome check_local(const SimQp& qp, const ibv_send_wr& wr, std::uint64_t& total) noexcept {
  total = 0;
  const bool sink = wr.opcode == IBV_WR_RDMA_READ || wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool keys_count = (wr.send_flags & IBV_SEND_INLINE) == 0;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& s = wr.sg_list[i];
    total += s.length;
    if (!keys_count || s.length == 0) continue;
    const MrShared* mr = find_region(*qp.context->header, s.lkey);
    const bool fits = mr != nullptr && mr->pd == qp.shared->pd && inside(*mr, s.addr, s.length) &&
                      (!sink || (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);
    if (!fits) return failed(IBV_WC_LOC_PROT_ERR, kVendorLocalKey);
  }
  return {};
}

/// The peer's region for a one-sided operation, or why not. A zero-length operation needs no key (general knowledge of the IBTA rules, not checked).
const MrShared* check_remote(SimQp& qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t length, unsigned right,
                             Outcome& outcome) noexcept {
  const Target& t = qp.target;
  const MrShared* mr = find_region(*t.peer->header, rkey);
  if ((t.qp->access.load(std::memory_order_relaxed) & right) == 0) {
    outcome = failed(IBV_WC_REM_INV_REQ_ERR, kVendorRemoteOperation);
  } else if (mr == nullptr || mr->pd != t.qp->pd) {
    outcome = failed(IBV_WC_REM_ACCESS_ERR, kVendorRemoteKey);
  } else if ((mr->access & right) == 0) {
    outcome = failed(IBV_WC_REM_ACCESS_ERR, kVendorRemoteRight);
  } else if (!inside(*mr, address, length)) {
    outcome = failed(IBV_WC_REM_ACCESS_ERR, kVendorRemoteRange);
  } else {
    if (rkey != qp.target.prepared_key) prepare_region(qp.target, *mr, rkey);
    return mr;
  }
  return nullptr;
}

/// The responder of a refused request fails as well and tells its program.
void fail_responder(SimQp& qp, const Outcome& outcome) noexcept {
  if (qp.base().qp_type != IBV_QPT_RC) return;
  Target& t = qp.target;
  Guard guard(t.qp->receive_lock);
  fail_shared(*t.peer, *t.qp);
  const std::uint32_t event = outcome.status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;
  raise_event(*t.peer, {event, t.qpn, 0});
}

Outcome move_sges(SimQp& qp, const ibv_send_wr& wr, const MrShared* mr, std::uint64_t remote, bool towards_peer) noexcept {
  const std::uint64_t begin = remote;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& s = wr.sg_list[i];
    const std::uint64_t bytes = arriving(qp.tamper, remote - begin, s.length);
    if (bytes == 0) continue;
    char* local = local_bytes(qp, wr, s);
    const std::uint64_t at = owner_address(*mr, remote);
    const bool moved = local != nullptr && (towards_peer ? write_peer(qp.target, *mr, at, local, bytes)
                                                         : read_peer(qp.target, *mr, at, local, bytes));
    if (!moved) return failed(IBV_WC_REM_OP_ERR, kVendorMemory);
    remote += s.length;
  }
  return {};
}

Outcome rdma_write(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  Outcome outcome;
  if (total != 0) {
    const MrShared* mr =
        check_remote(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, total, IBV_ACCESS_REMOTE_WRITE, outcome);
    if (mr == nullptr) return outcome;
    if (moves(qp, total)) outcome = move_sges(qp, wr, mr, wr.wr.rdma.remote_addr, true);
  }
  if (outcome.status == IBV_WC_SUCCESS && qp.context->has_wire_model()) {
    outcome.due_ns = book_wire(qp, qp.target, total, false);
  }
  outcome.byte_len = static_cast<std::uint32_t>(total);
  return outcome;
}

Outcome rdma_read(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  const Target& t = qp.target;
  ++qp.reads_in_burst;
  const bool too_many = t.qp->max_dest_rd_atomic == 0 || (qp.reads_in_burst > t.qp->max_dest_rd_atomic &&
                                                          qp.attr.max_rd_atomic > t.qp->max_dest_rd_atomic);
  if (too_many) return failed(IBV_WC_REM_INV_REQ_ERR, kVendorRemoteOperation);
  Outcome outcome;
  if (total != 0) {
    const MrShared* mr =
        check_remote(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, total, IBV_ACCESS_REMOTE_READ, outcome);
    if (mr == nullptr) return outcome;
    if (moves(qp, total)) outcome = move_sges(qp, wr, mr, wr.wr.rdma.remote_addr, false);
  }
  if (outcome.status == IBV_WC_SUCCESS && qp.context->has_wire_model()) {
    outcome.due_ns = book_wire(qp, qp.target, total, true);
  }
  outcome.byte_len = static_cast<std::uint32_t>(total);
  return outcome;
}

Outcome atomic(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  const auto& a = wr.wr.atomic;
  if (total != 8) return failed(IBV_WC_LOC_LEN_ERR, kVendorLength);
  if (a.remote_addr % 8 != 0 || qp.target.qp->max_dest_rd_atomic == 0) {
    return failed(IBV_WC_REM_INV_REQ_ERR, kVendorRemoteOperation);
  }
  Outcome outcome;
  const MrShared* mr = check_remote(qp, a.rkey, a.remote_addr, 8, IBV_ACCESS_REMOTE_ATOMIC, outcome);
  if (mr == nullptr) return outcome;
  auto* word = reinterpret_cast<std::uint64_t*>(reach(qp.target, *mr, owner_address(*mr, a.remote_addr), 8));
  char* local = local_bytes(qp, wr, wr.sg_list[0]);
  if (word == nullptr || local == nullptr || wr.sg_list[0].length != 8) {
    return failed(IBV_WC_REM_OP_ERR, kVendorMemory);
  }
  if (qp.tamper.kind == Tamper::Kind::drop) return outcome;
  std::uint64_t before = a.compare_add;
  if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    before = __atomic_fetch_add(word, a.compare_add, __ATOMIC_SEQ_CST);
  } else {
    __atomic_compare_exchange_n(word, &before, a.swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  copy_in_order(local, &before, 8);
  if (qp.context->has_wire_model()) outcome.due_ns = book_wire(qp, qp.target, 8, true);
  outcome.byte_len = 8;
  return outcome;
}

Outcome send_message(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  const bool with_data = wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
  Outcome outcome;
  const MrShared* mr = nullptr;
  if (!with_data && total != 0) {
    mr = check_remote(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, total, IBV_ACCESS_REMOTE_WRITE, outcome);
    if (mr == nullptr) return outcome;
  }
  Message message{wr, total, with_data, mr};
  for (int i = 0; i < wr.num_sge; ++i) message.add({local_bytes(qp, wr, wr.sg_list[i]), wr.sg_list[i].length});
  return deliver(qp, qp.target, message);
}

/// UC has no answers: what goes wrong at the far side is lost, and the sender's request is done.
Outcome without_answers(const SimQp& qp, const Outcome& outcome, std::uint64_t total) noexcept {
  if (qp.base_type() == IBV_QPT_RC) return outcome;
  const bool remote = outcome.verdict != Verdict::done || (outcome.status >= IBV_WC_REM_INV_REQ_ERR);
  if (!remote) return outcome;
  Outcome lost;
  lost.byte_len = static_cast<std::uint32_t>(total);
  return lost;
}

Outcome execute_datagram(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  if (total > qp.shared->path_mtu_bytes) return failed(IBV_WC_LOC_LEN_ERR, kVendorLength);
  Outcome outcome;
  outcome.byte_len = static_cast<std::uint32_t>(total);
  Target* target = datagram_target(qp, sim(wr.wr.ud.ah).attr, wr.wr.ud.remote_qpn);
  if (target == nullptr || target->qp->qkey != wr.wr.ud.remote_qkey) return outcome;
  Message message{wr, total, true, nullptr};
  for (int i = 0; i < wr.num_sge; ++i) message.add({local_bytes(qp, wr, wr.sg_list[i]), wr.sg_list[i].length});
  const Outcome sent = deliver(qp, *target, message);
  outcome.due_ns = sent.due_ns;
  return outcome;
}

void count(SimQp& qp, ibv_wr_opcode opcode, std::uint64_t total) noexcept {
  const std::uint64_t packets = total == 0 ? 1 : (total + qp.shared->path_mtu_bytes - 1) / qp.shared->path_mtu_bytes;
  const bool towards_us = opcode == IBV_WR_RDMA_READ;
  (towards_us ? qp.rx_bytes : qp.tx_bytes) += total;
  (towards_us ? qp.rx_packets : qp.tx_packets) += packets;
}

Outcome execute_connected(SimQp& qp, const ibv_send_wr& wr, std::uint64_t total) noexcept {
  switch (wr.opcode) {
    case IBV_WR_RDMA_WRITE: return rdma_write(qp, wr, total);
    case IBV_WR_RDMA_READ: return rdma_read(qp, wr, total);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return atomic(qp, wr, total);
    default: return send_message(qp, wr, total);
  }
}

}  // namespace

char* local_bytes(const SimQp& qp, const ibv_send_wr& wr, const ibv_sge& s) noexcept {
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) return reinterpret_cast<char*>(s.addr);
  const MrShared* mr = find_region(*qp.context->header, s.lkey);
  return mr == nullptr ? nullptr : reinterpret_cast<char*>(owner_address(*mr, s.addr));
}

Outcome execute(SimQp& qp, const ibv_send_wr& wr) noexcept {
  std::uint64_t total = 0;
  Outcome outcome = check_local(qp, wr, total);
  if (outcome.status != IBV_WC_SUCCESS) return outcome;
  if (total > qp.context->device->description.max_msg_bytes) return failed(IBV_WC_LOC_LEN_ERR, kVendorLength);
  if (qp.base_type() == IBV_QPT_UD) return execute_datagram(qp, wr, total);
  if (!reachable(qp, total)) {
    outcome.verdict = Verdict::unreachable;
  } else {
    outcome = execute_connected(qp, wr, total);
    if (outcome.verdict == Verdict::done && outcome.status == IBV_WC_SUCCESS) count(qp, wr.opcode, total);
    const bool refused = outcome.status == IBV_WC_REM_ACCESS_ERR || outcome.status == IBV_WC_REM_INV_REQ_ERR;
    if (outcome.verdict == Verdict::done && refused && !outcome.responder_failed) fail_responder(qp, outcome);
  }
  return without_answers(qp, outcome, total);
}

}  // namespace railgauge::simverbs
