/// Creating, changing and destroying queue pairs.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "counters.h"
#include "cq.h"
#include "engine.h"
#include "fabric.h"
#include "faults.h"
#include "device_state.h"
#include "qp_states.h"
#include "verbs_table.h"

namespace railgauge::simverbs {

namespace {

std::uint32_t power_of_two(std::uint32_t n) noexcept {
  std::uint32_t p = 1;
  while (p < n) p *= 2;
  return p;
}

std::uint32_t receive_stride(const ibv_qp_cap& cap) noexcept {
  const auto bytes = static_cast<std::uint32_t>(offsetof(RecvWqe, sge) + cap.max_recv_sge * sizeof(RecvSge));
  return (bytes + 63) & ~63u;
}

std::uint64_t block_size(const ibv_qp_cap& cap) noexcept {
  return sizeof(QpShared) + std::uint64_t{power_of_two(cap.max_recv_wr)} * receive_stride(cap);
}

int check_caps(const ibv_qp_init_attr_ex& a, const DeviceDescription& d) noexcept {
  const bool type_known = a.qp_type == IBV_QPT_RC || a.qp_type == IBV_QPT_UC || a.qp_type == IBV_QPT_UD;
  if (!type_known || a.srq != nullptr) return EOPNOTSUPP;
  if (a.send_cq == nullptr || a.recv_cq == nullptr) return EINVAL;
  const auto too_many = [](std::uint32_t asked, int limit) { return asked > static_cast<std::uint32_t>(limit); };
  const ibv_qp_cap& c = a.cap;
  if (too_many(c.max_send_wr, d.max_qp_wr) || too_many(c.max_recv_wr, d.max_qp_wr)) return EINVAL;
  if (too_many(c.max_send_sge, d.max_sge) || too_many(c.max_recv_sge, d.max_sge)) return EINVAL;
  return c.max_inline_data > d.max_inline_bytes ? EINVAL : 0;
}

int check_extended(const ibv_qp_init_attr_ex& a, const DeviceDescription& d) noexcept {
  constexpr std::uint32_t kMasks = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  constexpr std::uint64_t kOperations = 0x7f;  // write, write imm, send, send imm, read, compare and swap, fetch and add
  if ((a.comp_mask & ~kMasks) != 0) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a.create_flags != 0) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) == 0) return 0;
  if (!d.extended_qp) return EOPNOTSUPP;
  return (a.send_ops_flags & ~kOperations) != 0 ? EOPNOTSUPP : 0;
}

/// The table's masks are right; are the values?
bool values_fit(const SimQp& qp, const ibv_qp_attr& a, int mask) noexcept {
  SimContext& c = *qp.context;
  const DeviceDescription& d = c.device->description;
  const auto port_exists = [&](unsigned port) { return port >= 1 && port <= d.ports.size(); };
  if ((mask & IBV_QP_PORT) != 0 && !port_exists(a.port_num)) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && a.pkey_index != 0) return false;
  if ((mask & IBV_QP_AV) != 0) {
    if (!port_exists(a.ah_attr.port_num)) return false;
    if (d.ports[a.ah_attr.port_num - 1u].ethernet && a.ah_attr.is_global == 0) return false;
    if (a.ah_attr.is_global != 0 && gid_entry(c, a.ah_attr.port_num, a.ah_attr.grh.sgid_index) == nullptr) return false;
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    const unsigned port = (mask & IBV_QP_AV) != 0 ? a.ah_attr.port_num : qp.attr.port_num;
    if (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096 || !port_exists(port)) return false;
    if (a.path_mtu > d.ports[port - 1u].active_mtu) return false;
  }
  if ((mask & IBV_QP_DEST_QPN) != 0 && a.dest_qp_num > 0xffffff) return false;
  if ((mask & IBV_QP_TIMEOUT) != 0 && a.timeout > 31) return false;
  if ((mask & IBV_QP_RETRY_CNT) != 0 && a.retry_cnt > 7) return false;
  if ((mask & IBV_QP_RNR_RETRY) != 0 && a.rnr_retry > 7) return false;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && a.min_rnr_timer > 31) return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && a.max_rd_atomic > d.max_rd_atomic) return false;
  return (mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 || a.max_dest_rd_atomic <= d.max_rd_atomic;
}

/// Takes over the attributes the mask names, here and where peers look.
void store_attributes(SimQp& qp, const ibv_qp_attr& a, int mask) noexcept {
  ibv_qp_attr& mine = qp.attr;
  QpShared& s = *qp.shared;
  if ((mask & IBV_QP_PORT) != 0) s.port = mine.port_num = a.port_num;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) mine.pkey_index = a.pkey_index;
  if ((mask & IBV_QP_QKEY) != 0) s.qkey = mine.qkey = a.qkey;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) s.access.store(mine.qp_access_flags = a.qp_access_flags);
  if ((mask & IBV_QP_AV) != 0) mine.ah_attr = a.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    mine.path_mtu = a.path_mtu;
    s.path_mtu_bytes = 128u << a.path_mtu;
  }
  if ((mask & IBV_QP_DEST_QPN) != 0) s.dest_qpn = mine.dest_qp_num = a.dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) mine.rq_psn = a.rq_psn & 0xffffff;
  if ((mask & IBV_QP_SQ_PSN) != 0) mine.sq_psn = a.sq_psn & 0xffffff;
  if ((mask & IBV_QP_TIMEOUT) != 0) mine.timeout = a.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) mine.retry_cnt = a.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) mine.rnr_retry = a.rnr_retry;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) s.min_rnr_timer = mine.min_rnr_timer = a.min_rnr_timer;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) mine.max_rd_atomic = a.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) s.max_dest_rd_atomic = mine.max_dest_rd_atomic = a.max_dest_rd_atomic;
}

/// Empties both queues and forgets what was completed but not polled (sq_lock and receive_lock held).
void reset_queues(SimQp& qp) noexcept {
  qp.deferred.clear();
  qp.shared->rq_head.store(qp.shared->rq_tail.load());
  qp.rq_freed.store(qp.shared->rq_tail.load());
  qp.sq_freed.store(qp.sq_posted);
  publish_counters(qp);
  drop_target(qp.target);
  forget_completions(*qp.send_cq, qp.base().qp_num);
  if (qp.recv_cq != qp.send_cq) forget_completions(*qp.recv_cq, qp.base().qp_num);
}

bool receives_in(ibv_qp_state state) noexcept {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

void enter_state(SimQp& qp, ibv_qp_state to) noexcept {
  QpShared& s = *qp.shared;
  if (to == IBV_QPS_RESET) {
    s.receivable.store(0);
    s.state.store(to);
    reset_queues(qp);
  } else if (to == IBV_QPS_ERR) {
    fail_shared(*qp.context->self, s);
    flush_send_queue(qp);
  } else {
    if (qp.base_type() == IBV_QPT_UD && to == IBV_QPS_RTR) {
      s.path_mtu_bytes = 128u << qp.context->device->description.ports[qp.attr.port_num - 1u].active_mtu;
    }
    s.state.store(to);
    s.receivable.store(receives_in(to) ? s.qpn : 0);
  }
  qp.base().state = to;
}

std::unique_ptr<SimQp> fresh_qp(SimContext& c, SimPd& pd, const ibv_qp_init_attr_ex& a) {
  auto qp = std::make_unique<SimQp>();
  qp->context = &c;
  qp->send_cq = &sim(a.send_cq);
  qp->recv_cq = &sim(a.recv_cq);
  qp->cap = a.cap;
  qp->cap.max_send_wr = std::max(a.cap.max_send_wr, 1u);
  qp->cap.max_send_sge = std::max(a.cap.max_send_sge, 1u);
  qp->cap.max_recv_sge = std::max(a.cap.max_recv_sge, 1u);
  qp->signal_all = a.sq_sig_all != 0;
  qp->max_message = c.device->description.max_msg_bytes;
  qp->plain_device = !c.has_wire_model() && c.copy_payload;
  ibv_qp& base = qp->base();
  base.context = &c.base();
  base.qp_context = a.qp_context;
  base.pd = &pd.verbs;
  base.send_cq = a.send_cq;
  base.recv_cq = a.recv_cq;
  base.qp_type = a.qp_type;
  base.state = IBV_QPS_RESET;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  return qp;
}

}  // namespace

ibv_qp* create_qp(SimPd& pd, ibv_qp_init_attr_ex& a) {
  SimContext& c = sim(pd.verbs.context);
  int refused = c.faulty ? forced_errno(c, "create_qp") : 0;
  if (refused == 0) refused = check_extended(a, c.device->description);
  if (refused == 0) refused = check_caps(a, c.device->description);
  if (refused != 0) return errno = refused, nullptr;
  auto qp = fresh_qp(c, pd, a);
  const std::lock_guard guard(c.mutex);
  if (c.qp_count >= c.device->description.max_qp) return errno = ENOMEM, nullptr;
  qp->offset = allocate_block(c, block_size(qp->cap));
  if (qp->offset == 0) return errno = ENOMEM, nullptr;
  qp->shared = c.self->at<QpShared>(qp->offset);
  QpShared& s = *qp->shared;
  s.type = a.qp_type;
  s.pd = pd.id;
  s.path_mtu_bytes = 256;
  s.recv_cq = qp->recv_cq->offset;
  s.rq = qp->offset + sizeof(QpShared);
  s.rq_mask = power_of_two(qp->cap.max_recv_wr) - 1;
  s.rq_stride = receive_stride(qp->cap);
  s.qpn = take_qp_number(*c.self, qp->offset);
  if (s.qpn == 0) return free_block(c, qp->offset, block_size(qp->cap)), nullptr;
  qp->base().qp_num = s.qpn;
  qp->base().handle = s.qpn;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    qp->extended = true;
    fill_wr_calls(*qp, a.send_ops_flags);
  }
  a.cap = qp->cap;
  ++c.qp_count;
  ++pd.users;
  ++qp->send_cq->users;
  ++qp->recv_cq->users;
  set_local_qp(s.qpn, qp.get());
  return &qp.release()->base();
}

int destroy_qp(SimQp& qp) {
  SimContext& c = *qp.context;
  give_back_qp_number(qp.shared->qpn);
  {
    Guard send(qp.sq_lock);
    Guard receive(qp.shared->receive_lock);
    enter_state(qp, IBV_QPS_RESET);
    qp.shared->qpn = 0;
  }
  {
    const std::lock_guard guard(c.deferred_mutex);
    std::erase(c.deferred_qps, &qp);
    c.deferred_count.store(static_cast<std::uint32_t>(c.deferred_qps.size()));
  }
  for (auto& [qpn, target] : qp.datagram_targets) drop_target(*target);
  set_local_qp(qp.base().qp_num, nullptr);
  pthread_mutex_lock(&qp.base().mutex);
  while (qp.base().events_completed != qp.events_given) pthread_cond_wait(&qp.base().cond, &qp.base().mutex);
  pthread_mutex_unlock(&qp.base().mutex);
  pthread_cond_destroy(&qp.base().cond);
  pthread_mutex_destroy(&qp.base().mutex);
  const std::lock_guard guard(c.mutex);
  free_block(c, qp.offset, block_size(qp.cap));
  --c.qp_count;
  --sim(qp.base().pd).users;
  --qp.send_cq->users;
  --qp.recv_cq->users;
  delete &qp;
  return 0;
}

int modify_qp(SimQp& qp, const ibv_qp_attr& a, int mask) {
  if (qp.context->faulty) {
    if (const int forced = forced_errno(*qp.context, "modify_qp"); forced != 0) return forced;
  }
  Guard send(qp.sq_lock);
  Guard receive(qp.shared->receive_lock);
  const auto from = static_cast<ibv_qp_state>(qp.shared->state.load());
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? a.qp_state : from;
  if ((mask & IBV_QP_CUR_STATE) != 0 && a.cur_qp_state != from) return EINVAL;
  if (!transition_allowed(qp.base_type(), from, to, mask) || !values_fit(qp, a, mask)) return EINVAL;
  store_attributes(qp, a, mask);
  if (to != from || to == IBV_QPS_RESET) enter_state(qp, to);
  return 0;
}

int query_qp(SimQp& qp, ibv_qp_attr& a, ibv_qp_init_attr* init) {
  Guard send(qp.sq_lock);
  a = qp.attr;
  a.qp_state = a.cur_qp_state = static_cast<ibv_qp_state>(qp.shared->state.load());
  qp.base().state = a.qp_state;
  a.cap = qp.cap;
  a.sq_draining = a.qp_state == IBV_QPS_SQD && !qp.deferred.empty() ? 1 : 0;
  if (init == nullptr) return 0;
  *init = {};
  init->qp_context = qp.base().qp_context;
  init->send_cq = qp.base().send_cq;
  init->recv_cq = qp.base().recv_cq;
  init->cap = qp.cap;
  init->qp_type = qp.base_type();
  init->sq_sig_all = qp.signal_all ? 1 : 0;
  return 0;
}

ibv_cq* create_cq(SimContext& c, int cqe, void* user, ibv_comp_channel* channel, int vector) {
  if (const int forced = c.faulty ? forced_errno(c, "create_cq") : 0; forced != 0) return errno = forced, nullptr;
  const DeviceDescription& d = c.device->description;
  if (cqe < 1 || cqe > d.max_cqe || vector < 0 || vector >= c.base().num_comp_vectors) return errno = EINVAL, nullptr;
  const std::lock_guard guard(c.mutex);
  if (c.cq_count >= d.max_cq) return errno = ENOMEM, nullptr;
  const std::uint32_t entries = power_of_two(static_cast<std::uint32_t>(cqe));
  auto cq = std::make_unique<SimCq>();
  cq->offset = allocate_block(c, sizeof(CqShared) + std::uint64_t{entries} * sizeof(Cqe));
  if (cq->offset == 0) return errno = ENOMEM, nullptr;
  cq->context = &c;
  cq->shared = c.self->at<CqShared>(cq->offset);
  CqShared& s = *cq->shared;
  s.mask = entries - 1;
  s.capacity = static_cast<std::uint32_t>(cqe);
  s.channel_fd = channel == nullptr ? -1 : sim(channel).write_fd;
  s.cookie = reinterpret_cast<std::uint64_t>(cq.get());
  s.ring = cq->offset + sizeof(CqShared);
  s.paced = c.has_wire_model() ? 1 : 0;
  cq->ring = c.self->at<Cqe>(s.ring);
  cq->verbs.context = &c.base();
  cq->verbs.channel = channel;
  cq->verbs.cq_context = user;
  cq->verbs.handle = static_cast<std::uint32_t>(cq->offset >> 12);
  cq->verbs.cqe = cqe;
  pthread_mutex_init(&cq->verbs.mutex, nullptr);
  pthread_cond_init(&cq->verbs.cond, nullptr);
  if (channel != nullptr) ++channel->refcnt;
  ++c.cq_count;
  c.cqs.insert(cq.get());
  return &cq.release()->verbs;
}

}  // namespace railgauge::simverbs
