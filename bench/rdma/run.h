#pragma once
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tsc.h"
#include "bench/engine.h"
#include "bench/rdma/group.h"
#include "loops/open_loop.h"
#include "loops/receive.h"
#include "loops/window.h"
#include "stats/histogram.h"

namespace railgauge::bench {

using std::chrono::nanoseconds;

/// What all threads of one side share while they measure.
struct RunShared {
  const plan::Plan& plan;
  const TickClock& clock;
  RunControl& control;
  const std::atomic<bool>& broken;      ///< a fatal asynchronous event came
  nanoseconds stall_limit;
  bool same_host;                       ///< both sides share this host's CPUs
  std::latch& ready;                    ///< as many as there are threads
  std::atomic<bool> abandoned{false};   ///< a thread could not be started: those that wait at `ready` end
  std::atomic<std::uint64_t> start_tick{0};    ///< the common begin, set by the first that passes `ready`
  std::atomic<int> initiators{0};       ///< threads that still initiate; the last one sets control.active_done
  std::vector<std::span<std::uint64_t>> completed{};  ///< each group's part of control.completed; empty where this side does not initiate
  std::atomic<bool> all_completed{true};    ///< no group that has ended leaves messages in flight or a fault
  std::atomic<std::uint64_t> first_arrival{0};
  std::atomic<bool> load_stop{false};   ///< ends the stream beside a latency measurement
};

/// What one thread counted in one direction.
struct Counted {
  stats::ThroughputSummary summary;
  stats::Series series;
};

/// What one thread found; plain data, read after the thread has ended.
struct GroupOutcome {
  std::optional<Counted> sent;
  std::optional<Counted> received;
  nanoseconds drain{};
  std::vector<std::uint64_t> sent_counts;      ///< messages per lane; empty where some may be on their way, or none were counted
  std::vector<std::uint64_t> received_counts;
  std::unique_ptr<stats::LatencyRecorder> latency;
  std::unique_ptr<stats::LatencyRecorder> from_intended;
  std::optional<std::uint64_t> late_sends;
  std::uint64_t unsent = 0;
  loops::Fault fault;
  std::optional<Error> thrown;          ///< an exception that ended the thread
  std::string error;                    ///< text of the fault, or of `thrown`; empty: none
  bool damaged = false;                 ///< `error` is about data
  bool stopped = false;
  results::ThreadUsage usage;
};

/// Whether the group has something to do on this side, or only lets the peer reach its memory.
bool needs_thread(const RdmaGroup& group);

/// Does the group's part on the calling thread, which is bound to `cpu` first, if that is one. Never throws; counts `shared.ready`
/// down once, however it ends.
GroupOutcome run_group(RdmaGroup& group, RunShared& shared, std::optional<int> cpu) noexcept;

}  // namespace railgauge::bench
