/// The data path: posting, carrying out, retrying, flushing.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// ibv_post_send and ibv_post_recv.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept;
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;

/// Charges one doorbell, then posts a list (sq_lock held). 0 or an errno with the refused request in `bad`.
int post_list(SimQp& qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept;

/// Tries deferred work of all queue pairs of the context again. Any thread; returns at once when another is at it.
void progress(SimContext& context) noexcept;

/// Ends every outstanding request of the send queue with WR_FLUSH_ERR (sq_lock held).
void flush_send_queue(SimQp& qp) noexcept;
/// Ends every posted receive with WR_FLUSH_ERR (receive_lock held). Any process.
void flush_receive_queue(Peer& owner, QpShared& qp) noexcept;
/// Moves a queue pair to ERR and flushes its receives; the owner flushes its sends when it next looks. Any process.
void fail_shared(Peer& owner, QpShared& qp) noexcept;
/// Forgets the peer, so that the next request looks it up again.
void drop_target(Target& target) noexcept;

}  // namespace railgauge::simverbs
