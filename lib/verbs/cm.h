#pragma once
#include <rdma/rdma_cma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "verbs/handles.h"

namespace railgauge::verbs {

/// Connects queue pairs by librdmacm, which iWARP needs and RoCE and InfiniBand (with IPoIB) can have. One connection per QP;
/// the QPs are made elsewhere, come in INIT, and are brought to RTS by the attributes that the connection manager gives.
struct CmSettings {
  std::uint8_t traffic_class = 0;       ///< type of service, active side
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t initiator_reads = 0;
  std::uint8_t responder_reads = 0;
  std::uint8_t timeout_code = 14;
  int mtu_bytes = 1024;
};

/// 128 random bits that name one measurement: the listener makes them, the control channel carries them to the peer.
using CmNonce = std::array<std::uint8_t, 16>;

/// Where the passive side listens, as its offer says.
struct CmPeer {
  std::string address;
  int port = 0;
  CmNonce nonce{};
};

/// Until when the peer is waited for, and what ends that earlier.
struct CmWait {
  Deadline deadline;
  int cancel_fd = -1;                   ///< readable: Error{peer} at once; −1: none
};

namespace detail {
struct CmDestroy {
  void operator()(rdma_event_channel* channel) const noexcept;
  void operator()(rdma_cm_id* id) const noexcept;
};
}  // namespace detail

using CmChannel = std::unique_ptr<rdma_event_channel, detail::CmDestroy>;
using CmId = std::unique_ptr<rdma_cm_id, detail::CmDestroy>;

/// Keeps the connections up; declare it after the QPs, so that it ends before them.
class CmConnections {
 public:
  CmConnections(CmConnections&&) = default;
  CmConnections& operator=(CmConnections&&) = default;
  ~CmConnections();

  /// Passive side, before the peer knows of it: listens at `address`, any port, with a nonce of its own. Throws Error.
  static CmConnections listen(const std::string& address);
  int port() const;
  const CmNonce& nonce() const noexcept { return nonce_; }
  /// Passive side: accepts one connection per QP, in the order that the peer's private data names. Whoever does not know the nonce
  /// is rejected and otherwise ignored. Throws Error{timeout, verbs, peer}.
  void accept(const CmSettings& settings, const std::vector<ibv_qp*>& qps, const CmWait& wait);

  /// Active side: connects each QP to the peer's listener. Throws Error{timeout, verbs, peer}.
  static CmConnections connect(const CmSettings& settings, const std::vector<ibv_qp*>& qps, const CmPeer& peer, const CmWait& wait);

 private:
  CmConnections();
  CmChannel channel_;
  CmId listener_;
  std::vector<CmId> ids_;
  CmNonce nonce_{};
};

}  // namespace railgauge::verbs
