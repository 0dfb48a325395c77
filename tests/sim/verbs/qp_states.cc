#include "qp_states.h"

namespace railgauge::simverbs {

namespace {

struct Masks {
  int required;
  int optional;
};

struct Transition {
  ibv_qp_state from, to;
  Masks rc, uc, ud;
};

constexpr int kInitRc = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kInitUd = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int kRtrUc = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRtrRc = kRtrUc | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRtrOptional = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int kRtsRc =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kRtsUcOptional = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int kRtsRcOptional = kRtsUcOptional | IBV_QP_MIN_RNR_TIMER;
constexpr int kRtsUdOptional = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr int kSqdUc =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
constexpr int kSqdRc = kSqdUc | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

constexpr Transition kTable[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {kInitRc, 0}, {kInitRc, 0}, {kInitUd, 0}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {0, kInitRc}, {0, kInitRc}, {0, kInitUd}},
    {IBV_QPS_INIT, IBV_QPS_RTR, {kRtrRc, kRtrOptional}, {kRtrUc, kRtrOptional}, {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_RTR, IBV_QPS_RTS, {kRtsRc, kRtsRcOptional}, {IBV_QP_SQ_PSN, kRtsUcOptional}, {IBV_QP_SQ_PSN, kRtsUdOptional}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, kRtsRcOptional}, {0, kRtsUcOptional}, {0, kRtsUdOptional}},
    {IBV_QPS_RTS, IBV_QPS_SQD, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD, IBV_QPS_SQD, {0, kSqdRc}, {0, kSqdUc}, {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, kRtsRcOptional}, {0, kRtsUcOptional}, {0, kRtsUdOptional}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {-1, 0}, {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS}, {0, kRtsUdOptional}},
};

const Masks& masks_of(const Transition& t, ibv_qp_type type) noexcept {
  return type == IBV_QPT_RC ? t.rc : type == IBV_QPT_UC ? t.uc : t.ud;
}

bool names_running_state(ibv_qp_state state) noexcept {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

}  // namespace

bool transition_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept {
  if ((mask & IBV_QP_CUR_STATE) != 0 && !names_running_state(from)) return false;
  const int given = mask & ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return given == 0;
  for (const auto& t : kTable) {
    if (t.from != from || t.to != to) continue;
    const Masks& m = masks_of(t, type);
    return m.required >= 0 && (given & m.required) == m.required && (given & ~(m.required | m.optional)) == 0;
  }
  return false;
}

}  // namespace railgauge::simverbs
