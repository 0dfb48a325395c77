#include <array>
#include <cerrno>
#include <thread>

#include "loops/request_latency.h"
#include "unit/loops/latency_fixture.h"

namespace railgauge::loops {
namespace {

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

TEST_F(LatencyLoop, AStopIsHeardWhileTheRingIsFull) {
  FakeQueue queue;
  queue.complete_at_most = 0;  // the peer is gone: nothing that was sent completes
  incoming = std::byte{1};
  queue.on_post = [this](std::uint64_t n) {
    incoming = static_cast<std::byte>(n + 1);
    stop = n == 5;  // of a ring of 5
  };
  LatencySettings s = settings();
  s.idle_limit = std::chrono::seconds(20);
  const auto begin = Clock::now();
  EXPECT_EQ(pong_by_memory(queue, s, stamps(), flags(), clock).ending, Ending::stopped);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace railgauge::loops
