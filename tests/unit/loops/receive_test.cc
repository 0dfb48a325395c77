#include "loops/receive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.h"
#include "unit/loops/loop_fixture.h"

namespace railgauge::loops {
namespace {

using std::chrono::milliseconds;
using testing_support::FakeQueue;

class ReceiveLoop : public testing::Test, public LoopFixture {
 protected:
  static ReceiveSettings settings() {
    ReceiveSettings s;
    s.message_bytes = 8;
    s.ring = 8;
    s.depth = 12;
    s.post_batch = 4;
    s.times = {.warm_up = {}, .duration = milliseconds(20), .interval = milliseconds(5)};
    s.first_limit = milliseconds(30);
    s.stall_limit = milliseconds(25);
    return s;
  }
  ReceiveOutcome run_on(FakeQueue& queue, const ReceiveSettings& s) {
    post_first_receives(queue, s);
    WindowReceiver receiver(queue, s, flags(), clock, {}, first_arrival);
    ReceiveOutcome outcome = run(receiver);
    if (receiver.schedule().measured()) summary = receiver.schedule().recorder().summary();
    return outcome;
  }
  std::atomic<std::uint64_t> first_arrival{0};
  stats::ThroughputSummary summary;
};

TEST_F(ReceiveLoop, PostsTheDepthRoundTheRingThenRepostsInBatches) {
  FakeQueue queue;
  for (int i = 0; i < 9; ++i) queue.arrive(0, 8);
  peer_done = true;
  ReceiveOutcome outcome = run_on(queue, settings());
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_THAT(outcome.received, testing::ElementsAre(9U));
  // 12 of a ring of 8 are slots 0…7 and 0…3; the next is 4.
  EXPECT_THAT(queue.calls, testing::ElementsAre("recv 0:0+4", "recv 0:4+4", "recv 0:0+4", "recv 0:4+4", "recv 0:0+4"));
  EXPECT_EQ(summary.bytes, 72U);
  EXPECT_EQ(summary.messages, 9U);
}

TEST_F(ReceiveLoop, ShowsEachMessageToTheCheckBeforeItsReceiveIsPostedAgain) {
  FakeQueue queue(2);
  for (int i = 0; i < 6; ++i) queue.arrive(1, 8);
  peer_done = true;
  CheckRecorder check;
  std::vector<std::uint64_t> posts;
  check.on_check = [&] { posts.push_back(queue.recv_posts); };
  ReceiveSettings s = settings();
  s.check = &check;
  run_on(queue, s);
  EXPECT_THAT(check.seen, testing::ElementsAre(testing::Pair(1U, 0U), testing::Pair(1U, 1U), testing::Pair(1U, 2U), testing::Pair(1U, 3U), testing::Pair(1U, 4U),
                                               testing::Pair(1U, 5U)));
  // Six posts of four at the begin; the seventh gives the first four back, once the fourth has been shown.
  EXPECT_THAT(posts, testing::ElementsAre(6U, 6U, 6U, 6U, 7U, 7U));
}

TEST_F(ReceiveLoop, CountsBytesByWhatArrived) {
  FakeQueue queue(2);
  for (std::uint32_t lane : {0U, 1U, 1U}) queue.arrive(lane, 26);
  peer_done = true;
  ReceiveSettings s = settings();
  s.message_bytes = 26;
  ReceiveOutcome outcome = run_on(queue, s);
  EXPECT_THAT(outcome.received, testing::ElementsAre(1U, 2U));
  EXPECT_EQ(summary.bytes, 78U);
}

TEST_F(ReceiveLoop, AMessageOfAnotherLengthEndsIt) {
  for (std::uint32_t bytes : {7U, 9U, 0U}) {
    FakeQueue queue(2);
    for (std::uint32_t lane : {1U, 0U, 1U}) queue.arrive(lane, 8);
    queue.arrive(1, bytes);
    ReceiveOutcome outcome = run_on(queue, settings());
    EXPECT_EQ(outcome.ending, Ending::failed);
    EXPECT_EQ(outcome.fault.what, Failure::length);
    EXPECT_EQ(outcome.fault.completion.lane, 1U);
    EXPECT_EQ(outcome.fault.completion.bytes, bytes);
    EXPECT_EQ(outcome.fault.message, 3U);
    EXPECT_TRUE(outcome.fault.receiving);
    first_arrival = 0;
  }
}

TEST_F(ReceiveLoop, TakesWhatIsLeftAfterThePeerHasEnded) {
  FakeQueue queue;
  queue.on_poll = [&](std::uint64_t poll) {
    if (poll == 70) peer_done = true;
    if (poll == 100) queue.arrive(0, 8);  // seen by this side only after the flag
  };
  EXPECT_THAT(run_on(queue, settings()).received, testing::ElementsAre(1U));
}

TEST_F(ReceiveLoop, AFailedReceiveEndsIt) {
  FakeQueue queue;
  queue.arrive(0, 0, 1);  // LOC_LEN_ERR
  ReceiveOutcome outcome = run_on(queue, settings());
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_EQ(outcome.fault.completion.status, 1U);
  EXPECT_TRUE(outcome.fault.receiving);
}

TEST_F(ReceiveLoop, ARefusedRepostEndsIt) {
  FakeQueue queue;
  queue.refused_recv_posts[4] = {.accepted = 3, .error = ENOMEM};
  for (int i = 0; i < 6; ++i) queue.arrive(0, 8);
  ReceiveOutcome outcome = run_on(queue, settings());
  EXPECT_EQ(outcome.fault.what, Failure::post_recv);
  EXPECT_EQ(outcome.fault.code, ENOMEM);
  EXPECT_EQ(outcome.fault.completion.slot, 7U);  // slots 4, 5, 6 taken
}

TEST_F(ReceiveLoop, ARefusedFirstReceiveThrows) {
  FakeQueue queue(2);
  queue.refused_recv_posts[5] = {.accepted = 1, .error = EINVAL};
  EXPECT_THROW(post_first_receives(queue, settings()), Error);
}

TEST_F(ReceiveLoop, AFailedPollEndsIt) {
  FakeQueue queue;
  queue.failed_recv_polls[5] = EIO;
  ReceiveOutcome outcome = run_on(queue, settings());
  EXPECT_EQ(outcome.fault.what, Failure::poll);
  EXPECT_EQ(outcome.fault.code, EIO);
}

TEST_F(ReceiveLoop, DoesNotWaitForEverForTheFirstMessage) {
  FakeQueue queue;
  auto begin = Clock::now();
  EXPECT_EQ(run_on(queue, settings()).fault.what, Failure::stalled);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
}

TEST_F(ReceiveLoop, DoesNotWaitForEverForTheNextMessage) {
  FakeQueue queue;
  queue.arrive(0, 8);
  ReceiveSettings s = settings();
  s.times.duration = std::chrono::seconds(60);
  s.first_limit = std::chrono::seconds(60);
  ReceiveOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.fault.what, Failure::stalled);
  EXPECT_THAT(outcome.received, testing::ElementsAre(1U));
}

TEST_F(ReceiveLoop, AStopEndsIt) {
  FakeQueue queue;
  queue.on_poll = [&](std::uint64_t poll) { stop = poll > 200; };
  EXPECT_EQ(run_on(queue, settings()).ending, Ending::stopped);
}

TEST_F(ReceiveLoop, EventsSleepUntilSomethingArrives) {
  FakeQueue queue;
  ReceiveSettings s = settings();
  s.events = true;
  s.first_limit = std::chrono::seconds(60);
  queue.on_poll = [&](std::uint64_t poll) {
    if (poll == 5) queue.arrive(0, 8);
    if (poll == 9) peer_done = true;
  };
  ReceiveOutcome outcome = run_on(queue, s);
  EXPECT_EQ(outcome.ending, Ending::finished);
  EXPECT_GE(queue.waits, 1U);
}

TEST_F(ReceiveLoop, DuplexGoesOnReceivingAfterItsOwnSending) {
  FakeQueue queue;
  WindowSettings w = window();
  w.iterations = 48;
  prepare(queue, w);
  ReceiveSettings s = settings();
  post_first_receives(queue, s);
  WindowSender sender(queue, w, flags(), clock, {});
  WindowReceiver receiver(queue, s, flags(), clock, {}, first_arrival);
  bool sender_ended = false;
  queue.on_poll = [&](std::uint64_t) {
    if (!sender_ended || peer_done) return;
    for (int i = 0; i < 7; ++i) queue.arrive(0, 8);  // the peer is slower
    peer_done = true;
  };
  DuplexOutcome both = run_duplex(sender, receiver, clock.now(), [&] { sender_ended = true; });
  EXPECT_EQ(both.sent.ending, Ending::finished);
  EXPECT_EQ(both.received.ending, Ending::finished);
  EXPECT_EQ(both.received.received[0], 7U);
}

TEST_F(ReceiveLoop, DuplexWithEventsSleepsOnlyWhenBothQueuesAreEmpty) {
  FakeQueue queue;
  WindowSettings w = window();
  w.events = true;
  w.times.duration = std::chrono::seconds(60);
  prepare(queue, w);
  queue.complete_at_most = 12;  // then the sender waits for ever
  ReceiveSettings s = settings();
  s.events = true;
  post_first_receives(queue, s);
  WindowSender sender(queue, w, flags(), clock, {});
  WindowReceiver receiver(queue, s, flags(), clock, {}, first_arrival);
  bool sender_ended = false;
  // Polls of both in turn; each arrival comes with a poll of the send queue, so after the receive queue was last looked at.
  queue.on_poll = [&](std::uint64_t poll) {
    if (poll % 6 == 1 && poll < 600) queue.arrive(0, 8);
    stop = poll > 600;
  };
  DuplexOutcome both = run_duplex(sender, receiver, clock.now(), [&] { sender_ended = true; });
  EXPECT_EQ(both.received.received[0], 100U);
  EXPECT_GE(queue.waits, 1U);
  EXPECT_EQ(queue.waits_slept_through, 0U);
}

TEST_F(ReceiveLoop, DuplexEndsWhenItsSenderFails) {
  FakeQueue queue;
  WindowSettings w = window();
  prepare(queue, w);
  queue.failed_messages[9] = 12;
  ReceiveSettings s = settings();
  s.first_limit = std::chrono::seconds(60);
  post_first_receives(queue, s);
  WindowSender sender(queue, w, flags(), clock, {});
  WindowReceiver receiver(queue, s, flags(), clock, {}, first_arrival);
  bool sender_ended = false;
  DuplexOutcome both = run_duplex(sender, receiver, clock.now(), [&] { sender_ended = true; });
  EXPECT_EQ(both.sent.fault.completion.status, 12U);
  EXPECT_EQ(both.received.ending, Ending::stopped);
  EXPECT_TRUE(sender_ended);
}

}  // namespace
}  // namespace railgauge::loops
