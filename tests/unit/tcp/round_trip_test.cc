#include "loops/round_trip.h"

#include <gtest/gtest.h>

#include "unit/tcp/fake_stream.h"

namespace railgauge::loops {
namespace {

using std::chrono::milliseconds;

struct Trip {
  EchoStream stream;
  std::atomic<bool> stop{false};
  std::vector<std::byte> message{std::vector<std::byte>(24, std::byte{0x31})};
  std::vector<std::byte> reply{std::vector<std::byte>(24)};
  stats::LatencyRecorder from_send;
  stats::LatencyRecorder from_intended;
  RoundTripJob job(transport::Stream* other = nullptr) {
    return {.stream = other != nullptr ? other : &stream, .message = message, .reply = reply, .stall_limit = milliseconds(30), .stop = &stop};
  }
};

TEST(RoundTrips, RecordsExactlyTheIterationsAskedFor) {
  Trip t;
  auto job = t.job();
  job.iterations = 37;
  const auto outcome = run_round_trips(job, t.from_send);
  EXPECT_EQ(outcome.end, RoundTripEnd::planned);
  EXPECT_EQ(outcome.recorded, 37U);
  EXPECT_EQ(t.from_send.histogram.samples(), 37U);
  EXPECT_EQ(t.stream.sent, 37U * 24U);
}

TEST(RoundTrips, KeepsWarmUpOutOfTheHistogram) {
  Trip t;
  auto job = t.job();
  job.warm_up = milliseconds(5);
  job.duration = milliseconds(15);
  const auto outcome = run_round_trips(job, t.from_send);
  EXPECT_GT(outcome.warm_up, 0U);
  EXPECT_GT(outcome.recorded, 0U);
  EXPECT_EQ(t.from_send.histogram.samples(), outcome.recorded);
  EXPECT_EQ(t.stream.sent / 24, outcome.recorded + outcome.warm_up);
  EXPECT_GE(outcome.window_end - outcome.window_begin, milliseconds(15));
}

TEST(RoundTrips, PutsRepliesTogetherThatComeInPieces) {
  Trip t;
  t.stream.piece = 7;
  auto job = t.job();
  job.iterations = 5;
  job.verify = true;
  const auto outcome = run_round_trips(job, t.from_send);
  EXPECT_EQ(outcome.recorded, 5U);
  EXPECT_EQ(outcome.checked, 5U);
  EXPECT_EQ(outcome.checked_bytes, 5U * 24U);
  EXPECT_EQ(outcome.mismatched_bytes, 0U);
}

TEST(RoundTrips, FindsAFlippedByte) {
  Trip t;
  t.stream.flip_at = 3 * 24 + 17;
  auto job = t.job();
  job.iterations = 9;
  job.verify = true;
  const auto outcome = run_round_trips(job, t.from_send);
  EXPECT_EQ(outcome.mismatched_bytes, 1U);
  EXPECT_EQ(outcome.first_mismatch, 3U * 24U + 17U);
  EXPECT_EQ(outcome.expected, std::byte{0x31});
  EXPECT_EQ(outcome.found, std::byte{0x21});
}

TEST(RoundTrips, KeepsWhatItHasWhenThePeerEnds) {
  for (const ssize_t how : {ssize_t{0}, ssize_t{-ECONNRESET}}) {
    Trip t;
    t.stream.end_after = 4 * 24;
    t.stream.end_with = how;
    auto job = t.job();
    job.iterations = 100;
    const auto outcome = run_round_trips(job, t.from_send);
    EXPECT_EQ(outcome.end, RoundTripEnd::peer_gone);
    EXPECT_EQ(outcome.error, static_cast<int>(-how));
    EXPECT_EQ(outcome.recorded, 4U);
  }
}

TEST(RoundTrips, StallsAfterItsLimit) {
  Trip t;
  FakeStream silent;
  silent.send_then = 1000;
  const auto begin = Clock::now();
  const auto outcome = run_round_trips(t.job(&silent), t.from_send);
  EXPECT_EQ(outcome.end, RoundTripEnd::stalled);
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
}

TEST(RoundTrips, StopsWhileItWaitsForAReply) {
  Trip t;
  FakeStream silent;
  silent.send_then = 1000;
  silent.on_call = [&] { t.stop = silent.calls > 5000; };
  auto job = t.job(&silent);
  job.stall_limit = std::chrono::hours(1);
  EXPECT_EQ(run_round_trips(job, t.from_send).end, RoundTripEnd::stopped);
}

TEST(RoundTrips, LooksAtEachPollOfAStreamThatSleeps) {
  Trip t;
  FakeStream slow;
  slow.send_then = 1000;
  // 2 ms a poll: a stall limit of 30 ms must not become 1024 polls, twice (4 s).
  slow.on_call = [&] {
    const auto until = Clock::now() + std::chrono::microseconds(2000);
    while (Clock::now() < until) {
    }
  };
  auto job = t.job(&slow);
  job.blocking = true;
  EXPECT_EQ(run_round_trips(job, t.from_send).end, RoundTripEnd::stalled);
  EXPECT_LT(slow.calls, 200);
}

TEST(RoundTrips, FailsOnAnotherErrnoOfTheSend) {
  Trip t;
  FakeStream broken;
  broken.send_then = -EHOSTUNREACH;
  const auto outcome = run_round_trips(t.job(&broken), t.from_send);
  EXPECT_EQ(outcome.end, RoundTripEnd::failed);
  EXPECT_EQ(outcome.error, EHOSTUNREACH);
}

TEST(ScheduledRoundTrips, SendsAtItsRateAndRecordsBothTimes) {
  Trip t;
  auto job = t.job();
  job.rate_per_s = 5000;
  job.warm_up = milliseconds(4);   // 20 messages
  job.duration = milliseconds(10); // 50 messages
  job.verify = true;
  const auto outcome = run_scheduled_round_trips(job, t.from_intended, t.from_send);
  EXPECT_EQ(outcome.end, RoundTripEnd::planned);
  EXPECT_EQ(outcome.warm_up, 20U);
  EXPECT_EQ(outcome.recorded, 50U);
  EXPECT_EQ(outcome.unanswered, 0U);
  EXPECT_EQ(outcome.mismatched_bytes, 0U);
  EXPECT_EQ(outcome.checked, 70U);
  EXPECT_EQ(outcome.checked_bytes, 70U * 24U);
  EXPECT_EQ(t.from_intended.histogram.samples(), 50U);
  EXPECT_EQ(t.from_send.histogram.samples(), 50U);
}

/// Stops for a while in the middle, as a switch does that is overrun.
class PausingStream final : public transport::Stream {
 public:
  EchoStream echo;
  Clock::time_point pause_from = Clock::now() + milliseconds(10);
  Clock::time_point pause_until = pause_from + milliseconds(20);
  ssize_t send_some(std::span<const std::byte> bytes) noexcept override {
    const auto now = Clock::now();
    return now >= pause_from && now < pause_until ? -EAGAIN : echo.send_some(bytes);
  }
  ssize_t receive_some(std::span<std::byte> room) noexcept override { return echo.receive_some(room); }
};

TEST(ScheduledRoundTrips, ChargesAPauseToEveryMessageThatWasDueInIt) {
  Trip t;
  PausingStream stream;
  auto job = t.job(&stream);
  job.stall_limit = std::chrono::seconds(5);
  job.rate_per_s = 2000;
  job.iterations = 80;  // 40 ms; a 20 ms pause holds up 40 of them
  const auto outcome = run_scheduled_round_trips(job, t.from_intended, t.from_send);
  EXPECT_EQ(outcome.recorded, 80U);
  // All due more than 0.1 ms before the end of the pause are late: 39 or so; a crowded machine makes more of them late.
  EXPECT_GE(outcome.late_sends, 35U);
  // A closed loop would have seen one slow message. 30 of 80 lie above 4 ms here by arithmetic.
  const auto p75 = t.from_intended.histogram.percentile_ns(75).value;
  ASSERT_TRUE(p75);
  EXPECT_GT(*p75, 4e6);
}

TEST(ScheduledRoundTrips, CountsWhatWasNeverAnswered) {
  Trip t;
  t.stream.end_after = 30 * 24;
  t.stream.end_with = -EAGAIN;
  auto job = t.job();
  job.rate_per_s = 20000;
  job.iterations = 50;
  job.stall_limit = milliseconds(20);
  const auto outcome = run_scheduled_round_trips(job, t.from_intended, t.from_send);
  EXPECT_EQ(outcome.end, RoundTripEnd::stalled);
  EXPECT_EQ(outcome.recorded, 30U);
  EXPECT_EQ(outcome.unanswered, 20U);
}

/// Takes a message every 10 ms at most.
class SlowStream final : public transport::Stream {
 public:
  EchoStream echo;
  Clock::time_point next{};
  ssize_t send_some(std::span<const std::byte> bytes) noexcept override {
    if (Clock::now() < next) return -EAGAIN;
    next = Clock::now() + milliseconds(10);
    return echo.send_some(bytes);
  }
  ssize_t receive_some(std::span<std::byte> room) noexcept override { return echo.receive_some(room); }
};

TEST(ScheduledRoundTrips, EndsInTimeWhereThePathCannotKeepUp) {
  Trip t;
  SlowStream stream;
  auto job = t.job(&stream);
  job.stall_limit = std::chrono::seconds(5);
  job.rate_per_s = 10000;
  job.duration = milliseconds(100);  // 1000 messages: 10 s at 10 ms each; at most 110 in the 1.1 s that it may take
  const auto begin = Clock::now();
  const auto outcome = run_scheduled_round_trips(job, t.from_intended, t.from_send);
  EXPECT_GE(Clock::now() - begin, milliseconds(1100));
  EXPECT_LT(Clock::now() - begin, milliseconds(4000));
  EXPECT_EQ(outcome.end, RoundTripEnd::planned);
  EXPECT_GE(outcome.unsent, 1000U - 111U);
  EXPECT_EQ(outcome.unanswered, 0U);
  EXPECT_EQ(outcome.recorded + outcome.unsent, 1000U);
}

/// Asks to stop after a while.
class StoppingStream final : public transport::Stream {
 public:
  explicit StoppingStream(std::atomic<bool>& stop) : stop_(stop) {}
  ssize_t send_some(std::span<const std::byte> bytes) noexcept override {
    if (++sends_ > 5000) stop_ = true;
    return echo_.send_some(bytes);
  }
  ssize_t receive_some(std::span<std::byte> room) noexcept override { return echo_.receive_some(room); }

 private:
  std::atomic<bool>& stop_;
  EchoStream echo_;
  int sends_ = 0;
};

TEST(ScheduledRoundTrips, StopsAlsoWhileRepliesComeWithoutAPause) {
  Trip t;
  StoppingStream stream(t.stop);
  auto job = t.job(&stream);
  job.rate_per_s = 1e9;  // faster than any loop: a send is always due, its reply always there
  job.iterations = 20'000'000'000;
  EXPECT_EQ(run_scheduled_round_trips(job, t.from_intended, t.from_send).end, RoundTripEnd::stopped);
}

TEST(ScheduledRoundTrips, EndsWithThePeer) {
  Trip t;
  t.stream.end_after = 10 * 24;
  auto job = t.job();
  job.rate_per_s = 20000;
  job.iterations = 50;
  EXPECT_EQ(run_scheduled_round_trips(job, t.from_intended, t.from_send).end, RoundTripEnd::peer_gone);
}

TEST(Echo, SendsBackWholeMessagesAndEndsWithThePeer) {
  Trip t;
  FakeStream peer;
  peer.receive_script = {24, 10, 14, 0};
  peer.send_script = {24, 5, 19};
  peer.source = [](std::uint64_t at) { return static_cast<std::byte>(at); };
  const auto outcome = run_echo(t.job(&peer));
  EXPECT_EQ(outcome.end, RoundTripEnd::planned);
  EXPECT_EQ(outcome.recorded, 2U);
  ASSERT_EQ(peer.sent.size(), 48U);
  EXPECT_EQ(peer.sent[47], std::byte{47});
}

TEST(Echo, CallsAnEndInsideAMessageAVanishedPeer) {
  Trip t;
  FakeStream peer;
  peer.receive_script = {24, 10, 0};
  peer.send_then = 24;
  EXPECT_EQ(run_echo(t.job(&peer)).end, RoundTripEnd::peer_gone);
}

}  // namespace
}  // namespace railgauge::loops
