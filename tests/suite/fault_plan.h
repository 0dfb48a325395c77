#pragma once
#include <gtest/gtest.h>

#include "suite/engine_pair.h"

namespace railgauge::testing_support {

/// 0.4 s of writes of 1000 bytes, verified.
inline plan::Plan write_plan() {
  plan::Plan p;
  p.transport = plan::Transport::rdma;
  p.operation = plan::Operation::write;
  p.message_bytes = 1000;
  p.duration = std::chrono::milliseconds(400);
  p.warm_up = std::chrono::milliseconds(10);
  p.interval = std::chrono::milliseconds(10);
  p.verify = true;
  p.working_set_bytes = 1 << 20;
  p.rdma.depth = 32;
  return p;
}

/// Both sides from connect to the end, which must come within `limit`.
inline void run_to_end(EnginePair& pair, Clock::duration limit) {
  pair.connect();
  auto begin = Clock::now();
  pair.run();
  EXPECT_LT(Clock::now() - begin, limit);
}

}  // namespace railgauge::testing_support
