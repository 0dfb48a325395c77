#include <gtest/gtest.h>

#include "tests/unit/tcp/engine_pair.h"

namespace railgauge::bench {
namespace {

using std::chrono::milliseconds;

plan::Plan short_plan() {
  plan::Plan plan;
  plan.message_bytes = 100000;
  plan.duration = milliseconds(150);
  plan.warm_up = milliseconds(30);
  plan.interval = milliseconds(20);
  plan.verify = true;
  return plan;
}

TEST(TcpEngine, MeasuresBandwidthAtTheReceiver) {
  EnginePair pair(short_plan(), "127.0.0.1");
  pair.connect();
  pair.run();
  ASSERT_FALSE(pair.client_result.error) << pair.client_result.error->text;
  ASSERT_FALSE(pair.server_result.error) << pair.server_result.error->text;
  ASSERT_TRUE(pair.server_result.received);
  EXPECT_GT(pair.server_result.received->mean_gbit_per_s.value.value_or(0), 0.01);
}

}  // namespace
}  // namespace railgauge::bench
