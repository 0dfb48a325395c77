#pragma once
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::report {

/// What a person should know beside the verdicts, a sentence each, with its remedy: counters that moved and that no verdict's cause
/// names, counters that are saturated, a CPU governor that saves power beside a latency, TCP that ran over another interface than
/// RDMA. Pure; of the record alone.
std::vector<std::string> notes_of(const results::Record& record);

}  // namespace railgauge::report
