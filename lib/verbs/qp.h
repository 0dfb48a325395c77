#pragma once
#include <cstdint>
#include <string>

#include "verbs/handles.h"

namespace railgauge::verbs {

/// A queue pair of somebody else's, for callers outside this folder, who only hand it on.
using QpPointer = ibv_qp*;

/// RNR code 12 is 0.64 ms (InfiniBand specification table 45): what perftest and NCCL use. Code 0 would be 655 ms, so that one
/// RNR NAK would wreck a measurement.
inline constexpr std::uint8_t kMinRnrTimer = 12;

/// A reliable-connected queue pair to be made.
struct QpRequest {
  ibv_pd* pd = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  std::uint32_t send_requests = 1;      ///< outstanding send work requests
  std::uint32_t recv_requests = 1;      ///< outstanding receives
  std::uint32_t inline_bytes = 0;       ///< wanted; halved until the device agrees
};

/// What the device gave: at least what was asked, except for inline.
struct QpCaps {
  std::uint32_t send_requests = 0;
  std::uint32_t recv_requests = 0;
  std::uint32_t inline_bytes = 0;
};

struct CreatedQp {
  QpHandle qp;
  QpCaps caps;
};

/// Makes an RC queue pair in RESET. Throws Error{verbs}; for ENOMEM and EINVAL the message names what was asked for.
CreatedQp create_rc_qp(const QpRequest& request);

/// What the peer may do through the QP.
struct InitSettings {
  int port = 1;
  std::uint16_t pkey_index = 0;
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
};

/// Where the peer is and how to get there.
struct PathSettings {
  int port = 1;
  std::uint16_t dlid = 0;               ///< InfiniBand
  bool global = false;                  ///< with a GRH; always so on Ethernet
  int gid_index = 0;                    ///< local, when global
  std::string gid;                      ///< the peer's, when global
  std::string local_gid;                ///< for messages
  int mtu_bytes = 1024;
  std::uint32_t qp_number = 0;          ///< the peer's
  std::uint32_t psn = 0;                ///< the peer's first
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t responder_reads = 0;     ///< reads and atomics this side answers at a time
};

struct SendSettings {
  std::uint32_t psn = 0;                ///< this side's first
  std::uint8_t timeout_code = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t initiator_reads = 0;     ///< reads and atomics this side has outstanding; at most the peer's responder_reads
};

/// State changes. Throw Error{verbs}; an unreachable RoCE peer is an Error{peer} that names both GIDs.
void reset_to_init(ibv_qp* qp, const InitSettings& settings);
void init_to_rtr(ibv_qp* qp, const PathSettings& settings);
void rtr_to_rts(ibv_qp* qp, const SendSettings& settings);

/// Whether the device promises that the last byte of a write lands last. Of a connected QP only.
bool writes_land_in_order(ibv_qp* qp) noexcept;

}  // namespace railgauge::verbs
