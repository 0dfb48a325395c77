/// Ending requests, and keeping those that cannot be carried out yet.
#pragma once
#include "execute.h"
#include "objects.h"

namespace railgauge::simverbs {

/// Acts on the outcome of the request posted last: completes it, or keeps it for later (sq_lock held).
void settle(SimQp& qp, const ibv_send_wr& wr, const Outcome& outcome, const Tamper& tamper = {}) noexcept;

/// Pushes the completion of a signalled write that went well (the request posted last).
void complete_success(SimQp& qp, const ibv_send_wr& wr) noexcept;

/// Keeps a request. `why` is the outcome of a first try, if there was one.
void defer(SimQp& qp, const ibv_send_wr& wr, const Outcome& why, bool stuck, const Tamper& tamper = {}) noexcept;

/// Ends a request with WR_FLUSH_ERR.
void finish_flushed(SimQp& qp, const ibv_send_wr& wr, std::uint32_t sq_index) noexcept;

/// Carries out a request whose data the fault script tampers with.
Outcome execute_tampered(SimQp& qp, const ibv_send_wr& wr, const Tamper& tamper) noexcept;

}  // namespace railgauge::simverbs
