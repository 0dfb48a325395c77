#include "verbs_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi.h"
#include "cq.h"
#include "device_state.h"
#include "engine.h"
#include "fabric.h"
#include "helper.h"

namespace railgauge::simverbs {

namespace {

int query_port_call(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size) {
  ibv_port_attr full;
  if (const int refused = query_port(sim(context), port, full); refused != 0) return refused;
  std::memset(static_cast<void*>(attr), 0, size);
  std::memcpy(static_cast<void*>(attr), &full, std::min(size, sizeof full));
  return 0;
}

int query_device_call(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                      std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  ibv_device_attr_ex full{};
  query_device(sim(context).device->description, full.orig_attr);
  full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
  std::memset(static_cast<void*>(attr), 0, size);
  std::memcpy(static_cast<void*>(attr), &full, std::min(size, sizeof full));
  return 0;
}

ibv_qp* create_qp_call(ibv_context*, ibv_qp_init_attr_ex* attr) {
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == nullptr) return errno = EINVAL, nullptr;
  return create_qp(sim(attr->pd), *attr);
}

ibv_cq_ex* create_cq_call(ibv_context*, ibv_cq_init_attr_ex*) { return errno = EOPNOTSUPP, nullptr; }
int post_srq_call(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) { return EOPNOTSUPP; }
ibv_mw* alloc_mw_call(ibv_pd*, ibv_mw_type) { return errno = EOPNOTSUPP, nullptr; }
int bind_mw_call(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }
int dealloc_mw_call(ibv_mw*) { return EOPNOTSUPP; }

}  // namespace

void fill_verbs_table(SimContext& c) {
  verbs_context& v = c.verbs;
  v.sz = sizeof v;
  v.query_port = query_port_call;
  v.query_device_ex = query_device_call;
  v.create_qp_ex = create_qp_call;
  v.create_cq_ex = create_cq_call;
  ibv_context& base = v.context;
  base.device = &c.device->verbs;
  base.abi_compat = c.device->description.classic ? nullptr : __VERBS_ABI_IS_EXTENDED;
  base.cmd_fd = -1;
  base.num_comp_vectors = 4;
  pthread_mutex_init(&base.mutex, nullptr);
  base.ops.poll_cq = poll_cq;
  base.ops.req_notify_cq = request_notification;
  base.ops.post_send = post_send;
  base.ops.post_recv = post_recv;
  base.ops.post_srq_recv = post_srq_call;
  base.ops.alloc_mw = alloc_mw_call;
  base.ops.bind_mw = bind_mw_call;
  base.ops.dealloc_mw = dealloc_mw_call;
}

int destroy_cq(SimCq& cq) {
  SimContext& c = *cq.context;
  if (cq.users != 0) return EBUSY;
  unwatch_queue(c, cq);
  {
    const std::lock_guard guard(c.mutex);
    c.cqs.erase(&cq);
  }
  pthread_mutex_lock(&cq.verbs.mutex);
  while (cq.verbs.comp_events_completed != cq.events_given || cq.verbs.async_events_completed != cq.async_events_given) {
    pthread_cond_wait(&cq.verbs.cond, &cq.verbs.mutex);
  }
  pthread_mutex_unlock(&cq.verbs.mutex);
  pthread_cond_destroy(&cq.verbs.cond);
  pthread_mutex_destroy(&cq.verbs.mutex);
  if (cq.verbs.channel != nullptr) --cq.verbs.channel->refcnt;
  const std::lock_guard guard(c.mutex);
  free_block(c, cq.offset, sizeof(CqShared) + (std::uint64_t{cq.shared->mask} + 1) * sizeof(Cqe));
  --c.cq_count;
  delete &cq;
  return 0;
}

}  // namespace railgauge::simverbs
