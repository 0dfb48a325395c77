#include "bench/path_failures.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Transport;
using std::chrono::seconds;

plan::Plan plan_of(Transport transport, Direction direction) {
  plan::Plan p;
  p.label = "write bandwidth 1 QP";
  p.transport = transport;
  p.direction = direction;
  p.duration = seconds(1);
  p.warm_up = {};
  return p;
}

results::Measurement failed(Direction direction, const char* stage, ErrorKind kind, int code = 0) {
  results::Measurement m;
  m.plan = plan_of(Transport::rdma, direction);
  m.outcome = results::Outcome::failed;
  m.reason = "no request completed for 2.15 s";
  m.error = results::ErrorInfo{.kind = name_of(kind), .code = code, .stage = stage, .side = "client", .text = m.reason};
  m.wall = seconds(3);
  return m;
}

/// Which of to, from and both are not tried any more after `m`, as "tfb".
std::string closed_after(const results::Measurement& m) {
  PathFailures failures;
  failures.note(m);
  std::string closed;
  for (auto [direction, letter] : {std::pair(Direction::to, 't'), std::pair(Direction::from, 'f'), std::pair(Direction::both, 'b')})
    if (failures.why_not(plan_of(Transport::rdma, direction))) closed += letter;
  EXPECT_FALSE(failures.why_not(plan_of(Transport::tcp, m.plan.direction))) << "TCP goes on";
  return closed;
}

TEST(PathFailures, OneSilentDirectionLeavesTheOther) {
  EXPECT_EQ(closed_after(failed(Direction::to, "run", ErrorKind::timeout)), "tb");
  EXPECT_EQ(closed_after(failed(Direction::from, "run", ErrorKind::verbs, 12)), "fb");  // IBV_WC_RETRY_EXC_ERR
  EXPECT_EQ(closed_after(failed(Direction::both, "run", ErrorKind::timeout)), "b");
  auto cut = failed(Direction::to, "run", ErrorKind::verbs, 12);  // a cable that was pulled in the midst of the window
  cut.outcome = results::Outcome::partial;
  EXPECT_EQ(closed_after(cut), "tb");
}

// Field cases F37 and F38: a switch whose MTU is smaller lets messages of one packet pass.
TEST(PathFailures, AMessageOfOnePacketIsStillTried) {
  auto large = failed(Direction::to, "run", ErrorKind::verbs, 12);
  large.plan.message_bytes = 65536;
  plan::Plan small = plan_of(Transport::rdma, Direction::to);
  small.message_bytes = 8;
  PathFailures failures;
  failures.note(large);
  EXPECT_TRUE(failures.why_not(large.plan));
  EXPECT_FALSE(failures.why_not(small));
  auto also_small = failed(Direction::to, "run", ErrorKind::verbs, 12);
  also_small.plan.message_bytes = 8;
  failures.note(also_small);
  EXPECT_TRUE(failures.why_not(small));
}

TEST(PathFailures, WithoutAConnectionNothingIsTried) {
  EXPECT_EQ(closed_after(failed(Direction::to, "connect", ErrorKind::system, ECONNREFUSED)), "tfb");
  EXPECT_EQ(closed_after(failed(Direction::from, "prepare", ErrorKind::timeout)), "tfb");
}

TEST(PathFailures, ALongWaitIsNotRepeatedTheOtherWay) {
  auto slow = failed(Direction::to, "run", ErrorKind::timeout);
  slow.wall = seconds(9);
  EXPECT_EQ(closed_after(slow), "tfb");
  slow.plan.duration = seconds(5);  // of which it was planned to measure for so long
  EXPECT_EQ(closed_after(slow), "tb");
}

TEST(PathFailures, WhatDoesNotTellOfThePathStopsNothing) {
  EXPECT_EQ(closed_after(failed(Direction::to, "prepare", ErrorKind::verbs, ENOMEM)), "");
  EXPECT_EQ(closed_after(failed(Direction::to, "run", ErrorKind::verbs, 10)), "");  // IBV_WC_REM_ACCESS_ERR
  EXPECT_EQ(closed_after(failed(Direction::to, "verify", ErrorKind::data)), "");
  auto skipped = failed(Direction::to, "connect", ErrorKind::unsupported);
  skipped.outcome = results::Outcome::skipped;
  EXPECT_EQ(closed_after(skipped), "");
  auto done = failed(Direction::to, "run", ErrorKind::timeout);
  done.outcome = results::Outcome::done;
  EXPECT_EQ(closed_after(done), "");
}

TEST(PathFailures, NamesTheMeasurementAndItsCause) {
  PathFailures failures;
  failures.note(failed(Direction::to, "run", ErrorKind::timeout));
  EXPECT_EQ(failures.why_not(plan_of(Transport::rdma, Direction::to)),
            "not tried: write bandwidth 1 QP failed: no request completed for 2.15 s");
}

}  // namespace
}  // namespace railgauge::bench
