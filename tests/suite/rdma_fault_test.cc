// Bad days: what the engine says when the device fails as its fault script tells it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <fstream>

#include "base/error.h"
#include "suite/fault_plan.h"

namespace railgauge {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::EnginePair;
using testing_support::run_to_end;
using testing_support::write_plan;

TEST(RdmaFault, AFailedCompletionIsNamedAndWhatThereWasIsKept) {
  plan::Plan p = write_plan();
  p.warm_up = milliseconds(0);
  EnginePair pair(p, "message 5000 status 12");
  run_to_end(pair, seconds(10));
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_EQ(pair.client_result.error->kind, "verbs");
  EXPECT_EQ(pair.client_result.error->code, 12);
  EXPECT_THAT(pair.client_result.error->text, HasSubstr("RETRY_EXC_ERR"));
  ASSERT_TRUE(pair.client_result.sent);
  EXPECT_LE(pair.client_result.sent->messages, 4999U);
}

TEST(RdmaFault, AStuckQueueEndsByDeadline) {
  EnginePair pair(write_plan(), "message 5000 stuck");
  run_to_end(pair, seconds(15));
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_EQ(pair.client_result.error->kind, "timeout");
}

TEST(RdmaFault, APortThatGoesDownIsAnEventAndTheError) {
  EnginePair pair(write_plan(), "after 100ms port down");
  run_to_end(pair, seconds(15));
  EXPECT_THAT(pair.client_result.events, Contains(HasSubstr("PORT_ERR")));
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_THAT(pair.client_result.error->kind, AnyOf("verbs", "timeout"));
  EXPECT_THAT(pair.client_result.error->text, AllOf(StartsWith("port 1 of sim0 went down after"), HasSubstr("state is now DOWN"), HasSubstr("RETRY_EXC_ERR")));
  EXPECT_FALSE(pair.server_result.error);
}

TEST(RdmaFault, ADeviceThatFailsEndsTheRunAtOnce) {
  plan::Plan p = write_plan();
  p.duration = seconds(60);
  EnginePair pair(p, "after 150ms event DEVICE_FATAL");
  run_to_end(pair, seconds(10));
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_THAT(pair.client_result.error->text, HasSubstr("DEVICE_FATAL"));
}

/// While it lives, threads take 64 MiB of address space each and `room` is what this process may add to what it has.
class FewThreads {
 public:
  explicit FewThreads(rlim_t room) {
    pthread_attr_init(&stacks_);
    pthread_getattr_default_np(&stacks_);
    pthread_attr_t large = stacks_;
    pthread_attr_setstacksize(&large, 64U << 20);
    pthread_setattr_default_np(&large);
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{.rlim_cur = pages * 4096 + room, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &before_);
    pthread_setattr_default_np(&stacks_);
  }

 private:
  pthread_attr_t stacks_{};
  rlimit before_{};
};

TEST(RdmaFault, AThreadThatCannotStartEndsTheOthersAndIsNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow memory does not fit below a limit of the address space";
#endif
  plan::Plan p = write_plan();
  p.operation = plan::Operation::send;  // threads on both sides
  p.threads = 32;
  p.working_set_bytes = 64 << 10;
  EnginePair pair(p);
  pair.connect();
  FewThreads few(rlim_t{512} << 20);  // eight of 67, three of which the test itself needs
  auto begin = Clock::now();
  pair.run();
  EXPECT_LT(Clock::now() - begin, seconds(5));
  for (const auto* side : {&pair.client_result, &pair.server_result}) {
    ASSERT_TRUE(side->error);
    EXPECT_EQ(side->error->kind, "system");
    EXPECT_THAT(side->error->text, AllOf(HasSubstr("of 32 could not be started"), HasSubstr("Resource temporarily unavailable"), HasSubstr("ulimit -u")));
  }
}

TEST(RdmaFault, ARefusedRegistrationIsThrownByName) {
  try {
    EnginePair pair(write_plan(), "fail reg_mr errno 12");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::verbs);
    EXPECT_EQ(error.code(), ENOMEM);
    EXPECT_THAT(error.what(), HasSubstr("ibv_reg_mr"));
  }
}

TEST(RdmaFault, APingPongEndsOnBothSidesWhenItsMessageIsLost) {
  plan::Plan p = write_plan();
  p.metric = plan::Metric::latency;
  p.message_bytes = 8;
  p.rdma.depth = 1;
  p.operation = plan::Operation::send;
  EnginePair pair(p, "message 30 stuck");  // early: a crowded machine under a sanitizer comes no further
  run_to_end(pair, seconds(15));
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_EQ(pair.client_result.error->kind, "timeout");
}

TEST(RdmaUsage, AnUnknownGidIndexIsRefused) {
  plan::Plan p = write_plan();
  p.server.gid_index = 13;
  EnginePair pair(p);
  EXPECT_THROW(pair.connect(), Error);
}

TEST(RdmaUsage, MoreQpsThanTheDeviceHasAreRefused) {
  plan::Plan p = write_plan();
  p.rdma.qps = 5000;
  p.message_bytes = 8;
  EXPECT_THROW(EnginePair{p}, Error);
}

}  // namespace
}  // namespace railgauge
