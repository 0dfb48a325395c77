#include <cerrno>

#include "loops/ping_pong_completion.h"
#include "unit/loops/latency_fixture.h"

namespace railgauge::loops {
namespace {

TEST_F(LatencyLoop, PingByCompletionRepostsEachReceiveAfterTheNextQuestion) {
  FakeQueue queue;
  LatencySettings s = settings();
  s.iterations = 4;
  post_receives(queue, s);
  queue.on_post = [&](std::uint64_t) { queue.arrive(0, 8); };
  LatencyOutcome outcome = ping_by_completion(queue, s, flags(), clock, recorder, {});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(recorder.histogram.samples(), 4U);
  EXPECT_THAT(queue.calls, testing::ElementsAre("recv 0:0+3", "post 0:0+1", "post 0:1+1", "recv 0:0+1", "post 0:2+1", "recv 0:1+1", "post 0:3+1", "recv 0:2+1"));
}

TEST_F(LatencyLoop, PingByCompletionEndsOnFailures) {
  LatencySettings s = settings();
  {
    FakeQueue silent;
    post_receives(silent, s);
    EXPECT_EQ(ping_by_completion(silent, s, flags(), clock, recorder, {}).fault.what, Failure::stalled);
  }
  {
    FakeQueue failed;
    post_receives(failed, s);
    failed.failed_messages[1] = 13;  // RNR_RETRY_EXC_ERR
    EXPECT_EQ(ping_by_completion(failed, s, flags(), clock, recorder, {}).fault.completion.status, 13U);
  }
  {
    FakeQueue receive;
    post_receives(receive, s);
    receive.arrive(0, 0, 1);
    LatencyOutcome outcome = ping_by_completion(receive, s, flags(), clock, recorder, {});
    EXPECT_EQ(outcome.fault.completion.status, 1U);
    EXPECT_TRUE(outcome.fault.receiving);
  }
  {
    FakeQueue shorter;
    post_receives(shorter, s);
    shorter.on_post = [&](std::uint64_t n) { shorter.arrive(0, n == 3 ? 7 : 8); };
    LatencyOutcome outcome = ping_by_completion(shorter, s, flags(), clock, recorder, {});
    EXPECT_EQ(outcome.fault.what, Failure::length);
    EXPECT_EQ(outcome.fault.completion.bytes, 7U);
    EXPECT_EQ(outcome.fault.message, 3U);
    EXPECT_TRUE(outcome.fault.receiving);
  }
  {
    FakeQueue refused;
    post_receives(refused, s);
    refused.on_post = [&](std::uint64_t) { refused.arrive(0, 8); };
    refused.refused_recv_posts[3] = {.accepted = 0, .error = ENOMEM};
    EXPECT_EQ(ping_by_completion(refused, s, flags(), clock, recorder, {}).fault.what, Failure::post_recv);
  }
  {
    FakeQueue poll;
    post_receives(poll, s);
    poll.failed_recv_polls[1] = EIO;
    EXPECT_EQ(ping_by_completion(poll, s, flags(), clock, recorder, {}).fault.what, Failure::poll);
  }
}

TEST_F(LatencyLoop, PongByCompletionAnswersUntilThePeerHasEnded) {
  FakeQueue queue;
  LatencySettings s = settings();
  post_receives(queue, s);
  queue.arrive(0, 8);
  queue.on_post = [&](std::uint64_t n) {
    if (n < 11) queue.arrive(0, 8);
    else peer_done = true;
  };
  LatencyOutcome outcome = pong_by_completion(queue, s, flags(), clock);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.rounds, 11U);
}

TEST_F(LatencyLoop, PongByCompletionEndsOnFailures) {
  LatencySettings s = settings();
  FakeQueue silent;
  post_receives(silent, s);
  EXPECT_EQ(pong_by_completion(silent, s, flags(), clock).fault.what, Failure::stalled);
  FakeQueue refused;
  post_receives(refused, s);
  refused.arrive(0, 8);
  refused.refused_posts[1] = {.accepted = 0, .error = ENOMEM};
  EXPECT_EQ(pong_by_completion(refused, s, flags(), clock).fault.what, Failure::post);
}

TEST_F(LatencyLoop, EventsSleepBetweenAnswers) {
  FakeQueue queue;
  LatencySettings s = settings();
  s.events = true;
  s.iterations = 2;
  post_receives(queue, s);
  std::uint64_t asked = 0;
  queue.on_post = [&](std::uint64_t n) { asked = n; };
  queue.on_poll = [&](std::uint64_t) {
    if (queue.waits >= asked && asked > 0) {
      queue.arrive(0, 8);
      asked = 0;
    }
  };
  EXPECT_EQ(ping_by_completion(queue, s, flags(), clock, recorder, {}).ending, Ending::finished);
  EXPECT_GE(queue.waits, 2U);
}

}  // namespace
}  // namespace railgauge::loops
