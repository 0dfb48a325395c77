/// Posting.
#include <cerrno>
#include <cstring>

#include "clock.h"
#include "counters.h"
#include "cq.h"
#include "engine.h"
#include "execute.h"
#include "fast_path.h"
#include "faults.h"
#include "retry.h"

namespace railgauge::simverbs {

namespace {

bool opcode_fits(ibv_qp_type type, ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM: return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM: return type != IBV_QPT_UD;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return type == IBV_QPT_RC;
    default: return false;
  }
}

bool carries_data(ibv_wr_opcode opcode) noexcept {
  return opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_ATOMIC_CMP_AND_SWP && opcode != IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// What the provider refuses at once.
int check_request(const SimQp& qp, const ibv_send_wr& wr) noexcept {
  if (qp.sq_posted - qp.sq_freed.load(std::memory_order_acquire) >= qp.cap.max_send_wr) return ENOMEM;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.cap.max_send_sge) return EINVAL;
  if (!opcode_fits(qp.base_type(), wr.opcode)) return EINVAL;
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) return 0;
  std::uint64_t total = 0;
  for (int i = 0; i < wr.num_sge; ++i) total += wr.sg_list[i].length;
  return total > qp.cap.max_inline_data || !carries_data(wr.opcode) ? EINVAL : 0;
}

/// A request under the fault script.
void post_with_faults(SimQp& qp, const ibv_send_wr& wr) noexcept {
  const MessageFault fault = next_message(*qp.context);
  Outcome outcome;
  if (fault.stuck || !qp.deferred.empty()) {
    defer(qp, wr, outcome, fault.stuck, fault.tamper);
    return;
  }
  if (fault.status_given) {
    outcome.status = fault.status;
    outcome.vendor_err = kVendorScript;
  } else {
    outcome = execute_tampered(qp, wr, fault.tamper);
  }
  settle(qp, wr, outcome, fault.tamper);
}

int post_one(SimQp& qp, const ibv_send_wr& wr, std::uint32_t state) noexcept {
  if (const int refused = check_request(qp, wr); refused != 0) return refused;
  ++qp.sq_posted;
  if (state == IBV_QPS_ERR || state == IBV_QPS_SQE) {
    flush_send_queue(qp);
    finish_flushed(qp, wr, qp.sq_posted);
  } else if (qp.context->faulty.load(std::memory_order_relaxed)) {
    post_with_faults(qp, wr);
  } else if (!qp.deferred.empty() || state == IBV_QPS_SQD) {
    defer(qp, wr, {}, false);
  } else if (write_at_once(qp, wr)) {
    if (qp.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0) complete_success(qp, wr);
  } else {
    settle(qp, wr, execute(qp, wr));
  }
  return 0;
}

}  // namespace

namespace {

int post_all(SimQp& qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
  qp.posted_at = spend_ticks(qp.context->doorbell_ticks);
  qp.reads_in_burst = 0;
  for (; wr != nullptr; wr = wr->next) {
    const std::uint32_t state = qp.shared->state.load(std::memory_order_relaxed);
    const bool allowed = state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_ERR || state == IBV_QPS_SQE;
    const int refused = allowed ? post_one(qp, *wr, state) : EINVAL;
    if (refused != 0) {
      if (bad != nullptr) *bad = wr;
      return refused;
    }
  }
  return 0;
}

}  // namespace

int post_list(SimQp& qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
  const int refused = post_all(qp, wr, bad);
  if (qp.context->counted) publish_counters(qp);
  return refused;
}

int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
  SimQp& qp = sim(handle);
  Guard guard(qp.sq_lock);
  return post_list(qp, wr, bad);
}

int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  SimQp& qp = sim(handle);
  QpShared& s = *qp.shared;
  Guard guard(qp.rq_lock);
  int refused = s.state.load() == IBV_QPS_RESET ? EINVAL : 0;
  std::uint32_t tail = s.rq_tail.load(std::memory_order_relaxed);
  for (; wr != nullptr && refused == 0; wr = wr->next) {
    if (wr->num_sge < 0 || static_cast<std::uint32_t>(wr->num_sge) > qp.cap.max_recv_sge) {
      refused = EINVAL;
    } else if (tail - qp.rq_freed.load(std::memory_order_acquire) >= qp.cap.max_recv_wr) {
      refused = ENOMEM;
    } else {
      auto& wqe = *qp.context->self->at<RecvWqe>(s.rq + std::uint64_t{tail & s.rq_mask} * s.rq_stride);
      wqe.wr_id = wr->wr_id;
      wqe.num_sge = static_cast<std::uint32_t>(wr->num_sge);
      for (int i = 0; i < wr->num_sge; ++i) wqe.sge[i] = {wr->sg_list[i].addr, wr->sg_list[i].length, wr->sg_list[i].lkey};
      s.rq_tail.store(++tail, std::memory_order_release);
      continue;
    }
    break;
  }
  if (refused != 0 && bad != nullptr) *bad = wr;
  if (s.state.load() == IBV_QPS_ERR) {
    Guard receive(s.receive_lock);
    flush_receive_queue(*qp.context->self, s);
  }
  return refused;
}

}  // namespace railgauge::simverbs
