/// The state table of queue pairs.
#pragma once
#include <infiniband/verbs.h>

namespace railgauge::simverbs {

/// True when the move from `from` to `to` exists for the type and `mask` holds every attribute it needs and none it
/// does not take. The table is that of man ibv_modify_qp and of the kernel's core/verbs.c.
bool transition_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept;

}  // namespace railgauge::simverbs
