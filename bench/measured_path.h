#pragma once
#include <string>
#include <vector>

#include "bench/engine.h"
#include "bench/nic_lock.h"
#include "host/counters.h"
#include "host/differences.h"

namespace railgauge::bench {

/// make_rdma_engine or make_tcp_engine, by the plan. Throws Error{usage} for a CPU or NUMA node that this host lacks.
std::unique_ptr<Engine> make_engine(const Standpoint& at);

/// What the one-measurement-at-a-time lock of a side is for, known before its engine takes anything: the RDMA device that it
/// will choose, the interface (else "tcp"). Throws Error{usage, unsupported} as the choice of a device does.
Nic nic_of(const Standpoint& at);

/// What one side of a measurement uses on its host, from its own offer and facts. `local_address` is its end of the control
/// connection.
host::UsedPath used_path(const plan::Plan& plan, const transport::Offer& offer, const host::Snapshot& facts,
                         const std::string& local_address);

/// Reads the path's NIC counters when made, which must be before either side moves anything, and again in tell().
class CounterWatch {
 public:
  CounterWatch(const host::Root& root, const host::UsedPath& path);
  /// What moved, what has no change that could be read, and how many were read at all. Waits for as long as the kernel caches
  /// counters (some 10 ms, 10 s at most).
  void tell(results::SideResult& side) const;

 private:
  host::CounterReader reader_;
  std::vector<host::CounterReading> before_;
};

}  // namespace railgauge::bench
