#include "verbs/verbs_queue.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "verbs/check.h"
#include "verbs/status.h"

namespace railgauge::verbs {

using transport::Completion;
using transport::Opcode;
using transport::PostResult;
using transport::RecvRequest;
using transport::WorkRequest;

namespace {

constexpr std::size_t kPollChunk = 64;

std::uint64_t id_of(std::uint32_t lane, std::size_t slot) { return (static_cast<std::uint64_t>(lane) << 32) | slot; }

ibv_wr_opcode opcode_of(Opcode op) {
  switch (op) {
    case Opcode::write: return IBV_WR_RDMA_WRITE;
    case Opcode::write_imm: return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Opcode::read: return IBV_WR_RDMA_READ;
    case Opcode::send: return IBV_WR_SEND;
    case Opcode::fetch_add: return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Opcode::compare_swap: return IBV_WR_ATOMIC_CMP_AND_SWP;
  }
  return IBV_WR_SEND;
}

ibv_send_wr to_verbs(const WorkRequest& request, std::uint64_t id, ibv_sge* sge) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = sge;
  wr.num_sge = request.bytes > 0 ? 1 : 0;
  wr.opcode = opcode_of(request.op);
  if (request.signaled) wr.send_flags |= IBV_SEND_SIGNALED;
  if (request.inline_data) wr.send_flags |= IBV_SEND_INLINE;
  if (request.op == Opcode::write_imm) wr.imm_data = htonl(request.immediate);
  if (request.op == Opcode::fetch_add || request.op == Opcode::compare_swap) {
    wr.wr.atomic.remote_addr = request.remote_address;
    wr.wr.atomic.rkey = request.rkey;
    wr.wr.atomic.compare_add = request.compare_add;
    wr.wr.atomic.swap = request.swap;
  } else {
    wr.wr.rdma.remote_addr = request.remote_address;
    wr.wr.rdma.rkey = request.rkey;
  }
  return wr;
}

Completion from_verbs(const ibv_wc& wc) noexcept {
  return {.lane = static_cast<std::uint32_t>(wc.wr_id >> 32),
          .slot = static_cast<std::uint32_t>(wc.wr_id),
          .status = static_cast<std::uint32_t>(wc.status),
          .vendor_error = wc.vendor_err,
          .bytes = wc.byte_len,
          .immediate = (wc.wc_flags & IBV_WC_WITH_IMM) != 0 ? ntohl(wc.imm_data) : 0};
}

int poll_cq(ibv_cq* cq, std::span<ibv_wc> scratch, std::span<Completion> out) noexcept {
  int n = ibv_poll_cq(cq, static_cast<int>(std::min(out.size(), scratch.size())), scratch.data());
  if (errno_of_negative(n) != 0) return -EIO;  // the interface has no more to say (ibv_poll_cq(3))
  for (int i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = from_verbs(scratch[static_cast<std::size_t>(i)]);
  return n;
}

/// Throws where `wanted` is more than the device says it has; one that says nothing is asked by the call itself.
void check_limit(const Device& device, const char* limit, std::uint64_t wanted, int told, const char* remedy) {
  const auto most = told_limit(told);
  if (most && wanted > *most)
    throw Error(ErrorKind::verbs, fmt::format("{} of {} is {}, {} are needed: use {}", limit, device.name(), *most, wanted, remedy));
}

/// Entries for every request of every lane, since an unsignalled one that fails has a completion too; where the device
/// has not that many, for the signalled ones.
std::uint64_t send_entries(const QueueRequest& request) {
  std::uint64_t all = std::uint64_t{request.lanes} * request.send_requests;
  return all <= told_limit(request.device->limits().max_cqe).value_or(all)
             ? all
             : std::uint64_t{request.lanes} * (request.send_requests / std::max(1U, request.signal_every) + 1);
}

CqHandle create_cq(const QueueRequest& request, std::uint64_t entries, ibv_comp_channel* channel, const char* remedy) {
  const Device& device = *request.device;
  check_limit(device, "the largest completion queue", entries, device.limits().max_cqe, remedy);
  return CqHandle(check_pointer(ibv_create_cq(device.context(), static_cast<int>(entries), nullptr, channel, 0),
                                fmt::format("ibv_create_cq of {} entries on {}", entries, device.name())));
}

void check_limits(const QueueRequest& request) {
  const ibv_device_attr& limits = request.device->limits();
  check_limit(*request.device, "the number of QPs", request.lanes, limits.max_qp, "fewer --qps or --threads");
  check_limit(*request.device, "the largest QP", std::max(request.send_requests, request.recv_requests), limits.max_qp_wr, "a smaller --depth");
}

/// A QP that the device has no room for: its limit counts what others have made as well.
CreatedQp create_qp(const QueueRequest& request, const QpRequest& qp) {
  try {
    return create_rc_qp(qp);
  } catch (const Error& error) {
    if (error.code() != ENOMEM && error.code() != ENOSPC) throw;
    throw Error(ErrorKind::verbs,
                fmt::format("{}: the memory of host or device is short, or the {} QPs that {} has (max_qp) are in use, the other side's and other "
                            "programs' included: use fewer --qps or --threads, or end what else uses it (`rdma resource show qp`)",
                            error.what(), request.device->limits().max_qp, request.device->name()),
                error.code());
  }
}

/// What a post took. Without an error that is all of it, whatever a provider left in bad_wr; an error whose first refused
/// request is not named took none.
template <typename Wr>
PostResult taken(const Wr* first, const Wr* refused, std::uint32_t count, int error) noexcept {
  if (error == 0) return {count, 0};
  return {refused != nullptr ? static_cast<std::uint32_t>(refused - first) : 0, error};
}

/// By the port that the QP is bound to; false where that cannot be told.
bool runs_over_infiniband(ibv_qp* qp) noexcept {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr unused{};
  ibv_port_attr port{};
  return errno_of_value(ibv_query_qp(qp, &attributes, IBV_QP_PORT, &unused)) == 0 &&
         errno_of_value(ibv_query_port(qp->context, attributes.port_num, &port)) == 0 && port.link_layer != IBV_LINK_LAYER_ETHERNET;
}

}  // namespace

VerbsQueue::VerbsQueue(const QueueRequest& request) : device_(*request.device), lanes_(request.lanes), completions_(kPollChunk) {
  check_limits(request);
  if (request.events) {
    channel_.reset(check_pointer(ibv_create_comp_channel(device_.context()), fmt::format("ibv_create_comp_channel on {}", device_.name())));
    if (fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) < 0) throw system_error("fcntl of the completion channel", errno);
  }
  send_cq_ = create_cq(request, send_entries(request), channel_.get(), "fewer --qps per thread, a smaller --depth or a larger --signal-every");
  recv_cq_ = create_cq(request, std::uint64_t{request.lanes} * request.recv_requests, channel_.get(), "fewer --qps per thread or a smaller --depth");
  std::uint32_t inline_bytes = request.inline_bytes;
  for (Lane& lane : lanes_) {
    CreatedQp created = create_qp(request, {.pd = request.pd,
                                            .send_cq = send_cq_.get(),
                                            .recv_cq = recv_cq_.get(),
                                            .send_requests = request.send_requests,
                                            .recv_requests = request.recv_requests,
                                            .inline_bytes = inline_bytes});
    lane.qp = std::move(created.qp);
    inline_bytes = std::min(inline_bytes, created.caps.inline_bytes);  // what the first one was refused need not be asked again
    caps_ = created.caps;
  }
  caps_.inline_bytes = std::min(caps_.inline_bytes, request.inline_bytes);  // some give more than was asked for
}

void VerbsQueue::prepare(std::uint32_t lane, std::span<const WorkRequest> slots) {
  Lane& l = lanes_.at(lane);
  l.sends.assign(slots.size(), {});
  l.send_sges.assign(slots.size(), {});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    l.send_sges[i] = {.addr = slots[i].local_address, .length = slots[i].bytes, .lkey = slots[i].lkey};
    l.sends[i] = to_verbs(slots[i], id_of(lane, i), &l.send_sges[i]);
    if (i > 0) l.sends[i - 1].next = &l.sends[i];
  }
}

void VerbsQueue::prepare_recv(std::uint32_t lane, std::span<const RecvRequest> slots) {
  Lane& l = lanes_.at(lane);
  l.receives.assign(slots.size(), {});
  l.recv_sges.assign(slots.size(), {});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    l.recv_sges[i] = {.addr = slots[i].local_address, .length = slots[i].bytes, .lkey = slots[i].lkey};
    l.receives[i].wr_id = id_of(lane, i);
    l.receives[i].sg_list = &l.recv_sges[i];
    l.receives[i].num_sge = slots[i].bytes > 0 ? 1 : 0;
    if (i > 0) l.receives[i - 1].next = &l.receives[i];
  }
}

PostResult VerbsQueue::post(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept {
  Lane& l = lanes_[lane];
  ibv_send_wr* first = &l.sends[first_slot];
  ibv_send_wr* last = first + (count - 1);
  ibv_send_wr* next = last->next;
  ibv_send_wr* refused = nullptr;
  last->next = nullptr;
  const int error = errno_of_value(ibv_post_send(l.qp.get(), first, &refused));
  last->next = next;
  return taken(first, refused, count, error);
}

PostResult VerbsQueue::post_recv(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept {
  Lane& l = lanes_[lane];
  ibv_recv_wr* first = &l.receives[first_slot];
  ibv_recv_wr* last = first + (count - 1);
  ibv_recv_wr* next = last->next;
  ibv_recv_wr* refused = nullptr;
  last->next = nullptr;
  const int error = errno_of_value(ibv_post_recv(l.qp.get(), first, &refused));
  last->next = next;
  return taken(first, refused, count, error);
}

int VerbsQueue::poll(std::span<Completion> out) noexcept { return poll_cq(send_cq_.get(), completions_, out); }
int VerbsQueue::poll_recv(std::span<Completion> out) noexcept { return poll_cq(recv_cq_.get(), completions_, out); }

int VerbsQueue::arm() noexcept {
  if (channel_ == nullptr) return -ENOTSUP;
  drain_channel();
  // Both, whatever the first says; one refusal is reason enough.
  const int sends = errno_of_value(ibv_req_notify_cq(send_cq_.get(), 0));
  const int receives = errno_of_value(ibv_req_notify_cq(recv_cq_.get(), 0));
  return -(sends != 0 ? sends : receives);
}

int VerbsQueue::wait(Deadline deadline) noexcept {
  pollfd fd{.fd = channel_->fd, .events = POLLIN, .revents = 0};
  int n = ::poll(&fd, 1, deadline.poll_timeout_ms());
  if (n < 0) return errno == EINTR ? 0 : -errno;
  return n;
}

void VerbsQueue::drain_channel() noexcept {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  // Non-blocking: fails with EAGAIN when there is none left. An event that is not acknowledged blocks ibv_destroy_cq.
  while (errno_of_negative(ibv_get_cq_event(channel_.get(), &cq, &context)) == 0) ibv_ack_cq_events(cq, 1);
}

std::string VerbsQueue::describe(const Completion& completion) const {
  ibv_qp* qp = completion.lane < lanes_.size() ? lanes_[completion.lane].qp.get() : nullptr;
  const Carrier carrier{.software = device_.software(), .infiniband = qp != nullptr && runs_over_infiniband(qp)};
  return fmt::format("completion status {} ({}), vendor error {:#x}, QP {:#x}, request {}: {}", status_name(completion.status), completion.status,
                     completion.vendor_error, qp != nullptr ? qp->qp_num : 0, completion.slot, status_hint(completion.status, carrier));
}

}  // namespace railgauge::verbs
