#pragma once
#include <vector>

#include "plan/plan.h"

namespace railgauge::bench {

/// How much time `railgauge check` may take.
enum class Effort {
  quick,      ///< ≤ 15 s: a first look after plugging in
  standard,   ///< ≤ 60 s: a window of 1 s each
  thorough,   ///< minutes: 5 s windows, message sizes from 64 B to 8 MiB, latency under load
};

/// The measurements of the main job in the order they run; every plan passes plan::validate. Data is verified in all.
std::vector<plan::Plan> rdma_check_plans(Effort effort);

/// `streams` is the number of parallel streams of the several-streams rows (≥ 2).
std::vector<plan::Plan> tcp_check_plans(Effort effort, int streams);

}  // namespace railgauge::bench
