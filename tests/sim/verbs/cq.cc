#include "cq.h"

#include <unistd.h>

#include "clock.h"
#include "engine.h"
#include "fabric.h"
#include "helper.h"

namespace railgauge::simverbs {

namespace {

bool take_entry(CqShared& cq, std::uint32_t& number) noexcept {
  number = cq.tail.load(std::memory_order_relaxed);
  do {
    if (number - cq.head.load(std::memory_order_acquire) >= cq.capacity) return false;
  } while (!cq.tail.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel));
  return true;
}

void wake_channel(Peer& owner, CqShared& cq) noexcept {
  const int fd = peer_pipe(owner, cq.channel_fd);
  const std::uint64_t cookie = cq.cookie;
  if (fd >= 0 && write(fd, &cookie, sizeof cookie) < 0) {
    // the pipe holds thousands of events and each needs a fresh request: full means that nobody listens any more
  }
}

/// The data must be visible before the arming is read: the owner arms, then looks at the queue once more.
void notify(Peer& owner, CqShared& cq, const Completion& c) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint32_t armed = cq.armed.load();
  if (armed == kNotArmed || (armed == kArmedSolicited && !c.solicited && c.status == 0)) return;
  if (c.due_ns != 0) return;  // the owner's helper thread fires it when it is due
  if (cq.armed.exchange(kNotArmed) != kNotArmed) wake_channel(owner, cq);
}

void fill(ibv_wc& wc, const Cqe& e) noexcept {
  wc.wr_id = e.wr_id;
  wc.status = static_cast<ibv_wc_status>(e.status);
  wc.opcode = static_cast<ibv_wc_opcode>(e.opcode);
  wc.vendor_err = e.vendor_err;
  wc.byte_len = e.byte_len;
  wc.imm_data = e.imm_data;
  wc.qp_num = e.qp_num;
  wc.src_qp = e.src_qp;
  wc.wc_flags = e.wc_flags;
  wc.pkey_index = 0;
  wc.slid = 0;
  wc.sl = 0;
  wc.dlid_path_bits = 0;
}

/// Entries of the work queue are free again once their completion has been polled.
void give_back_entries(const Cqe& e, SimQp*& last) noexcept {
  if (last == nullptr || last->base().qp_num != e.qp_num) last = local_qp(e.qp_num);
  if (last == nullptr) return;
  if (e.is_recv != 0) {
    last->rq_freed.fetch_add(1, std::memory_order_release);
  } else {
    last->sq_freed.store(e.sq_index, std::memory_order_release);
  }
}

bool ready(const Cqe& e, std::uint32_t number) noexcept {
  if (e.sequence.load(std::memory_order_acquire) != number + 1) return false;
  return e.due_ns == 0 || now_ns() >= e.due_ns;
}

}  // namespace

void push_completion(Peer& owner, CqShared& cq, const Completion& c) noexcept {
  std::uint32_t number = 0;
  if (!take_entry(cq, number)) {
    if (cq.overrun.exchange(1) == 0) raise_event(owner, {IBV_EVENT_CQ_ERR, 0, cq.cookie});
    return;
  }
  Cqe& e = owner.at<Cqe>(cq.ring)[number & cq.mask];
  e.qp_num = c.qp_num;
  e.wr_id = c.wr_id;
  e.due_ns = c.due_ns;
  e.sq_index = c.sq_index;
  e.byte_len = c.byte_len;
  e.imm_data = c.imm_data;
  e.src_qp = c.src_qp;
  e.wc_flags = c.wc_flags;
  e.vendor_err = c.vendor_err;
  e.status = c.status;
  e.opcode = c.opcode;
  e.is_recv = c.is_recv ? 1 : 0;
  e.dead = 0;
  e.solicited = c.solicited ? 1 : 0;
  e.sequence.store(number + 1, std::memory_order_release);
  if (cq.channel_fd >= 0) notify(owner, cq, c);
}

int poll_cq(ibv_cq* handle, int count, ibv_wc* wc) noexcept {
  SimCq& cq = sim(handle);
  if (cq.context->deferred_count.load(std::memory_order_relaxed) != 0) {
    progress(*cq.context);
    // what is awaited may need this very core: a peer that has yet to post its receives
    if (cq.context->deferred_count.load(std::memory_order_relaxed) != 0) sched_yield();
  }
  CqShared& s = *cq.shared;
  std::uint32_t head = s.head.load(std::memory_order_relaxed);
  if (!ready(cq.ring[head & s.mask], head)) return 0;
  Guard guard(cq.poll_lock);
  head = s.head.load(std::memory_order_relaxed);
  int given = 0;
  SimQp* last = nullptr;
  for (; given < count; ++head) {
    const Cqe& e = cq.ring[head & s.mask];
    if (!ready(e, head)) break;
    if (e.dead != 0) continue;
    fill(wc[given++], e);
    give_back_entries(e, last);
  }
  s.head.store(head, std::memory_order_release);
  return given;
}

int request_notification(ibv_cq* handle, int solicited_only) noexcept {
  SimCq& cq = sim(handle);
  if (cq.shared->channel_fd < 0) return 0;
  const std::uint32_t wanted = solicited_only != 0 ? kArmedSolicited : kArmedAny;
  if (cq.shared->armed.load() < wanted) cq.shared->armed.store(wanted);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (cq.shared->paced != 0) watch_armed_queue(*cq.context, cq);
  return 0;
}

bool fire_if_due(SimCq& cq) noexcept {
  CqShared& s = *cq.shared;
  if (s.armed.load() == kNotArmed) return false;
  const std::uint32_t head = s.head.load(std::memory_order_acquire);
  const Cqe& e = cq.ring[head & s.mask];
  if (!ready(e, head)) return true;
  if (s.armed.load() == kArmedSolicited && e.solicited == 0 && e.status == 0) return true;
  if (s.armed.exchange(kNotArmed) != kNotArmed) wake_channel(*cq.context->self, s);
  return false;
}

void forget_completions(SimCq& cq, std::uint32_t qpn) noexcept {
  Guard guard(cq.poll_lock);
  CqShared& s = *cq.shared;
  for (std::uint32_t n = s.head.load(); n != s.tail.load(); ++n) {
    Cqe& e = cq.ring[n & s.mask];
    if (e.sequence.load(std::memory_order_acquire) == n + 1 && e.qp_num == qpn) e.dead = 1;
  }
}

void raise_event(Peer& owner, const AsyncRecord& record) noexcept {
  const int fd = peer_pipe(owner, owner.header->async_fd);
  if (fd >= 0 && write(fd, &record, sizeof record) < 0) {
    // full: the program reads no events, and the kernel would drop them as well
  }
}

}  // namespace railgauge::simverbs
