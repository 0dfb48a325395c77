#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "host/device_choice.h"
#include "host/facts.h"
#include "plan/plan.h"
#include "results/record.h"
#include "transport/offer.h"

namespace railgauge::bench {

/// Which end of the control channel; the client owns the plan, and directions are seen from it.
enum class Side { client, server };

/// What one direction of a run carried, warm-up and drain included.
struct Moved {
  std::uint64_t bytes = 0;              ///< payload
  std::uint64_t messages = 0;
  std::uint64_t packets = 0;            ///< at the path MTU, without acknowledgements
};
/// Both directions of one side.
struct Transfers {
  std::optional<Moved> sent;            ///< nothing: this side does not count it
  std::optional<Moved> received;
};

/// What the supervising thread and the measuring threads of one side share while a measurement runs.
struct RunControl {
  std::atomic<bool> stop{false};        ///< set by the supervisor: end now, keep what there is (Ctrl-C, peer vanished, deadline)
  std::atomic<bool> peer_done{false};   ///< set by the supervisor: the other side's active part has ended
  /// Messages of this side that completed with success until its active part ended, per QP in the order of the offer. Written by the
  /// engine before active_done. Empty where nobody counts them (TCP, a passive side) or where some may be on their way.
  std::vector<std::uint64_t> completed;
  std::vector<std::uint64_t> peer_completed;    ///< the peer's; written by the supervisor before peer_done
  std::atomic<bool> active_done{false}; ///< set by the ENGINE: this side's active part (initiating, sending) has ended; a
                                        ///< passive side sets it as run() begins. The supervisor then tells the peer.
  std::atomic<std::uint64_t> live_bytes{0};     ///< for the progress line; written by engines at interval ends, relaxed
  std::atomic<std::uint64_t> live_messages{0};  ///< the same, of rates and latencies
  Transfers transfers;                  ///< written by the engine at the end of run(), read after it
};

/// One side of one measurement: owns every resource of it on this host. Life: construct (opens devices, allocates,
/// registers, creates QPs or the data listener) → offer() → connect(peer's offer) → run() → destroy.
/// All but run() throw Error. One thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  /// What the peer must know. The client makes its offer after it has seen the server's (`peer` then; null on the server).
  virtual transport::Offer offer(const transport::Offer* peer) = 0;
  /// Brings the connection up: QPs to RTS, or data connections made and authenticated by the nonce. The server's
  /// connect may run at the same time as the client's (TCP accept, rdma_cm).
  virtual void connect(const transport::Offer& peer, Deadline deadline) = 0;
  /// Asks a connect() that waits on another thread to end now (it throws Error{peer}). Any thread.
  virtual void cancel_connect() noexcept = 0;
  /// Runs this side's part. Active (initiates or sends): to the plan's end or control.stop, then sets
  /// control.active_done. Every side then goes on responding until control.peer_done or control.stop, drains what is in
  /// flight and returns. Never throws: an error stands in the result, with what was measured.
  virtual results::SideResult run(RunControl& control) noexcept = 0;
};

/// What went wrong in run(), the side left open.
results::ErrorInfo run_error(ErrorKind kind, int code, const std::string& text);

/// The warning of an open loop that could not keep to its schedule: `unsent` messages due in the window were never sent.
std::string unsent_text(std::uint64_t unsent);

/// What a side's choices of device and interface rest on; all outlive it, not the engine.
struct Standpoint {
  const plan::Plan& plan;
  Side side;
  const host::Snapshot& local;          ///< with what libibverbs knows of its devices
  const host::Snapshot& peer;           ///< may have no devices: not known
  const std::string& local_address;     ///< its end of the control connection, numeric
  const std::string& peer_address;
  const plan::Placement& wish() const noexcept { return side == Side::client ? plan.client : plan.server; }
};

/// Both ends run on one host, whose CPUs and NICs they share: by one address of the control connection, or by one running
/// kernel (network namespaces have addresses of their own); where a kernel's boot id is not known, by the hostname.
bool one_host(const host::Snapshot& local, const host::Snapshot& peer, const std::string& local_address, const std::string& peer_address);
inline bool one_host(const Standpoint& at) { return one_host(at.local, at.peer, at.local_address, at.peer_address); }

/// Where both hosts can meet. Both sides decide alone, from the same facts.
host::CommonGround common_ground_of(const Standpoint& at);

/// Opens this side of a verbs measurement (bench/rdma/engine.cc). Throws Error.
std::unique_ptr<Engine> make_rdma_engine(const Standpoint& at);

/// Opens this side of a TCP measurement (bench/tcp/engine.cc). The server listens for data on its local address. Throws Error.
std::unique_ptr<Engine> make_tcp_engine(const Standpoint& at);

}  // namespace railgauge::bench
