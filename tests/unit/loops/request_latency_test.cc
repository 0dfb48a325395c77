#include <cerrno>

#include "loops/open_loop.h"
#include "loops/request_latency.h"
#include "unit/loops/latency_fixture.h"

namespace railgauge::loops {
namespace {

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
