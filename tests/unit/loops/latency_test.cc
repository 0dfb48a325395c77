#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <thread>

#include "loops/open_loop.h"
#include "loops/ping_pong_completion.h"
#include "loops/ping_pong_memory.h"
#include "loops/request_latency.h"
#include "unit/loops/loop_fixture.h"

namespace railgauge::loops {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing_support::FakeQueue;

class LatencyLoop : public testing::Test, public LoopFixture {
 protected:
  static LatencySettings settings() {
    LatencySettings s;
    s.ring = 5;
    s.receives = 3;
    s.iterations = 40;
    s.stall_limit = milliseconds(20);
    s.idle_limit = milliseconds(25);
    return s;
  }
  Stamps stamps() { return {.outgoing = &outgoing, .incoming = &incoming}; }
  /// The peer answers each message at once.
  void echo_in_memory(FakeQueue& queue) {
    queue.on_post = [this](std::uint64_t) { incoming = static_cast<std::byte>(outgoing); };
  }
  /// A responder's peer: sends the next question when the answer to the last is posted.
  void ask_in_memory(FakeQueue& queue, std::uint64_t questions) {
    incoming = std::byte{1};
    queue.on_post = [this, questions](std::uint64_t n) {
      if (n < questions) incoming = static_cast<std::byte>(n + 1);
      else peer_done = true;
    };
  }
  static void post_receives(FakeQueue& queue, const LatencySettings& s) { queue.post_recv(0, 0, s.receives); }

  volatile std::byte outgoing{};
  volatile std::byte incoming{};
  stats::LatencyRecorder recorder;
};

TEST_F(LatencyLoop, PingByMemoryTakesExactlyTheSamplesAskedFor) {
  FakeQueue queue;
  echo_in_memory(queue);
  LatencySettings s = settings();
  s.iterations = 700;  // stamps wrap at 256
  LatencyOutcome outcome = ping_by_memory(queue, s, stamps(), flags(), clock, recorder, {});
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.rounds, 700U);
  EXPECT_EQ(recorder.histogram.samples(), 700U);
  EXPECT_EQ(queue.messages, 700U);
}

TEST_F(LatencyLoop, PingByMemoryWarmsUpWithoutSamples) {
  FakeQueue queue;
  echo_in_memory(queue);
  LatencySettings s = settings();
  s.iterations = 0;
  s.warm_up = milliseconds(5);
  s.duration = milliseconds(10);
  LatencyOutcome outcome = ping_by_memory(queue, s, stamps(), flags(), clock, recorder, {});
  EXPECT_GT(outcome.rounds, recorder.histogram.samples());
  EXPECT_GT(recorder.histogram.samples(), 0U);
}

TEST_F(LatencyLoop, ChecksEachMessageOutsideOfTheSamples) {
  CheckRecorder check;
  check.on_check = [] { std::this_thread::sleep_for(milliseconds(8)); };
  LatencySettings s = settings();
  s.iterations = 6;
  s.halved = false;
  s.check = &check;
  s.stall_limit = s.idle_limit = std::chrono::seconds(5);
  FakeQueue queue;
  echo_in_memory(queue);
  EXPECT_EQ(ping_by_memory(queue, s, stamps(), flags(), clock, recorder, {}).rounds, 6U);
  EXPECT_THAT(check.seen, testing::ElementsAre(testing::Pair(0U, 0U), testing::Pair(0U, 1U), testing::Pair(0U, 0U), testing::Pair(0U, 1U), testing::Pair(0U, 0U),
                                               testing::Pair(0U, 1U)));
  EXPECT_LT(*recorder.histogram.min_ns().value, 8e6);  // were the check inside, every sample would hold its 8 ms

  check.seen.clear();
  FakeQueue requests;
  stats::LatencyRecorder second;
  EXPECT_EQ(time_requests(requests, s, flags(), clock, second, {}).rounds, 6U);
  EXPECT_THAT(check.seen, testing::ElementsAre(testing::Pair(0U, 0U), testing::Pair(0U, 1U), testing::Pair(0U, 2U), testing::Pair(0U, 3U), testing::Pair(0U, 4U),
                                               testing::Pair(0U, 0U)));
  EXPECT_LT(*second.histogram.min_ns().value, 8e6);
}

TEST_F(LatencyLoop, TheResponderAnswersBeforeItChecks) {
  CheckRecorder check;
  LatencySettings s = settings();
  s.check = &check;
  FakeQueue queue;
  std::vector<std::uint64_t> answered;
  check.on_check = [&] { answered.push_back(queue.messages); };
  ask_in_memory(queue, 3);
  EXPECT_EQ(pong_by_memory(queue, s, stamps(), flags(), clock).rounds, 3U);
  EXPECT_THAT(answered, testing::ElementsAre(1U, 2U, 3U));
}

TEST_F(LatencyLoop, StampsAlternateBetweenTwoMessages) {
  std::array<std::byte, 20> mine{};
  std::array<std::byte, 20> theirs{};
  FakeQueue queue;
  std::vector<int> stamped;
  queue.on_post = [&](std::uint64_t n) {
    const std::size_t at = n % 2 == 1 ? 3 : 3 + 16;
    stamped.push_back(std::to_integer<int>(mine[at]));
    theirs[at] = mine[at];
  };
  LatencySettings s = settings();
  s.iterations = 5;
  Stamps both{mine.data() + 3, theirs.data() + 3, 16};
  EXPECT_EQ(ping_by_memory(queue, s, both, flags(), clock, recorder, {}).rounds, 5U);
  EXPECT_THAT(stamped, testing::ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(LatencyLoop, HalvesTheRoundTripWhereAsked) {
  for (bool halved : {true, false}) {
    FakeQueue queue;
    queue.on_post = [&](std::uint64_t) {
      auto until = Clock::now() + milliseconds(2);
      while (Clock::now() < until) {
      }
      incoming = static_cast<std::byte>(outgoing);
    };
    incoming = std::byte{0};
    stats::LatencyRecorder fresh;
    LatencySettings s = settings();
    s.iterations = 3;
    s.halved = halved;
    ping_by_memory(queue, s, stamps(), flags(), clock, fresh, {});
    EXPECT_GE(*fresh.histogram.min_ns().value, halved ? 1e6 : 2e6);
    if (halved) {
      EXPECT_LT(*fresh.histogram.min_ns().value, 2e6);
    }
  }
}

TEST_F(LatencyLoop, PingByMemoryEndsWithoutAnAnswer) {
  FakeQueue queue;
  auto begin = Clock::now();
  LatencyOutcome outcome = ping_by_memory(queue, settings(), stamps(), flags(), clock, recorder, {});
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_GE(Clock::now() - begin, milliseconds(20));
}

TEST_F(LatencyLoop, PingByMemorySeesAFailedWriteWhileItWaits) {
  FakeQueue queue;
  queue.failed_messages[1] = 12;
  LatencyOutcome outcome = ping_by_memory(queue, settings(), stamps(), flags(), clock, recorder, {});
  EXPECT_EQ(outcome.fault.what, Failure::completion);
  EXPECT_EQ(outcome.fault.completion.status, 12U);
}

TEST_F(LatencyLoop, PingByMemoryNeverPassesItsRing) {
  FakeQueue queue;
  echo_in_memory(queue);
  queue.complete_at_most = 17;  // acknowledgements stop coming while answers go on
  LatencyOutcome outcome = ping_by_memory(queue, settings(), stamps(), flags(), clock, recorder, {});
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_FALSE(outcome.fault.receiving);
  EXPECT_EQ(queue.messages, 17U + 5U);
}

TEST_F(LatencyLoop, PingByMemoryEndsOnRefusedPostFailedPollAndStop) {
  FakeQueue refused;
  echo_in_memory(refused);
  refused.refused_posts[4] = {.accepted = 0, .error = ENOMEM};
  EXPECT_EQ(ping_by_memory(refused, settings(), stamps(), flags(), clock, recorder, {}).fault.code, ENOMEM);
  incoming = std::byte{0};
  FakeQueue polled;
  echo_in_memory(polled);
  polled.failed_polls[2] = EIO;
  EXPECT_EQ(ping_by_memory(polled, settings(), stamps(), flags(), clock, recorder, {}).fault.what, Failure::poll);
  incoming = std::byte{0};
  FakeQueue stopped;
  echo_in_memory(stopped);
  stop = true;
  LatencyOutcome outcome = ping_by_memory(stopped, settings(), stamps(), flags(), clock, recorder, {});
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_FALSE(outcome.fault);
}

TEST_F(LatencyLoop, PongByMemoryAnswersUntilThePeerHasEnded) {
  FakeQueue queue;
  ask_in_memory(queue, 300);
  LatencyOutcome outcome = pong_by_memory(queue, settings(), stamps(), flags(), clock);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_EQ(outcome.rounds, 300U);
}

TEST_F(LatencyLoop, PongByMemoryEndsWhenNobodyAsks) {
  FakeQueue queue;
  EXPECT_EQ(pong_by_memory(queue, settings(), stamps(), flags(), clock).fault.what, Failure::stalled);
}

TEST_F(LatencyLoop, PongByMemoryEndsOnFailures) {
  FakeQueue failed;
  ask_in_memory(failed, 50);
  failed.failed_messages[7] = 12;
  EXPECT_EQ(pong_by_memory(failed, settings(), stamps(), flags(), clock).fault.completion.status, 12U);
  FakeQueue refused;
  ask_in_memory(refused, 50);
  refused.refused_posts[3] = {.accepted = 0, .error = EINVAL};
  EXPECT_EQ(pong_by_memory(refused, settings(), stamps(), flags(), clock).fault.code, EINVAL);
  stop = true;
  FakeQueue stopped;
  incoming = std::byte{0};
  EXPECT_EQ(pong_by_memory(stopped, settings(), stamps(), flags(), clock).ending, Ending::stopped);
}

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

TEST_F(LatencyLoop, RequestsAreTimedOneByOne) {
  FakeQueue queue;
  LatencySettings s = settings();
  s.halved = false;
  LatencyOutcome outcome = time_requests(queue, s, flags(), clock, recorder, {});
  EXPECT_EQ(outcome.rounds, 40U);
  EXPECT_EQ(recorder.histogram.samples(), 40U);
  EXPECT_EQ(queue.most_in_flight, 1U);
}

TEST_F(LatencyLoop, RequestsEndOnFailures) {
  LatencySettings s = settings();
  FakeQueue stuck;
  stuck.complete_at_most = 3;
  EXPECT_EQ(time_requests(stuck, s, flags(), clock, recorder, {}).fault.what, Failure::stalled);
  FakeQueue failed;
  failed.failed_messages[6] = 10;
  EXPECT_EQ(time_requests(failed, s, flags(), clock, recorder, {}).fault.completion.status, 10U);
  FakeQueue refused;
  refused.refused_posts[6] = {.accepted = 0, .error = EINVAL};
  EXPECT_EQ(time_requests(refused, s, flags(), clock, recorder, {}).fault.code, EINVAL);
  s.events = true;
  FakeQueue asleep;
  asleep.complete_at_most = 0;
  asleep.arm_error = ENOTSUP;
  EXPECT_EQ(time_requests(asleep, s, flags(), clock, recorder, {}).fault.code, ENOTSUP);
  stop = true;
  FakeQueue stopped;
  EXPECT_EQ(time_requests(stopped, s, flags(), clock, recorder, {}).ending, Ending::stopped);
}

class OpenLoop : public LatencyLoop {
 protected:
  static OpenLoopSettings schedule() {
    OpenLoopSettings s;
    s.latency = settings();
    s.latency.halved = false;
    s.depth = s.latency.ring;
    s.latency.iterations = 0;
    s.latency.duration = milliseconds(20);
    s.rate_per_s = 10'000;
    return s;
  }
  stats::LatencyRecorder posted;
};

TEST_F(OpenLoop, SendsByTheClock) {
  FakeQueue queue;
  OpenLoopOutcome outcome = send_by_schedule(queue, schedule(), flags(), clock, recorder, posted, {});
  EXPECT_EQ(outcome.latency.ending, Ending::finished);
  // Instants 0, 100 us, …, 19.9 ms.
  EXPECT_EQ(recorder.histogram.samples(), 200U);
  EXPECT_EQ(posted.histogram.samples(), 200U);
  EXPECT_EQ(outcome.unsent, 0U);
}

TEST_F(OpenLoop, AStallCostsEveryRequestThatShouldHaveGoneOut) {
  FakeQueue queue;
  bool stalled = false;
  queue.on_post = [&](std::uint64_t n) {
    if (n != 50 || stalled) return;
    stalled = true;
    auto until = Clock::now() + milliseconds(8);
    while (Clock::now() < until) {
    }
  };
  OpenLoopOutcome outcome = send_by_schedule(queue, schedule(), flags(), clock, recorder, posted, {});
  EXPECT_EQ(recorder.histogram.samples(), 200U);
  // 8 ms hold about 80 instants; a closed loop would have had one bad sample.
  EXPECT_GE(outcome.late_sends, 75U);
  EXPECT_GE(*recorder.histogram.max_ns().value, 7.9e6);
  EXPECT_GT(*recorder.histogram.percentile_ns(75).value, 1e6);
  EXPECT_LT(*posted.histogram.percentile_ns(75).value, *recorder.histogram.percentile_ns(75).value);
}

TEST_F(OpenLoop, EndsInTimeWhereTheQueueCannotKeepUp) {
  FakeQueue slow;
  slow.on_post = [&](std::uint64_t) {
    const auto until = Clock::now() + milliseconds(10);
    while (Clock::now() < until) {
    }
  };
  OpenLoopSettings s = schedule();
  s.latency.duration = milliseconds(100);  // 1000 instants: 10 s at 10 ms each; at most 110 in the 1.1 s that it may take
  s.latency.stall_limit = std::chrono::seconds(5);
  const auto begin = Clock::now();
  OpenLoopOutcome outcome = send_by_schedule(slow, s, flags(), clock, recorder, posted, {});
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(outcome.latency.ending, Ending::finished);
  EXPECT_GE(outcome.unsent, 1000U - 130U);
  EXPECT_NEAR(static_cast<double>(outcome.unsent + recorder.histogram.samples()), 1000.0, 1.0);
}

TEST_F(OpenLoop, EndsOnFailuresAndSaysWhatWasNotSent) {
  FakeQueue stuck;
  stuck.complete_at_most = 20;
  OpenLoopSettings s = schedule();
  s.latency.duration = std::chrono::seconds(60);
  OpenLoopOutcome outcome = send_by_schedule(stuck, s, flags(), clock, recorder, posted, {});
  EXPECT_EQ(outcome.latency.fault.what, Failure::stalled);
  EXPECT_GT(outcome.unsent, 100U);  // a stall limit of 20 ms at 10,000 a second
  FakeQueue failed;
  failed.failed_messages[9] = 12;
  EXPECT_EQ(send_by_schedule(failed, s, flags(), clock, recorder, posted, {}).latency.fault.completion.status, 12U);
  FakeQueue refused;
  refused.refused_posts[9] = {.accepted = 0, .error = ENOMEM};
  EXPECT_EQ(send_by_schedule(refused, s, flags(), clock, recorder, posted, {}).latency.fault.code, ENOMEM);
  FakeQueue polled;
  polled.failed_polls[9] = EIO;
  EXPECT_EQ(send_by_schedule(polled, s, flags(), clock, recorder, posted, {}).latency.fault.what, Failure::poll);
  FakeQueue stopped;
  stop = true;
  EXPECT_EQ(send_by_schedule(stopped, s, flags(), clock, recorder, posted, {}).latency.ending, Ending::stopped);
}

}  // namespace
}  // namespace railgauge::loops
