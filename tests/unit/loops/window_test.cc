#include "loops/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>
#include <thread>

#include "unit/loops/loop_fixture.h"

namespace railgauge::loops {
namespace {

using std::chrono::milliseconds;
using testing_support::FakeQueue;

class WindowLoop : public testing::Test, public LoopFixture {
 protected:
  WindowOutcome run_on(FakeQueue& queue, const WindowSettings& settings) {
    prepare(queue, settings);
    WindowSender sender(queue, settings, flags(), clock, {&live_bytes, &live_messages});
    WindowOutcome outcome = run(sender, clock.now());
    measured = sender.schedule().measured();
    summary = sender.schedule().recorder().summary();
    intervals = sender.schedule().recorder().intervals();
    return outcome;
  }
  std::atomic<std::uint64_t> live_bytes{0};
  std::atomic<std::uint64_t> live_messages{0};
  bool measured = false;
  stats::ThroughputSummary summary;
  std::vector<stats::Interval> intervals;
};

TEST_F(WindowLoop, FillsLanesInTurnAndNeverPassesTheDepth) {
  FakeQueue queue(3);
  WindowSettings s = window();
  s.iterations = 120;
  run_on(queue, s);
  // 12 requests in posts of 3: four rounds over the three lanes, each lane one batch a round, before anything completes.
  std::vector<std::string> first(queue.calls.begin(), queue.calls.begin() + 12);
  EXPECT_THAT(first, testing::ElementsAre("post 0:0+3", "post 1:0+3", "post 2:0+3", "post 0:3+3", "post 1:3+3", "post 2:3+3", "post 0:6+3", "post 1:6+3",
                                          "post 2:6+3", "post 0:9+3", "post 1:9+3", "post 2:9+3"));
  EXPECT_EQ(queue.most_in_flight, 12U);
}

TEST_F(WindowLoop, CountsExactlyTheIterationsOfEachLane) {
  FakeQueue queue(2);
  WindowSettings s = window();
  s.iterations = 120;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_THAT(outcome.completed, testing::ElementsAre(120U, 120U));
  EXPECT_EQ(summary.messages, 240U);
  EXPECT_EQ(summary.bytes, 24'000U);
  EXPECT_EQ(live_messages.load(), 240U);
  EXPECT_EQ(live_bytes.load(), 24'000U);
}

TEST_F(WindowLoop, ShowsEachSlotToTheCheckBeforeItIsPostedAgain) {
  FakeQueue queue;
  queue.completions_per_poll = 1;
  WindowSettings s = window();
  s.iterations = 36;
  CheckRecorder check;
  std::vector<std::uint64_t> posted;
  check.on_check = [&] { posted.push_back(queue.messages); };
  s.check = &check;
  run_on(queue, s);
  ASSERT_EQ(check.seen.size(), 36U);
  for (std::uint32_t k = 0; k < 36; ++k) {
    EXPECT_EQ(check.seen[k].second, k % 24);  // a ring of 24
    EXPECT_LE(posted[k], k + 24);             // the message that would write over it has not been posted
  }
}

TEST_F(WindowLoop, IterationsBeginWhenTheWarmUpHasCompleted) {
  FakeQueue queue(2);
  WindowSettings s = window();
  s.times.warm_up = milliseconds(3);
  s.iterations = 12;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::finished);
  // Exactly those that were asked for: what was in flight when the warm-up ended is not among them.
  EXPECT_EQ(summary.messages, 24U);
  EXPECT_EQ(summary.bytes, 2400U);
  for (std::uint32_t lane : {0U, 1U}) EXPECT_EQ(outcome.completed[lane], queue.posted_on(lane));
  EXPECT_GT(outcome.completed[0], 12U);
}

TEST_F(WindowLoop, NothingIsInFlightWhenTheIterationsBegin) {
  FakeQueue queue;
  WindowSettings s = window();
  s.post_batch = s.signal_every = 1;
  s.times.warm_up = milliseconds(3);
  s.iterations = 1;
  // Each poll takes 2 ms: one message from its post to its completion cannot be quicker than that.
  queue.on_poll = [&](std::uint64_t) { std::this_thread::sleep_for(milliseconds(2)); };
  run_on(queue, s);
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_GE(summary.elapsed, milliseconds(2));
}

TEST_F(WindowLoop, AStuckWarmUpEndsByDeadline) {
  FakeQueue queue;
  queue.complete_at_most = 36;
  WindowSettings s = window();
  s.times.warm_up = milliseconds(1);
  s.iterations = 12;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_FALSE(measured);
}

TEST_F(WindowLoop, PacedIterationsKeepTheirPaceAfterTheWarmUp) {
  FakeQueue queue;
  WindowSettings s = window();
  s.post_batch = s.signal_every = 1;
  s.messages_per_s = 2000;
  s.times.warm_up = milliseconds(5);
  s.iterations = 11;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_FALSE(outcome.fault);  // what is idle when the warm-up ends has not stalled
  EXPECT_EQ(summary.messages, 11U);
  EXPECT_GE(summary.elapsed, milliseconds(5));  // the eleventh is due 5 ms after the first
}

TEST_F(WindowLoop, EndsByTimeWithEverythingCompleted) {
  FakeQueue queue(2);
  WindowSettings s = window();
  s.times.warm_up = milliseconds(6);
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_FALSE(outcome.fault);
  for (std::uint32_t lane : {0U, 1U}) {
    EXPECT_EQ(outcome.completed[lane], queue.posted_on(lane));
    EXPECT_EQ(queue.posted_on(lane) % 12, 0U);  // the last request of each lane is a signalled one
  }
  // Outstanding ones at the end of the window are not in it.
  EXPECT_LT(summary.messages, queue.messages);
  EXPECT_GE(summary.elapsed, milliseconds(20) - std::chrono::microseconds(1));  // ticks and Clock are read one after the other
  EXPECT_TRUE(intervals.front().warm_up);
  EXPECT_FALSE(intervals.back().warm_up);
  std::uint64_t sum = std::accumulate(intervals.begin(), intervals.end(), std::uint64_t{0}, [](std::uint64_t n, const stats::Interval& i) { return i.warm_up ? n : n + i.messages; });
  EXPECT_EQ(sum, summary.messages);
}

TEST_F(WindowLoop, GivesEachLaneItsShare) {
  FakeQueue queue(4);
  queue.completions_per_poll = 3;
  WindowOutcome outcome = run_on(queue, window());
  auto [least, most] = std::minmax_element(outcome.completed.begin(), outcome.completed.end());
  EXPECT_LE(*most - *least, 24U);
}

TEST_F(WindowLoop, StopsAtFirstFailedCompletion) {
  FakeQueue queue;
  queue.failed_messages[20] = 10;  // REM_ACCESS_ERR
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_EQ(outcome.fault.what, Failure::completion);
  EXPECT_EQ(outcome.fault.completion.status, 10U);
  EXPECT_EQ(outcome.fault.completion.slot, 19U);
  EXPECT_LE(queue.messages, 36U);  // nothing was posted after it had been seen, but what its poll's predecessors allowed
  EXPECT_TRUE(measured);
}

TEST_F(WindowLoop, LooksBehindFlushesForTheirCause) {
  FakeQueue queue(2);
  // Lane 0 was moved to error from outside: all its requests flush; the cause arrives on lane 1.
  queue.failed_messages[1] = transport::kFlushed;
  queue.failed_messages[24] = 12;  // RETRY_EXC_ERR
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.fault.completion.status, 12U);
}

TEST_F(WindowLoop, LooksForTheCauseAmongReceivesToo) {
  FakeQueue queue;
  queue.failed_messages[1] = transport::kFlushed;
  queue.post_recv(0, 0, 1);
  queue.arrive(0, 0, 1);  // LOC_LEN_ERR
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.fault.completion.status, 1U);
  EXPECT_TRUE(outcome.fault.receiving);
}

TEST_F(WindowLoop, ReportsAFlushWhenThereIsNoOtherCause) {
  FakeQueue queue;
  queue.failed_messages[5] = transport::kFlushed;
  EXPECT_EQ(run_on(queue, window()).fault.completion.status, transport::kFlushed);
}

TEST_F(WindowLoop, EndsWhenAPostIsRefused) {
  FakeQueue queue;
  queue.refused_posts[7] = {.accepted = 0, .error = ENOMEM};
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.fault.what, Failure::post);
  EXPECT_EQ(outcome.fault.code, ENOMEM);
  EXPECT_EQ(queue.posts, 7U);
}

TEST_F(WindowLoop, EndsWhenAPostAcceptsFewer) {
  FakeQueue queue;
  queue.refused_posts[2] = {.accepted = 2, .error = EINVAL};
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.fault.what, Failure::post);
  EXPECT_EQ(outcome.fault.completion.slot, 5U);  // slots 3, 4 taken, 5 refused
  EXPECT_EQ(queue.posts, 2U);                    // also when it happens while filling
  EXPECT_EQ(queue.polls, 0U);
}

TEST_F(WindowLoop, EndsWhenAPollFails) {
  FakeQueue queue;
  queue.failed_polls[3] = EIO;
  WindowOutcome outcome = run_on(queue, window());
  EXPECT_EQ(outcome.fault.what, Failure::poll);
  EXPECT_EQ(outcome.fault.code, EIO);
}

TEST_F(WindowLoop, ADeadlineEndsAStuckQueue) {
  FakeQueue queue;
  queue.complete_at_most = 36;
  auto begin = Clock::now();
  WindowSettings s = window();
  s.times.duration = std::chrono::seconds(60);
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  EXPECT_EQ(outcome.completed[0], 36U);
  EXPECT_EQ(summary.messages, 36U);  // what there was is kept
}

TEST_F(WindowLoop, TheLaneThatWaitsIsNamed) {
  FakeQueue queue(2);
  queue.complete_at_most = 21;  // posts of 3 go to the lanes in turn, so that 22 to 24 are the last of lane 1
  WindowSettings s = window();
  s.signal_every = 3;
  s.iterations = 12;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_EQ(outcome.fault.completion.lane, 1U);
}

TEST_F(WindowLoop, ADeadlineEndsTheDrain) {
  FakeQueue queue;
  WindowSettings s = window();
  s.stall_limit = std::chrono::seconds(60);
  s.times.duration = std::chrono::seconds(60);
  queue.on_post = [&](std::uint64_t message) {
    if (message != 500) return;
    stop = true;
    queue.complete_at_most = 0;  // the rest of this signal's twelve stays in flight
  };
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::stopped);  // the peer of a stopped run may be gone: no failure
  EXPECT_FALSE(outcome.fault);
  EXPECT_GE(outcome.drain, milliseconds(39));  // the limit of 40, from the last completion
  EXPECT_TRUE(measured);
}

TEST_F(WindowLoop, AStopKeepsWhatThereIsAndDrains) {
  FakeQueue queue;
  WindowSettings s = window();
  s.times.duration = std::chrono::seconds(60);
  queue.on_post = [&](std::uint64_t message) { stop = message > 500; };
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.completed[0], queue.posted_on(0));
  EXPECT_GT(summary.messages, 400U);
}

TEST_F(WindowLoop, AStopIsSeenWhileNothingCompletes) {
  FakeQueue queue;
  queue.complete_at_most = 0;
  WindowSettings s = window();
  s.stall_limit = std::chrono::seconds(60);
  stop = true;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_FALSE(outcome.fault);
  EXPECT_LT(outcome.drain, std::chrono::seconds(30));  // bounded by the drain limit, not by the stall limit
}

TEST_F(WindowLoop, AStopDoesNotWaitForAPeerThatIsGone) {
  FakeQueue queue;
  queue.complete_at_most = 0;
  WindowSettings s = window();
  s.stall_limit = s.drain_limit = std::chrono::seconds(60);
  stop = true;
  auto begin = Clock::now();
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_FALSE(outcome.fault);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));  // a second, not the drain limit
}

TEST_F(WindowLoop, ABrokenDeviceEndsWithoutDrain) {
  FakeQueue queue;
  queue.complete_at_most = 12;
  WindowSettings s = window();
  s.stall_limit = s.drain_limit = std::chrono::seconds(60);
  queue.on_poll = [&](std::uint64_t poll) { abort = poll > 1000; };
  auto begin = Clock::now();
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(WindowLoop, PacesWhatItPosts) {
  FakeQueue queue(2);
  WindowSettings s = window();
  s.post_batch = 1;
  s.signal_every = 1;
  s.messages_per_s = 50'000;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::finished);
  // 20 ms at 50,000 a second are 1000, less what a preemption at the end may hold back.
  EXPECT_LE(summary.messages, 1001U + static_cast<std::uint64_t>((summary.elapsed - milliseconds(20)).count() / 20'000));
  // How many it were depends on the machine: what is not sent in time is not made up for. What was posted has completed.
  EXPECT_THAT(outcome.completed, testing::ElementsAre(queue.posted_on(0), queue.posted_on(1)));
  EXPECT_GT(summary.messages, 0U);
}

TEST_F(WindowLoop, EventsArmThenPollThenWait) {
  FakeQueue queue;
  WindowSettings s = window();
  s.events = true;
  s.iterations = 12;
  int empty = 0;
  queue.completions_per_poll = 0;
  queue.on_poll = [&](std::uint64_t) {
    if (++empty == 3) queue.completions_per_poll = 99;  // after poll, arm, poll
  };
  run_on(queue, s);
  std::vector<std::string> tail(queue.calls.begin() + 4, queue.calls.end());
  EXPECT_THAT(tail, testing::ElementsAre("arm", "wait"));
}

TEST_F(WindowLoop, EventsDoNotSleepWhenNoCompletionIsDue) {
  // One at a time at 2000 a second, so that nothing is in flight between two; of each four only the last completes.
  for (std::uint32_t signal_every : {1U, 4U}) {
    FakeQueue queue;
    WindowSettings s = window();
    s.events = true;
    s.post_batch = 1;
    s.signal_every = signal_every;
    s.messages_per_s = 2000;
    s.iterations = 12;
    WindowOutcome outcome = run_on(queue, s);
    EXPECT_EQ(outcome.ending, Ending::finished);
    EXPECT_EQ(queue.waits, 0U) << "one completion per " << signal_every;
  }
}

TEST_F(WindowLoop, EventsThatFailEndIt) {
  FakeQueue queue;
  WindowSettings s = window();
  s.events = true;
  queue.complete_at_most = 0;
  queue.wait_error = EBADF;
  WindowOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.fault.what, Failure::poll);
  EXPECT_EQ(outcome.fault.code, EBADF);
  FakeQueue second;
  second.complete_at_most = 0;
  second.arm_error = ENOTSUP;
  EXPECT_EQ(run_on(second, s).fault.code, ENOTSUP);
}

}  // namespace
}  // namespace railgauge::loops
