/// Completion queues: pushing (by any process) and polling (by the owner).
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// A completion about to be pushed.
struct Completion {
  std::uint32_t qp_num = 0;
  std::uint64_t wr_id = 0;
  std::uint64_t due_ns = 0;
  std::uint32_t sq_index = 0;
  std::uint32_t byte_len = 0;
  std::uint32_t imm_data = 0;
  std::uint32_t src_qp = 0;
  std::uint32_t wc_flags = 0;
  std::uint16_t vendor_err = 0;
  std::uint8_t status = 0;
  std::uint8_t opcode = 0;
  bool is_recv = false;
  bool solicited = false;
};

/// Appends to a queue that `owner` owns and wakes its channel when it is armed. A full queue loses the completion and
/// raises CQ_ERR once, as overrun does on hardware. Any thread of any process.
void push_completion(Peer& owner, CqShared& cq, const Completion& completion) noexcept;

/// ibv_poll_cq.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) noexcept;
/// ibv_req_notify_cq.
int request_notification(ibv_cq* cq, int solicited_only) noexcept;
/// Fires the channel of an armed queue whose first completion has become due (paced devices). True while still armed.
bool fire_if_due(SimCq& cq) noexcept;

/// Marks the completions of a queue pair as not to be seen, as destroying or resetting it does.
void forget_completions(SimCq& cq, std::uint32_t qpn) noexcept;

/// Writes an asynchronous event into the owner's pipe.
void raise_event(Peer& owner, const AsyncRecord& record) noexcept;

}  // namespace railgauge::simverbs
