#pragma once
#include <memory>
#include <span>

#include "base/tsc.h"
#include "bench/engine.h"
#include "bench/rdma/group.h"
#include "bench/rdma/path.h"
#include "bench/rdma/place.h"
#include "results/record.h"
#include "verbs/device.h"
#include "verbs/event_watcher.h"

namespace railgauge::bench {

/// One side, connected and ready to run. All outlive the run.
struct Measurable {
  const plan::Plan& plan;
  Side side;
  const RdmaPlace& place;
  const verbs::Device& device;
  std::span<const std::unique_ptr<RdmaGroup>> groups;
  verbs::EventWatcher& watcher;
  const Agreement& agreement;
  const TickClock& clock;
};

/// Runs the groups on threads of their own to the end, waits for the peer, verifies the data and adds to `result` what was
/// measured and what went wrong. Engine::run's promises about `control` are kept here. Throws Error when a thread cannot be
/// started.
void measure_groups(const Measurable& side, RunControl& control, results::SideResult& result);

}  // namespace railgauge::bench
