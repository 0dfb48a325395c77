#pragma once
#include <optional>
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::report {

/// Why a figure is what it is: one sentence, and what to do.
struct Cause {
  std::string sentence;
  std::vector<std::string> remedies;
};

/// The first byte that differed: "hostB: 4096 of 1048576 bytes differ, first at offset 8192: expected 0x5a, found 0x00".
/// Nothing when all data checked was right.
std::optional<std::string> mismatch_text(const results::Measurement& measurement);

/// How clean the link stayed during the measurement, from counters that moved.
enum class Cleanliness { clean, suspicious, dirty };
struct LinkState {
  Cleanliness cleanliness = Cleanliness::clean;
  std::string sentence;  ///< the counter, by how much, on which host, what it means
};
/// dirty: the link went down, retrained, or damaged packets; suspicious: loss that a lossless fabric would not have (RDMA).
LinkState link_state(const results::Measurement& measurement);

/// A measuring thread that was ready to run but had no CPU for more than 5 % of the run, named with its host. Empty else.
Cause cpu_contention(const results::Measurement& measurement);

/// Why bandwidth is lower than expected: a port slower than the rate the user gave, else what moved (pauses, congestion, loss)
/// and the TCP limiter.
Cause cause_of_low_bandwidth(const results::Measurement& measurement, const results::Record& record);

/// What limits the expectation itself when that is not the port at its best: lost lanes, the PCIe link, the path MTU. Empty else.
Cause cause_of_low_expectation(const results::Measurement& measurement, const results::Record& record);

}  // namespace railgauge::report
