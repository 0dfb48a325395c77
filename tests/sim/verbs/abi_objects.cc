/// Exported calls: protection domains, regions, queues, channels, address handles.
#include "abi.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cq.h"
#include "fabric.h"
#include "faults.h"
#include "helper.h"
#include "memory.h"
#include "verbs_table.h"

using namespace railgauge::simverbs;

RAILGAUGE_SIM_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  static std::atomic<std::uint32_t> next{1};  // unique in the process, as peers compare them inside one context only
  SimContext& c = sim(context);
  if (const int forced = c.faulty ? forced_errno(c, "alloc_pd") : 0; forced != 0) return errno = forced, nullptr;
  const std::lock_guard guard(c.mutex);
  if (c.pd_count >= c.device->description.max_pd) return errno = ENOMEM, nullptr;
  auto* pd = new SimPd;
  pd->id = next++;
  pd->verbs.context = context;
  pd->verbs.handle = pd->id;
  ++c.pd_count;
  return &pd->verbs;
}

RAILGAUGE_SIM_EXPORT int ibv_dealloc_pd(ibv_pd* handle) {
  SimPd& pd = sim(handle);
  SimContext& c = sim(handle->context);
  const std::lock_guard guard(c.mutex);
  if (pd.users != 0) return EBUSY;
  --c.pd_count;
  delete &pd;
  return 0;
}

static ibv_mr* register_and_hand_out(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  SimMr* mr = register_memory({&sim(pd), address, length, iova, access, false, -1});
  return mr == nullptr ? nullptr : &mr->verbs;
}
RAILGAUGE_SIM_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                              unsigned access) {
  if (sim(pd->context).device->description.classic) return errno = EOPNOTSUPP, nullptr;
  return register_and_hand_out(pd, address, length, iova, access);
}
RAILGAUGE_SIM_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return register_and_hand_out(pd, address, length, reinterpret_cast<std::uint64_t>(address), static_cast<unsigned>(access));
}
RAILGAUGE_SIM_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                             int access) {
  return ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}
RAILGAUGE_SIM_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                               int fd, int access) {
  const DeviceDescription& d = sim(pd->context).device->description;
  if (!d.dmabuf || d.classic) return errno = EOPNOTSUPP, nullptr;
  SimMr* mr = register_memory({&sim(pd), reinterpret_cast<void*>(offset), length, iova, static_cast<unsigned>(access), true, fd});
  return mr == nullptr ? nullptr : &mr->verbs;
}
RAILGAUGE_SIM_EXPORT int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) {
  return errno = EOPNOTSUPP, IBV_REREG_MR_ERR_INPUT;
}
RAILGAUGE_SIM_EXPORT int ibv_dereg_mr(ibv_mr* mr) { return deregister_memory(&sim(mr)); }

RAILGAUGE_SIM_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  auto* channel = new SimChannel;
  channel->verbs.context = context;
  channel->verbs.fd = ends[0];
  channel->write_fd = ends[1];
  SimContext& c = sim(context);
  const std::lock_guard guard(c.mutex);
  ++c.channel_count;
  return &channel->verbs;
}

RAILGAUGE_SIM_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* handle) {
  SimContext& c = sim(handle->context);
  const std::lock_guard guard(c.mutex);
  if (handle->refcnt != 0) return EBUSY;
  close(handle->fd);
  close(sim(handle).write_fd);
  --c.channel_count;
  delete &sim(handle);
  return 0;
}

RAILGAUGE_SIM_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* user, ibv_comp_channel* channel,
                                           int vector) {
  return create_cq(sim(context), cqe, user, channel, vector);
}
RAILGAUGE_SIM_EXPORT int ibv_resize_cq(ibv_cq*, int) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_destroy_cq(ibv_cq* cq) { return destroy_cq(sim(cq)); }

RAILGAUGE_SIM_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
  SimContext& c = sim(channel->context);
  for (;;) {
    std::uint64_t cookie = 0;
    if (read(channel->fd, &cookie, sizeof cookie) != sizeof cookie) return -1;
    const std::lock_guard guard(c.mutex);
    auto* found = reinterpret_cast<SimCq*>(cookie);
    if (c.cqs.count(found) == 0) continue;  // destroyed meanwhile
    ++found->events_given;
    *cq = &found->verbs;
    *user = found->verbs.cq_context;
    return 0;
  }
}

RAILGAUGE_SIM_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

RAILGAUGE_SIM_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  ibv_qp_init_attr_ex full{};
  std::memcpy(static_cast<void*>(&full), attr, sizeof *attr);  // the extended structure begins with the plain one
  full.comp_mask = IBV_QP_INIT_ATTR_PD;
  full.pd = pd;
  ibv_qp* qp = create_qp(sim(pd), full);
  if (qp != nullptr) attr->cap = full.cap;
  return qp;
}

RAILGAUGE_SIM_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return sim(qp).extended ? &sim(qp).verbs : nullptr; }
RAILGAUGE_SIM_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) { return modify_qp(sim(qp), *attr, mask); }
RAILGAUGE_SIM_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  return query_qp(sim(qp), *attr, init);
}
RAILGAUGE_SIM_EXPORT int ibv_destroy_qp(ibv_qp* qp) { return destroy_qp(sim(qp)); }

RAILGAUGE_SIM_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode, std::uint32_t flags) {
  constexpr std::uint32_t kReturnCaps = 1;   // IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS, younger than rdma-core 44
  constexpr int kWholeMessageAnd128 = 1 | 2;  // ..._WHOLE_MSG | ..._ALIGNED_128_BYTES
  const DeviceDescription& d = sim(qp).context->device->description;
  if (!d.data_in_order || d.classic) return 0;
  return (flags & kReturnCaps) == 0 ? 1 : kWholeMessageAnd128;
}

RAILGAUGE_SIM_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }

RAILGAUGE_SIM_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  const auto& ports = sim(pd->context).device->description.ports;
  const bool port_known = attr->port_num >= 1 && attr->port_num <= ports.size();
  if (!port_known || (ports[attr->port_num - 1u].ethernet && attr->is_global == 0)) return errno = EINVAL, nullptr;
  auto* ah = new SimAh;
  ah->verbs = {pd->context, pd, 0};
  ah->attr = *attr;
  ++sim(pd).users;
  return &ah->verbs;
}
RAILGAUGE_SIM_EXPORT int ibv_init_ah_from_wc(ibv_context*, std::uint8_t, ibv_wc*, ibv_grh*, ibv_ah_attr*) {
  return errno = EOPNOTSUPP, -1;
}
RAILGAUGE_SIM_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd*, ibv_wc*, ibv_grh*, std::uint8_t) {
  return errno = EOPNOTSUPP, nullptr;
}
RAILGAUGE_SIM_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  --sim(ah->pd).users;
  delete &sim(ah);
  return 0;
}

// not offered by the stand-in; the calls exist so that none of them reaches the real library with our objects
RAILGAUGE_SIM_EXPORT ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return errno = EOPNOTSUPP, nullptr; }
RAILGAUGE_SIM_EXPORT int ibv_modify_srq(ibv_srq*, ibv_srq_attr*, int) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_query_srq(ibv_srq*, ibv_srq_attr*) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_destroy_srq(ibv_srq*) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_attach_mcast(ibv_qp*, const union ibv_gid*, std::uint16_t) { return EOPNOTSUPP; }
RAILGAUGE_SIM_EXPORT int ibv_detach_mcast(ibv_qp*, const union ibv_gid*, std::uint16_t) { return EOPNOTSUPP; }
