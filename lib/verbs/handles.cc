#include "verbs/handles.h"

#include "base/log.h"
#include "verbs/check.h"

namespace railgauge::verbs {
namespace {

void log_refusal(int result, const char* call) noexcept {
  try {
    check_value(result, call);
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
  }
}

}  // namespace

void Destroy::operator()(ibv_context* context) const noexcept { log_refusal(ibv_close_device(context), "ibv_close_device"); }
void Destroy::operator()(ibv_pd* pd) const noexcept { log_refusal(ibv_dealloc_pd(pd), "ibv_dealloc_pd"); }
void Destroy::operator()(ibv_comp_channel* channel) const noexcept { log_refusal(ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel"); }
void Destroy::operator()(ibv_cq* cq) const noexcept { log_refusal(ibv_destroy_cq(cq), "ibv_destroy_cq"); }
void Destroy::operator()(ibv_mr* mr) const noexcept { log_refusal(ibv_dereg_mr(mr), "ibv_dereg_mr"); }
void Destroy::operator()(ibv_qp* qp) const noexcept { log_refusal(ibv_destroy_qp(qp), "ibv_destroy_qp"); }

}  // namespace railgauge::verbs
