#include "bench/headline.h"

#include <gtest/gtest.h>

#include "bench/check_plans.h"

namespace railgauge::bench {
namespace {

using results::Measurement;
using results::Outcome;
using results::SideResult;

stats::ThroughputSummary throughput(double gbit_per_s) {
  stats::ThroughputSummary t;
  t.bytes = 12345;
  t.mean_gbit_per_s = stats::Value::of(gbit_per_s);
  return t;
}

Measurement measurement(plan::Operation operation, plan::Direction direction) {
  Measurement m;
  m.plan.operation = operation;
  m.plan.transport = operation == plan::Operation::stream ? plan::Transport::tcp : plan::Transport::rdma;
  m.plan.direction = direction;
  m.sides.resize(2);
  m.sides[0].role = "client";
  m.sides[1].role = "server";
  return m;
}

stats::ThroughputSummary nothing() {
  stats::ThroughputSummary t;
  t.mean_gbit_per_s = stats::Value::of(0);
  return t;
}

double mean(const std::optional<stats::ThroughputSummary>& t) { return t && t->mean_gbit_per_s.value ? *t->mean_gbit_per_s.value : -1; }

TEST(Conclude, TakesTheReceiversFigureNotTheSenders) {
  auto m = measurement(plan::Operation::send, plan::Direction::to);
  m.sides[0].sent = throughput(92.0);
  m.sides[1].received = throughput(90.5);
  conclude(m);
  EXPECT_DOUBLE_EQ(mean(m.throughput), 90.5);
  EXPECT_EQ(m.outcome, Outcome::done);
}

TEST(Conclude, TakesTheInitiatorsCompletionsWhereTheOtherSideCannotCount) {
  auto write = measurement(plan::Operation::write, plan::Direction::from);
  write.sides[1].sent = throughput(41.0);
  conclude(write);
  EXPECT_DOUBLE_EQ(mean(write.throughput), 41.0);
  // The client reads: data come from the server, the client initiates and counts.
  auto read = measurement(plan::Operation::read, plan::Direction::from);
  read.sides[0].sent = throughput(37.0);
  conclude(read);
  EXPECT_DOUBLE_EQ(mean(read.throughput), 37.0);
}

TEST(Conclude, NothingThatArrivedIsNotARateOfZero) {
  auto m = measurement(plan::Operation::write, plan::Direction::to);
  m.sides[0].sent = nothing();
  conclude(m);
  EXPECT_EQ(m.outcome, Outcome::failed);
  EXPECT_EQ(headline_text(m), "nothing was counted in the measured window");
  auto both = measurement(plan::Operation::write, plan::Direction::both);
  both.sides[0].sent = throughput(7.5);
  both.sides[1].sent = nothing();
  conclude(both);
  EXPECT_EQ(both.outcome, Outcome::partial);
  EXPECT_EQ(both.reason, "nothing was counted of one direction in the measured window");
  EXPECT_EQ(headline_text(both), "7.50 Gbit/s  (partial: nothing was counted of one direction in the measured window)");
}

TEST(Conclude, KeepsWhatOneSideCountedOfTwoDirectionsWhenItsPeerIsGone) {
  auto m = measurement(plan::Operation::write, plan::Direction::both);
  m.sides.pop_back();
  m.sides[0].sent = throughput(7.5);
  m.reason = "no sign of life";
  conclude(m);
  EXPECT_EQ(m.outcome, Outcome::partial);
  EXPECT_DOUBLE_EQ(mean(m.throughput), 7.5);
  auto back = measurement(plan::Operation::send, plan::Direction::both);
  back.sides.pop_back();
  back.sides[0].received = throughput(3.25);
  back.reason = "no sign of life";
  conclude(back);
  EXPECT_EQ(back.outcome, Outcome::partial);
  EXPECT_EQ(headline_text(back), "-, back 3.25 Gbit/s  (partial: no sign of life)");
}

TEST(Conclude, KeepsTheTwoDirectionsOfAReadApart) {
  auto m = measurement(plan::Operation::read, plan::Direction::both);
  m.sides[0].sent = throughput(11.0);  // what the client read: server to client
  m.sides[1].sent = throughput(22.0);
  conclude(m);
  EXPECT_DOUBLE_EQ(mean(m.throughput), 22.0);
  EXPECT_DOUBLE_EQ(mean(m.throughput_reverse), 11.0);
}

TEST(Conclude, AFigureBesideAnErrorIsPartial) {
  auto m = measurement(plan::Operation::write, plan::Direction::to);
  m.sides[0].sent = throughput(5.0);
  m.sides[1].error = results::ErrorInfo{"verbs", 12, "run", "server", "RETRY_EXC_ERR (12)"};
  conclude(m);
  EXPECT_EQ(m.outcome, Outcome::partial);
  EXPECT_EQ(m.reason, "the server: RETRY_EXC_ERR (12)");
  m.reason.clear();
  m.sides[0].host = "node-a";
  m.sides[1].host = "node-b";
  m.sides[0].error = results::ErrorInfo{.kind = "timeout", .code = 0, .stage = "run", .side = "client", .text = "nothing arrived"};
  conclude(m);
  EXPECT_EQ(m.reason, "node-b: RETRY_EXC_ERR (12); node-a: nothing arrived");  // field cases F12, F61: look at that node only
  ASSERT_TRUE(m.error);
  EXPECT_EQ(m.error->side, "server");
}

TEST(Conclude, NothingCountedIsFailedWithAReason) {
  auto m = measurement(plan::Operation::stream, plan::Direction::to);
  conclude(m);
  EXPECT_EQ(m.outcome, Outcome::failed);
  EXPECT_FALSE(m.reason.empty());
}

TEST(Conclude, SaysWhatALatencyIs) {
  auto half = measurement(plan::Operation::send, plan::Direction::to);
  half.plan.metric = plan::Metric::latency;
  half.sides[0].latency.emplace().samples = 5;
  conclude(half);
  EXPECT_EQ(half.latency_meaning, "half round trip, closed loop");
  auto full = measurement(plan::Operation::read, plan::Direction::from);
  full.plan.metric = plan::Metric::latency;
  full.sides[0].latency.emplace().samples = 5;
  conclude(full);
  EXPECT_EQ(full.latency_meaning, "round trip, closed loop");
}

TEST(Conclude, AnOpenLoopIsAWholeRoundTripWhateverTheOperation) {
  // Timed to the completion, not halved (run.cc): a write's too, whose closed loop is a halved ping-pong.
  for (auto operation : {plan::Operation::write, plan::Operation::send, plan::Operation::write_imm, plan::Operation::read}) {
    auto m = measurement(operation, operation == plan::Operation::read ? plan::Direction::from : plan::Direction::to);
    m.plan.metric = plan::Metric::latency;
    m.sides[0].latency.emplace().samples = 7;
    m.sides[0].loaded_latency.emplace().samples = 5;
    conclude(m);
    EXPECT_EQ(m.latency_meaning, "round trip, from the intended send") << plan::name_of(operation);
    EXPECT_EQ(m.latency->samples, 5U);
  }
}

TEST(Conclude, WhatWasMeasuredSaysThatTheLoopWasOpen) {
  auto m = measurement(plan::Operation::stream, plan::Direction::to);
  m.plan.operation = plan::Operation::round_trip;
  m.plan.metric = plan::Metric::latency;
  m.plan.under_load = true;
  m.sides[0].loaded_latency.emplace().samples = 5;
  conclude(m);
  EXPECT_EQ(m.latency_meaning, "round trip, from the intended send");
}

TEST(CheckPlans, CoverWhatTheMainJobPromises) {
  for (Effort effort : {Effort::quick, Effort::standard, Effort::thorough}) {
    auto plans = rdma_check_plans(effort);
    auto has = [&](plan::Operation op, plan::Metric metric, int qps, plan::Direction direction) {
      for (const auto& p : plans)
        if (p.operation == op && p.metric == metric && p.rdma.qps == qps && p.direction == direction && p.verify) return true;
      return false;
    };
    for (auto op : {plan::Operation::write, plan::Operation::read, plan::Operation::send})
      for (auto direction : {plan::Direction::to, plan::Direction::from}) {
        EXPECT_TRUE(has(op, plan::Metric::bandwidth, 1, direction));
        EXPECT_TRUE(has(op, plan::Metric::bandwidth, 8, direction));
        EXPECT_TRUE(has(op, plan::Metric::latency, 1, direction));
      }
    EXPECT_TRUE(has(plan::Operation::write, plan::Metric::rate, 1, plan::Direction::to));
  }
}

TEST(CheckPlans, LatencyUnderLoadGoesByASchedule) {
  int loaded = 0;
  for (const auto& plans : {rdma_check_plans(Effort::thorough), tcp_check_plans(Effort::thorough, 5)})
    for (const auto& p : plans) {
      loaded += p.under_load ? 1 : 0;
      EXPECT_EQ(p.load_rate_per_s, p.under_load ? std::optional(10'000.0) : std::nullopt) << p.label;
    }
  EXPECT_EQ(loaded, 2);
}

TEST(CheckPlans, KeepWithinTheirTimes) {
  // The windows and warm-ups alone; set-up and exchange have the rest of the 15 s and 60 s.
  auto total = [](Effort effort) {
    std::chrono::nanoseconds sum{};
    for (const auto& plans : {rdma_check_plans(effort), tcp_check_plans(effort, 8)})
      for (const auto& p : plans) sum += p.warm_up + p.duration;
    return sum;
  };
  EXPECT_LT(total(Effort::quick), std::chrono::seconds(10));
  EXPECT_LT(total(Effort::standard), std::chrono::seconds(40));
}

TEST(LiveText, ShowsWhatThePlanMeasures) {
  plan::Plan p;
  const auto time = std::chrono::milliseconds(250);
  EXPECT_EQ(live_text(p, 312'500'000, time), "10.0 Gbit/s");  // 2.5 Gbit in a quarter of a second
  p.metric = plan::Metric::rate;
  EXPECT_EQ(live_text(p, 1'000'000, time), "4.00 M messages/s");
  p.metric = plan::Metric::latency;
  EXPECT_EQ(live_text(p, 5'000, time), "20000 round trips/s");
  p.under_load = true;
  EXPECT_EQ(live_text(p, 2'500, time), "10000 messages/s");
}

}  // namespace
}  // namespace railgauge::bench
