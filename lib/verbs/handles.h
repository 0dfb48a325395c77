#pragma once
#include <infiniband/verbs.h>

#include <memory>

namespace railgauge::verbs {

/// Frees a verbs object; a refusal is logged, never thrown. Parents must outlive children: declare them before.
struct Destroy {
  void operator()(ibv_context* context) const noexcept;
  void operator()(ibv_pd* pd) const noexcept;
  void operator()(ibv_comp_channel* channel) const noexcept;
  void operator()(ibv_cq* cq) const noexcept;
  void operator()(ibv_mr* mr) const noexcept;
  void operator()(ibv_qp* qp) const noexcept;
};

using ContextHandle = std::unique_ptr<ibv_context, Destroy>;
using PdHandle = std::unique_ptr<ibv_pd, Destroy>;
using ChannelHandle = std::unique_ptr<ibv_comp_channel, Destroy>;
using CqHandle = std::unique_ptr<ibv_cq, Destroy>;
using MrHandle = std::unique_ptr<ibv_mr, Destroy>;
using QpHandle = std::unique_ptr<ibv_qp, Destroy>;

}  // namespace railgauge::verbs
