#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/engine.h"
#include "host/facts.h"
#include "plan/plan.h"

namespace railgauge::bench {

/// Where the threads of one side of a TCP measurement run.
struct TcpPlacement {
  std::vector<int> senders;             ///< one per sending thread, round robin; empty: not bound
  std::vector<int> receivers;
  std::optional<int> round_trip;        ///< nothing: not bound
  std::optional<int> numa_node;         ///< of the buffers
  std::optional<std::string> interface; ///< that the plan names, else that which carries the local address; nothing: not known
  std::string reason;                   ///< one sentence
  std::optional<std::string> warning;   ///< more threads than CPUs
  std::vector<int> all() const;
};

/// The plan's CPUs if it names any; else those beside the interface that carries `local_address`; not bound on loopback,
/// where both ends share this host's CPUs and would be put on the same ones. Pure.
TcpPlacement place_tcp_threads(const plan::Plan& plan, Side side, const host::Snapshot& local, const std::string& local_address);

}  // namespace railgauge::bench
