#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "suite/engine_pair.h"

namespace railgauge {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;
using std::chrono::milliseconds;
using testing_support::EnginePair;

plan::Plan plan_of(Operation op, Metric metric, Direction direction, std::uint64_t bytes) {
  plan::Plan p;
  p.transport = plan::Transport::rdma;
  p.operation = op;
  p.metric = metric;
  p.direction = direction;
  p.message_bytes = bytes;
  p.duration = milliseconds(60);
  p.warm_up = milliseconds(15);
  p.interval = milliseconds(10);
  p.verify = true;
  p.working_set_bytes = std::max<std::uint64_t>(4 << 20, bytes);
  if (metric == Metric::latency) p.rdma.depth = 1;
  return p;
}

void expect_clean(const results::SideResult& side) {
  EXPECT_FALSE(side.error) << side.role << ": " << side.error->text;
  if (side.verification) {
    EXPECT_GT(side.verification->checked_bytes, 0U);
    EXPECT_EQ(side.verification->mismatched_bytes, 0U);
  }
  EXPECT_TRUE(side.simulated);
}

const results::SideResult& initiator_of(const EnginePair& pair, const plan::Plan& p) {
  bool client = (p.direction == Direction::to) != (p.operation == Operation::read);
  return client ? pair.client_result : pair.server_result;
}

/// Whoever the data comes to has to have verified it: the other side of writes and sends, the initiator itself of reads and atomics.
void expect_verified_where_due(const EnginePair& pair, const plan::Plan& p) {
  const bool atomic = p.operation == Operation::fetch_add || p.operation == Operation::compare_swap;
  const bool comes_to_client = atomic ? p.direction == Direction::to : p.direction == Direction::from;
  if (p.direction != Direction::both) {
    EXPECT_TRUE((comes_to_client ? pair.client_result : pair.server_result).verification);
    return;
  }
  EXPECT_TRUE(pair.client_result.verification);
  EXPECT_TRUE(pair.server_result.verification);
}

struct Case {
  Operation operation;
  std::uint64_t bytes;
  Direction direction;
  int qps;
  int threads;
};

class EngineBandwidth : public testing::TestWithParam<Case> {};

TEST_P(EngineBandwidth, MovesWhatItVerifies) {
  const Case& c = GetParam();
  plan::Plan p = plan_of(c.operation, Metric::bandwidth, c.direction, c.bytes);
  p.rdma.qps = c.qps;
  p.threads = c.threads;
  p.rdma.depth = 24;
  p.rdma.post_batch = 3;
  p.rdma.signal_every = 4;
  EnginePair pair(p);
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  const results::SideResult& side = initiator_of(pair, p);
  ASSERT_TRUE(side.sent);
  EXPECT_GT(side.sent->bytes, 0U);
  // Threads are summed over one stretch of time, at whose ends each may be in the midst of a message.
  const double ends = c.threads == 1 ? 0 : static_cast<double>(c.bytes) * c.threads;
  EXPECT_NEAR(static_cast<double>(side.sent->bytes), static_cast<double>(side.sent->messages * c.bytes), ends);
  EXPECT_FALSE(side.sent_intervals.empty());
  expect_verified_where_due(pair, p);
}

INSTANTIATE_TEST_SUITE_P(Operations, EngineBandwidth,
                         testing::Values(Case{Operation::write, 65536, Direction::to, 1, 1}, Case{Operation::write, 1, Direction::from, 3, 1},
                                         Case{Operation::write, 4097, Direction::to, 3, 2}, Case{Operation::read, 65536, Direction::from, 1, 1},
                                         Case{Operation::read, 777, Direction::to, 2, 1}, Case{Operation::send, 65536, Direction::to, 1, 1},
                                         Case{Operation::send, 300, Direction::from, 3, 2}, Case{Operation::write_imm, 9001, Direction::to, 2, 1},
                                         Case{Operation::fetch_add, 8, Direction::to, 2, 1}, Case{Operation::compare_swap, 8, Direction::from, 1, 1}));

TEST(EngineBoth, WritesAndSendsBothWaysAtOnce) {
  for (Operation op : {Operation::write, Operation::send}) {
    plan::Plan p = plan_of(op, Metric::bandwidth, Direction::both, 8192);
    p.rdma.qps = 2;
    EnginePair pair(p);
    pair.connect();
    pair.run();
    for (const auto* side : {&pair.client_result, &pair.server_result}) {
      expect_clean(*side);
      ASSERT_TRUE(side->sent);
      EXPECT_GT(side->sent->messages, 0U);
      ASSERT_TRUE(side->verification);
      EXPECT_EQ(side->received.has_value(), op == Operation::send);
    }
  }
}

class EngineLatency : public testing::TestWithParam<std::tuple<Operation, Direction>> {};

TEST_P(EngineLatency, Samples) {
  auto [op, direction] = GetParam();
  plan::Plan p = plan_of(op, Metric::latency, direction, 8);
  p.iterations = 321;
  EnginePair pair(p);
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  const results::SideResult& side = initiator_of(pair, p);
  ASSERT_TRUE(side.latency);
  EXPECT_EQ(side.latency->samples, 321U);
  ASSERT_TRUE(side.latency->p50_ns.value);
  EXPECT_GT(*side.latency->p50_ns.value, 0);
  RecordProperty("p50_ns", static_cast<int>(*side.latency->p50_ns.value));
}

INSTANTIATE_TEST_SUITE_P(Operations, EngineLatency,
                         testing::Combine(testing::Values(Operation::write, Operation::write_imm, Operation::read, Operation::send, Operation::fetch_add),
                                          testing::Values(Direction::to, Direction::from)));

TEST(EngineLatency, UnderLoadAndBySchedule) {
  plan::Plan p = plan_of(Operation::write, Metric::latency, Direction::to, 8);
  p.under_load = true;
  p.rdma.qps = 2;
  p.load_rate_per_s = 20'000;
  EnginePair open(p);
  open.connect();
  open.run();
  expect_clean(open.client_result);
  ASSERT_TRUE(open.client_result.loaded_latency);
  // 60 ms at 20,000 a second are 1200 instants; none may be lost, and what came too late to be sent is counted.
  EXPECT_EQ(open.client_result.loaded_latency->samples + open.client_result.unsent.value_or(0), 1200U);
  EXPECT_TRUE(open.client_result.late_sends);
  ASSERT_TRUE(open.client_result.sent);  // the stream beside it
  EXPECT_GT(open.client_result.sent->bytes, 0U);
}

TEST(EngineIterations, CountsExactlyWhatWasAskedFor) {
  plan::Plan p = plan_of(Operation::write, Metric::bandwidth, Direction::to, 5000);
  p.iterations = 3000;
  p.warm_up = milliseconds(0);
  EnginePair pair(p);
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  ASSERT_TRUE(pair.client_result.sent);
  EXPECT_EQ(pair.client_result.sent->messages, 3000U);
}

TEST(EngineIterations, TheInitiatorCountsAndTheWarmUpIsOver) {
  for (Operation op : {Operation::write, Operation::send}) {
    for (int threads : {1, 3}) {
      plan::Plan p = plan_of(op, Metric::bandwidth, Direction::to, 5000);
      p.iterations = 1;
      p.threads = threads;
      EnginePair pair(p);
      pair.connect();
      pair.run();
      expect_clean(pair.client_result);
      expect_clean(pair.server_result);
      ASSERT_TRUE(pair.client_result.sent);
      EXPECT_EQ(pair.client_result.sent->messages, static_cast<std::uint64_t>(threads));
      EXPECT_FALSE(pair.server_result.received);
    }
  }
}

TEST(EngineVerification, EachMessageIsCheckedWhereItIsSeenToArrive) {
  for (Operation op : {Operation::send, Operation::write_imm, Operation::read}) {
    for (Direction direction : {Direction::to, Direction::both}) {
      plan::Plan p = plan_of(op, Metric::bandwidth, direction, 3000);
      p.rdma.qps = 3;
      p.threads = 2;
      p.rdma.depth = 24;
      p.rdma.post_batch = 3;
      p.rdma.signal_every = 4;
      p.verify_each = true;
      EnginePair pair(p);
      pair.connect();
      pair.run();
      expect_clean(pair.client_result);
      expect_clean(pair.server_result);
      for (const auto* side : {&pair.client_result, &pair.server_result}) {
        if (!side->verification) continue;
        EXPECT_EQ(side->verification->scope, "every message");
        EXPECT_EQ(side->verification->checked_messages, side->verification->messages);
        EXPECT_EQ(side->verification->checked_bytes, 3000 * *side->verification->messages);
      }
      expect_verified_where_due(pair, p);
    }
  }
}

TEST(EngineEvents, SleepsAndStillMeasures) {
  for (Operation op : {Operation::write, Operation::send}) {
    plan::Plan p = plan_of(op, Metric::bandwidth, Direction::to, 65536);
    p.rdma.events = true;
    EnginePair pair(p);
    pair.connect();
    pair.run();
    expect_clean(pair.client_result);
    expect_clean(pair.server_result);
    ASSERT_TRUE(pair.client_result.sent);
    EXPECT_GT(pair.client_result.sent->messages, 0U);
  }
}

TEST(EngineStop, EndsBothSidesSoonAndKeepsWhatThereIs) {
  plan::Plan p = plan_of(Operation::write, Metric::bandwidth, Direction::to, 65536);
  p.duration = std::chrono::seconds(30);
  p.warm_up = milliseconds(0);  // so that what is moved is measured
  EnginePair pair(p);
  pair.connect();
  Clock::time_point stopped_at;
  std::thread stopper([&] {
    const Deadline begun = Deadline::after(std::chrono::seconds(10));  // it may take long on a busy machine
    while (pair.client_control.live_bytes == 0 && !begun.passed()) std::this_thread::sleep_for(milliseconds(1));
    stopped_at = Clock::now();
    pair.client_control.stop = true;
  });
  pair.run();
  stopper.join();
  EXPECT_LT(Clock::now() - stopped_at, std::chrono::seconds(5));
  ASSERT_TRUE(pair.client_result.sent);
  EXPECT_GT(pair.client_result.sent->messages, 0U);
}

}  // namespace
}  // namespace railgauge
