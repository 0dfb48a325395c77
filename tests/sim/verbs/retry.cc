#include "retry.h"

#include <algorithm>
#include <cstring>

#include "clock.h"
#include "counters.h"
#include "cq.h"
#include "engine.h"
#include "fabric.h"
#include "helper.h"

namespace railgauge::simverbs {

namespace {

/// RNR timer codes in µs; code 0 is the longest (verbs-facts, IBTA table 45).
constexpr std::uint32_t kRnrMicros[32] = {655360, 10,   20,   30,   40,    60,    80,    120,   160,   240,   320,
                                          480,    640,  960,  1280, 1920,  2560,  3840,  5120,  7680,  10240, 15360,
                                          20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

std::uint8_t completion_opcode(ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
    default: return IBV_WC_SEND;
  }
}

void complete(SimQp& qp, const ibv_send_wr& wr, std::uint32_t sq_index, const Outcome& o) noexcept {
  const bool signalled = qp.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  if (o.status == IBV_WC_SUCCESS && !signalled) return;
  Completion c;
  c.qp_num = qp.base().qp_num;
  c.wr_id = wr.wr_id;
  c.due_ns = o.due_ns;
  c.sq_index = sq_index;
  c.byte_len = o.byte_len;
  c.vendor_err = o.vendor_err;
  c.status = o.status;
  c.opcode = completion_opcode(wr.opcode);
  push_completion(*qp.context->self, *qp.send_cq->shared, c);
}

/// A request that failed takes its queue pair down.
void fail(SimQp& qp) noexcept {
  {
    Guard guard(qp.shared->receive_lock);
    fail_shared(*qp.context->self, *qp.shared);
  }
  qp.base().state = IBV_QPS_ERR;
  flush_send_queue(qp);
}

std::uint64_t retry_ns(const SimQp& qp) noexcept {
  if (qp.attr.timeout == 0) return 0;  // waits for ever
  return (4096ull << qp.attr.timeout) * (qp.attr.retry_cnt + 1u);
}

std::uint64_t rnr_step_ns(const SimQp& qp) noexcept {
  const std::uint32_t code = qp.target.qp == nullptr ? 12 : qp.target.qp->min_rnr_timer;
  return std::uint64_t{kRnrMicros[code & 31u]} * 1000;
}

/// Starts or continues the wait of a request. False when its patience is over; `o` then says with which status.
bool keep_waiting(SimQp& qp, Deferred& d, Outcome& o) noexcept {
  const std::uint64_t now = now_ns();
  const bool not_ready = o.verdict == Verdict::not_ready;
  if (d.waiting_for != o.verdict) {
    d.waiting_for = o.verdict;
    const bool for_ever = not_ready ? qp.attr.rnr_retry == 7 : qp.attr.timeout == 0;
    const std::uint64_t patience = not_ready ? rnr_step_ns(qp) * qp.attr.rnr_retry : retry_ns(qp);
    d.deadline_ns = for_ever ? ~0ull : now + patience;
  }
  d.not_before_ns = not_ready && qp.context->device->description.rnr_waits_full_timer ? now + rnr_step_ns(qp) : 0;
  if (now < d.deadline_ns) return true;
  o.verdict = Verdict::done;
  o.status = not_ready ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
  o.vendor_err = not_ready ? kVendorNotReady : kVendorRetry;
  return false;
}

/// Points the request at its own copies.
void relink(Deferred& d) noexcept {
  d.wr.next = nullptr;
  d.wr.sg_list = d.sges.data();
}

void list(SimQp& qp) noexcept {
  SimContext& c = *qp.context;
  {
    const std::lock_guard guard(c.deferred_mutex);
    if (qp.listed) return;
    qp.listed = true;
    c.deferred_qps.push_back(&qp);
    c.deferred_count.store(static_cast<std::uint32_t>(c.deferred_qps.size()));
  }
  wake_helper(c);
}

void run_deferred(SimQp& qp) noexcept {
  while (!qp.deferred.empty()) {
    if (qp.shared->state.load() == IBV_QPS_ERR) return flush_send_queue(qp);
    Deferred& d = qp.deferred.front();
    if (d.stuck || qp.shared->state.load() == IBV_QPS_SQD) return;
    if (d.not_before_ns != 0 && now_ns() < d.not_before_ns) return;
    qp.reads_in_burst = 0;
    Outcome o = execute_tampered(qp, d.wr, d.tamper);
    if (o.verdict != Verdict::done && keep_waiting(qp, d, o)) return;
    const Deferred done = std::move(d);
    qp.deferred.pop_front();
    complete(qp, done.wr, done.sq_index, o);
    if (o.status != IBV_WC_SUCCESS) return fail(qp);
  }
}

}  // namespace

void settle(SimQp& qp, const ibv_send_wr& wr, const Outcome& o, const Tamper& tamper) noexcept {
  if (o.verdict != Verdict::done) return defer(qp, wr, o, false, tamper);
  complete(qp, wr, qp.sq_posted, o);
  if (o.status != IBV_WC_SUCCESS) fail(qp);
}

void complete_success(SimQp& qp, const ibv_send_wr& wr) noexcept {
  Completion c;
  c.qp_num = qp.base().qp_num;
  c.wr_id = wr.wr_id;
  c.sq_index = qp.sq_posted;
  c.byte_len = wr.sg_list[0].length;
  c.opcode = IBV_WC_RDMA_WRITE;
  push_completion(*qp.context->self, *qp.send_cq->shared, c);
}

void defer(SimQp& qp, const ibv_send_wr& wr, const Outcome& why, bool stuck, const Tamper& tamper) noexcept {
  Deferred& d = qp.deferred.emplace_back();
  d.wr = wr;
  d.sq_index = qp.sq_posted;
  d.stuck = stuck;
  d.tamper = tamper;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    for (int i = 0; i < wr.num_sge; ++i) {
      const auto* bytes = reinterpret_cast<const char*>(wr.sg_list[i].addr);
      d.inline_data.insert(d.inline_data.end(), bytes, bytes + wr.sg_list[i].length);
    }
    d.sges.push_back({reinterpret_cast<std::uint64_t>(d.inline_data.data()),
                      static_cast<std::uint32_t>(d.inline_data.size()), 0});
    d.wr.num_sge = 1;
  } else {
    d.sges.assign(wr.sg_list, wr.sg_list + wr.num_sge);
  }
  relink(d);
  Outcome outcome = why;
  if (why.verdict != Verdict::done && !keep_waiting(qp, d, outcome)) {
    const Deferred done = std::move(d);
    qp.deferred.pop_back();
    complete(qp, done.wr, done.sq_index, outcome);
    return fail(qp);
  }
  list(qp);
}

void finish_flushed(SimQp& qp, const ibv_send_wr& wr, std::uint32_t sq_index) noexcept {
  Outcome o;
  o.status = IBV_WC_WR_FLUSH_ERR;
  o.vendor_err = kVendorFlushed;
  complete(qp, wr, sq_index, o);
}

namespace {

Outcome execute_flipped(SimQp& qp, const ibv_send_wr& wr, std::uint64_t flip) noexcept {
  if (wr.opcode == IBV_WR_RDMA_READ) return execute(qp, wr);
  std::vector<char> bytes;
  for (int i = 0; i < wr.num_sge; ++i) {
    const char* from = local_bytes(qp, wr, wr.sg_list[i]);
    if (from == nullptr) return execute(qp, wr);
    bytes.insert(bytes.end(), from, from + wr.sg_list[i].length);
  }
  if (bytes.empty()) return execute(qp, wr);
  char& hit = bytes[static_cast<std::size_t>(flip) % bytes.size()];
  hit = static_cast<char>(~hit);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0};
  ibv_send_wr changed = wr;
  changed.sg_list = &sge;
  changed.num_sge = 1;
  changed.send_flags |= IBV_SEND_INLINE;  // the copy has no key
  return execute(qp, changed);
}

}  // namespace

Outcome execute_tampered(SimQp& qp, const ibv_send_wr& wr, const Tamper& tamper) noexcept {
  if (tamper.kind == Tamper::Kind::flip) return execute_flipped(qp, wr, tamper.byte);
  qp.tamper = tamper;
  const Outcome outcome = execute(qp, wr);
  qp.tamper = {};
  return outcome;
}

void progress(SimContext& c) noexcept {
  std::unique_lock guard(c.deferred_mutex, std::try_to_lock);
  if (!guard) return;
  for (auto at = c.deferred_qps.begin(); at != c.deferred_qps.end();) {
    SimQp& qp = **at;
    if (!qp.sq_lock.try_lock()) {
      ++at;
      continue;
    }
    run_deferred(qp);
    if (c.counted) publish_counters(qp);
    const bool empty = qp.deferred.empty();
    if (empty) qp.listed = false;
    qp.sq_lock.unlock();
    at = empty ? c.deferred_qps.erase(at) : at + 1;
  }
  c.deferred_count.store(static_cast<std::uint32_t>(c.deferred_qps.size()));
}

void flush_send_queue(SimQp& qp) noexcept {
  while (!qp.deferred.empty()) {
    const Deferred d = std::move(qp.deferred.front());
    qp.deferred.pop_front();
    finish_flushed(qp, d.wr, d.sq_index);
  }
}

void flush_receive_queue(Peer& owner, QpShared& qp) noexcept {
  std::uint32_t head = qp.rq_head.load();
  for (; head != qp.rq_tail.load(std::memory_order_acquire); ++head) {
    const auto& wqe = *owner.at<RecvWqe>(qp.rq + std::uint64_t{head & qp.rq_mask} * qp.rq_stride);
    Completion c;
    c.qp_num = qp.qpn;
    c.wr_id = wqe.wr_id;
    c.status = IBV_WC_WR_FLUSH_ERR;
    c.vendor_err = kVendorFlushed;
    c.opcode = IBV_WC_RECV;
    c.is_recv = true;
    push_completion(owner, *owner.at<CqShared>(qp.recv_cq), c);
    qp.rq_head.store(head + 1);
  }
}

void fail_shared(Peer& owner, QpShared& qp) noexcept {
  qp.receivable.store(0);
  qp.state.store(IBV_QPS_ERR);
  flush_receive_queue(owner, qp);
}

}  // namespace railgauge::simverbs
