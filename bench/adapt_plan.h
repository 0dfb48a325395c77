#pragma once
#include <string>

#include "plan/plan.h"
#include "results/record.h"

namespace railgauge::bench {

// What the tool chose and neither host's facts allow is lowered before the plan is sent, so that both hosts and the record
// have one and the same plan. Each returns the sentence that says what was lowered and why; empty: nothing was.

/// Lowers a depth that nobody asked for to what the RDMA devices of both hosts hold, in whole posts and signals. A depth that
/// cannot be lowered stays and is refused when the QP is made.
std::string fit_depth(plan::Plan& plan, const results::Node& client, const results::Node& server);

/// Lowers the depth of `check`'s bandwidths and rates where either host has a software RDMA device.
std::string spare_software_device(plan::Plan& plan, const results::Node& client, const results::Node& server);

}  // namespace railgauge::bench
