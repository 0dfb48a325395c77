/// The ibv_wr_* calls: a list is built between start and complete, then posted as one.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine.h"
#include "verbs_table.h"

namespace railgauge::simverbs {

namespace {

ibv_send_wr& last(SimQp& qp) noexcept { return qp.builder.wrs[qp.builder.count - 1]; }

/// The next request of the list; a scratch entry once the queue's depth is used up, so that setters stay harmless.
ibv_send_wr& next(ibv_qp_ex* handle, ibv_wr_opcode opcode) noexcept {
  SimQp& qp = sim(handle);
  WrBuilder& b = qp.builder;
  if (b.count + 1 >= b.wrs.size()) {
    b.error = ENOMEM;
    b.count = static_cast<std::uint32_t>(b.wrs.size()) - 1;
  }
  const std::uint32_t index = b.count++;
  ibv_send_wr& wr = b.wrs[index];
  wr.wr_id = handle->wr_id;
  wr.send_flags = handle->wr_flags;
  wr.opcode = opcode;
  wr.num_sge = 0;
  wr.sg_list = &b.sges[std::size_t{index} * qp.cap.max_send_sge];
  return wr;
}

void start(ibv_qp_ex* handle) noexcept {
  SimQp& qp = sim(handle);
  qp.sq_lock.lock();
  qp.builder.count = 0;
  qp.builder.error = 0;
}

int complete(ibv_qp_ex* handle) noexcept {
  SimQp& qp = sim(handle);
  WrBuilder& b = qp.builder;
  int error = b.error;
  const std::uint32_t free = qp.cap.max_send_wr - (qp.sq_posted - qp.sq_freed.load(std::memory_order_acquire));
  if (error == 0 && b.count > free) error = ENOMEM;  // all or nothing, as the call promises
  if (error == 0 && b.count != 0) {
    for (std::uint32_t i = 0; i + 1 < b.count; ++i) b.wrs[i].next = &b.wrs[i + 1];
    b.wrs[b.count - 1].next = nullptr;
    ibv_send_wr* bad = nullptr;
    error = post_list(qp, &b.wrs[0], &bad);
  }
  qp.sq_lock.unlock();
  return error;
}

void abort_list(ibv_qp_ex* handle) noexcept { sim(handle).sq_lock.unlock(); }

void rdma(ibv_qp_ex* handle, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address) noexcept {
  ibv_send_wr& wr = next(handle, opcode);
  wr.wr.rdma.rkey = rkey;
  wr.wr.rdma.remote_addr = address;
}

void rdma_write(ibv_qp_ex* h, std::uint32_t rkey, std::uint64_t address) { rdma(h, IBV_WR_RDMA_WRITE, rkey, address); }
void rdma_read(ibv_qp_ex* h, std::uint32_t rkey, std::uint64_t address) { rdma(h, IBV_WR_RDMA_READ, rkey, address); }
void rdma_write_imm(ibv_qp_ex* h, std::uint32_t rkey, std::uint64_t address, __be32 imm) {
  rdma(h, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address);
  last(sim(h)).imm_data = imm;
}
void send(ibv_qp_ex* h) { next(h, IBV_WR_SEND); }
void send_imm(ibv_qp_ex* h, __be32 imm) { next(h, IBV_WR_SEND_WITH_IMM).imm_data = imm; }

void atomic(ibv_qp_ex* h, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address) noexcept {
  ibv_send_wr& wr = next(h, opcode);
  wr.wr.atomic.rkey = rkey;
  wr.wr.atomic.remote_addr = address;
}
void compare_swap(ibv_qp_ex* h, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
  atomic(h, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address);
  last(sim(h)).wr.atomic.compare_add = compare;
  last(sim(h)).wr.atomic.swap = swap;
}
void fetch_add(ibv_qp_ex* h, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  atomic(h, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address);
  last(sim(h)).wr.atomic.compare_add = add;
}

void set_datagram_address(ibv_qp_ex* h, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  ibv_send_wr& wr = last(sim(h));
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = qpn;
  wr.wr.ud.remote_qkey = qkey;
}

void set_sge(ibv_qp_ex* h, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  ibv_send_wr& wr = last(sim(h));
  wr.sg_list[0] = {address, length, lkey};
  wr.num_sge = 1;
}

void set_sge_list(ibv_qp_ex* h, std::size_t count, const ibv_sge* list) {
  SimQp& qp = sim(h);
  if (count > qp.cap.max_send_sge) {
    qp.builder.error = ENOMEM;
    return;
  }
  std::memcpy(last(qp).sg_list, list, count * sizeof *list);
  last(qp).num_sge = static_cast<int>(count);
}

/// Inline data is copied here: the caller may reuse its buffer when the setter returns.
void set_inline_list(ibv_qp_ex* h, std::size_t count, const ibv_data_buf* list) {
  SimQp& qp = sim(h);
  char* to = qp.builder.inline_data.data() + std::size_t{qp.builder.count - 1} * qp.cap.max_inline_data;
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (used + list[i].length > qp.cap.max_inline_data) {
      qp.builder.error = EINVAL;
      return;
    }
    std::memcpy(to + used, list[i].addr, list[i].length);
    used += list[i].length;
  }
  ibv_send_wr& wr = last(qp);
  wr.sg_list[0] = {reinterpret_cast<std::uint64_t>(to), static_cast<std::uint32_t>(used), 0};
  wr.num_sge = 1;
  wr.send_flags |= IBV_SEND_INLINE;
}

void set_inline(ibv_qp_ex* h, void* address, std::size_t length) {
  const ibv_data_buf one{address, length};
  set_inline_list(h, 1, &one);
}

}  // namespace

void fill_wr_calls(SimQp& qp, std::uint64_t operations) {
  ibv_qp_ex& v = qp.verbs;
  const std::size_t entries = std::size_t{qp.cap.max_send_wr} + 2;
  qp.builder.wrs.resize(entries);
  qp.builder.sges.resize(entries * std::max(qp.cap.max_send_sge, 1u));
  qp.builder.inline_data.resize(entries * std::max(qp.cap.max_inline_data, 1u));
  v.wr_start = start;
  v.wr_complete = complete;
  v.wr_abort = abort_list;
  v.wr_set_sge = set_sge;
  v.wr_set_sge_list = set_sge_list;
  v.wr_set_inline_data = set_inline;
  v.wr_set_inline_data_list = set_inline_list;
  v.wr_set_ud_addr = set_datagram_address;
  if ((operations & IBV_QP_EX_WITH_RDMA_WRITE) != 0) v.wr_rdma_write = rdma_write;
  if ((operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0) v.wr_rdma_write_imm = rdma_write_imm;
  if ((operations & IBV_QP_EX_WITH_SEND) != 0) v.wr_send = send;
  if ((operations & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0) v.wr_send_imm = send_imm;
  if ((operations & IBV_QP_EX_WITH_RDMA_READ) != 0) v.wr_rdma_read = rdma_read;
  if ((operations & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0) v.wr_atomic_cmp_swp = compare_swap;
  if ((operations & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0) v.wr_atomic_fetch_add = fetch_add;
}

}  // namespace railgauge::simverbs
