#pragma once
#include <string>

#include "plan/plan.h"
#include "results/record.h"

namespace railgauge::bench {

// What the tool chose and neither host's facts allow is lowered before the plan is sent, so that both hosts and the record
// have one and the same plan. Each returns the sentence that says what was lowered and why; empty: nothing was.

/// What the user typed of an RDMA plan and is therefore kept.
struct Typed {
  bool qps = false;
  bool depth = false;
  bool post_batch = false;
  bool signal_every = false;
};

/// Lowers QPs, depth, and what is posted and signalled at once to what the RDMA devices of both hosts hold (queue pairs,
/// requests on one, entries of a completion queue). What cannot be fitted stays and is refused when the QPs are made.
std::string fit_queues(plan::Plan& plan, const Typed& typed, const results::Node& client, const results::Node& server);

/// Lowers the depth of `check`'s bandwidths and rates where either host has a software RDMA device.
std::string spare_software_device(plan::Plan& plan, const results::Node& client, const results::Node& server);

}  // namespace railgauge::bench
