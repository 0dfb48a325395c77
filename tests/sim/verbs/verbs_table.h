/// The function tables a context carries.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// Fills context->ops and the extended table.
void fill_verbs_table(SimContext& context);

/// ibv_create_qp and ibv_create_qp_ex. Null with errno.
ibv_qp* create_qp(SimPd& pd, ibv_qp_init_attr_ex& attr);
int destroy_qp(SimQp& qp);
int modify_qp(SimQp& qp, const ibv_qp_attr& attr, int mask);
int query_qp(SimQp& qp, ibv_qp_attr& attr, ibv_qp_init_attr* init);
/// The ibv_wr_* calls of an extended queue pair.
void fill_wr_calls(SimQp& qp, std::uint64_t operations);

/// ibv_create_cq and its end.
ibv_cq* create_cq(SimContext& context, int cqe, void* user, ibv_comp_channel* channel, int vector);
int destroy_cq(SimCq& cq);

}  // namespace railgauge::simverbs
