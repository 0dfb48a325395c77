#include "verbs/qp.h"

#include <fmt/format.h>

#include "verbs/check.h"
#include "verbs/device.h"
#include "verbs/newer_calls.h"

namespace railgauge::verbs {
namespace {

/// An attribute set and the mask that names its fields, filled side by side.
struct Attributes {
  ibv_qp_attr values{};
  int mask = 0;
  void mark(ibv_qp_attr_mask field) { mask |= field; }
};

CreatedQp create_with_inline(const QpRequest& request, std::uint32_t inline_bytes) {
  ibv_qp_init_attr init{};
  init.send_cq = request.send_cq;
  init.recv_cq = request.recv_cq;
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 0;
  init.cap.max_send_wr = request.send_requests;
  init.cap.max_recv_wr = request.recv_requests;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = inline_bytes;
  QpHandle qp(check_pointer(ibv_create_qp(request.pd, &init), fmt::format("ibv_create_qp with {} sends, {} receives and {} bytes inline",
                                                                          request.send_requests, request.recv_requests, inline_bytes)));
  return {std::move(qp), {init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_inline_data}};
}

void apply(ibv_qp* qp, Attributes& attributes, const char* change) {
  check_value(ibv_modify_qp(qp, &attributes.values, attributes.mask), fmt::format("ibv_modify_qp of QP {:#x}, {}", qp->qp_num, change));
}

ibv_ah_attr address_of(const PathSettings& path) {
  ibv_ah_attr address{};
  address.dlid = path.dlid;
  address.sl = path.service_level;
  address.port_num = static_cast<std::uint8_t>(path.port);
  if (!path.global) return address;
  address.is_global = 1;
  address.grh.dgid = parse_gid(path.gid);
  address.grh.sgid_index = static_cast<std::uint8_t>(path.gid_index);
  address.grh.hop_limit = 64;  // the kernel's own default for RoCE through the connection manager; 1 would not be routed
  address.grh.traffic_class = path.traffic_class;
  return address;
}

/// The largest inline size that create_qp takes, found by halving the gap to one that it refuses; each try is destroyed at
/// once. Throws when none at all is taken: then the refusal has another reason than inline.
std::uint32_t most_inline(const QpRequest& request) {
  create_with_inline(request, 0);
  std::uint32_t taken = 0;
  std::uint32_t refused = request.inline_bytes;
  while (refused - taken > 1) {
    const std::uint32_t middle = taken + (refused - taken) / 2;
    try {
      create_with_inline(request, middle);
      taken = middle;
    } catch (const Error&) {
      refused = middle;
    }
  }
  return taken;
}

}  // namespace

CreatedQp create_rc_qp(const QpRequest& request) {
  if (request.inline_bytes == 0) return create_with_inline(request, 0);
  try {
    return create_with_inline(request, request.inline_bytes);
  } catch (const Error&) {
    // There is no way to ask for the largest inline size but to try.
    return create_with_inline(request, most_inline(request));
  }
}

void reset_to_init(ibv_qp* qp, const InitSettings& settings) {
  Attributes a;
  a.values.qp_state = IBV_QPS_INIT, a.mark(IBV_QP_STATE);
  a.values.pkey_index = settings.pkey_index, a.mark(IBV_QP_PKEY_INDEX);
  a.values.port_num = static_cast<std::uint8_t>(settings.port), a.mark(IBV_QP_PORT);
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (settings.remote_write) access |= IBV_ACCESS_REMOTE_WRITE;
  if (settings.remote_read) access |= IBV_ACCESS_REMOTE_READ;
  if (settings.remote_atomic) access |= IBV_ACCESS_REMOTE_ATOMIC;
  a.values.qp_access_flags = access, a.mark(IBV_QP_ACCESS_FLAGS);
  apply(qp, a, "RESET to INIT");
}

void init_to_rtr(ibv_qp* qp, const PathSettings& settings) {
  Attributes a;
  a.values.qp_state = IBV_QPS_RTR, a.mark(IBV_QP_STATE);
  a.values.ah_attr = address_of(settings), a.mark(IBV_QP_AV);
  a.values.path_mtu = mtu_of_bytes(settings.mtu_bytes), a.mark(IBV_QP_PATH_MTU);
  a.values.dest_qp_num = settings.qp_number, a.mark(IBV_QP_DEST_QPN);
  a.values.rq_psn = settings.psn, a.mark(IBV_QP_RQ_PSN);
  a.values.max_dest_rd_atomic = settings.responder_reads, a.mark(IBV_QP_MAX_DEST_RD_ATOMIC);
  a.values.min_rnr_timer = kMinRnrTimer, a.mark(IBV_QP_MIN_RNR_TIMER);
  try {
    apply(qp, a, "INIT to RTR");
  } catch (const Error& error) {
    // On RoCE the kernel resolves the peer's MAC here; about 1 s when nobody answers (seen on 6.1 and 6.12).
    if (error.code() != ETIMEDOUT && error.code() != EHOSTUNREACH && error.code() != ENETUNREACH) throw;
    throw Error(
        ErrorKind::peer,
        fmt::format(
            "{}: peer address {} is not reachable from GID index {} ({}): are both in one subnet or routed, and the peer's interface up?",
            error.what(), settings.gid, settings.gid_index, settings.local_gid),
        error.code());
  }
}

void rtr_to_rts(ibv_qp* qp, const SendSettings& settings) {
  Attributes a;
  a.values.qp_state = IBV_QPS_RTS, a.mark(IBV_QP_STATE);
  a.values.sq_psn = settings.psn, a.mark(IBV_QP_SQ_PSN);
  a.values.timeout = settings.timeout_code, a.mark(IBV_QP_TIMEOUT);
  a.values.retry_cnt = settings.retry_count, a.mark(IBV_QP_RETRY_CNT);
  a.values.rnr_retry = settings.rnr_retry, a.mark(IBV_QP_RNR_RETRY);
  a.values.max_rd_atomic = settings.initiator_reads, a.mark(IBV_QP_MAX_QP_RD_ATOMIC);
  apply(qp, a, "RTR to RTS");
}

bool writes_land_in_order(ibv_qp* qp) noexcept {
  auto ask = newer_calls().query_qp_data_in_order;
  return ask != nullptr && ask(qp, IBV_WR_RDMA_WRITE, 0) != 0;
}

}  // namespace railgauge::verbs
