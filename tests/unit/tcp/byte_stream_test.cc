#include "loops/byte_stream.h"

#include <gtest/gtest.h>

#include <numeric>

#include "unit/tcp/fake_stream.h"

namespace railgauge::loops {
namespace {

std::vector<std::byte> counting(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + 3);
  return out;
}

/// Counts the waits and ends the run after so many.
struct FakeReadiness final : transport::Readiness {
  StreamOrders* orders = nullptr;
  int waits = 0;
  int most = 3;
  void wait(std::chrono::milliseconds limit) noexcept override {
    EXPECT_GT(limit.count(), 0);
    if (++waits == most) orders->phase = Phase::stop;
  }
};

struct Sending {
  FakeStream stream;
  LaneCounters counters;
  StreamOrders orders;
  FakeReadiness readiness;
  std::vector<SendLane> lanes{{.stream = &stream, .counters = &counters}};
  std::vector<std::byte> message = counting(11);
  Sending() { readiness.orders = &orders; }
  void run() { send_stream(lanes, message, orders, Phase::warm_up, &readiness); }
};

TEST(SendStream, GoesOnInsideTheMessageAfterAShortWrite) {
  Sending s;
  s.stream.send_script = {4, 5, 100, 3, 100, -EPIPE};
  s.run();
  // 4 + 5 + 2 (rest of the first message) + 3 + 8: two whole messages of 11 bytes.
  EXPECT_EQ(s.counters.bytes, 22U);
  auto twice = s.message;
  twice.insert(twice.end(), s.message.begin(), s.message.end());
  EXPECT_EQ(s.stream.sent, twice);
}

TEST(SendStream, CallsAVanishedReceiverEndedAndKeepsTheErrno) {
  for (const int error : {EPIPE, ECONNRESET}) {
    Sending s;
    s.stream.send_script = {6, -error};
    s.run();
    EXPECT_EQ(s.counters.state, LaneState::ended);
    EXPECT_EQ(s.counters.error, error);
    EXPECT_EQ(s.counters.bytes, 6U);
    EXPECT_NE(s.counters.end_ns, LaneCounters::kNotYet);
  }
}

TEST(SendStream, FailsOnAnyOtherErrno) {
  Sending s;
  s.stream.send_script = {-ENETUNREACH};
  s.run();
  EXPECT_EQ(s.counters.state, LaneState::failed);
  EXPECT_EQ(s.counters.error, ENETUNREACH);
  EXPECT_EQ(s.counters.bytes, 0U);
  EXPECT_EQ(s.counters.first_ns, LaneCounters::kNotYet);
}

TEST(SendStream, WaitsOnlyAfterARoundWithoutProgress) {
  Sending s;
  s.stream.send_script = {-EAGAIN, 3, 4, -EAGAIN, -EAGAIN};
  s.run();
  EXPECT_EQ(s.readiness.waits, 3);
  EXPECT_EQ(s.stream.calls, 5);
  EXPECT_EQ(s.counters.bytes, 7U);
  EXPECT_EQ(s.counters.first_bytes, 3U);
  EXPECT_EQ(s.counters.state, LaneState::running);
}

TEST(SendStream, NeverSendsBeyondItsLimit) {
  Sending s;
  s.lanes[0].limit_bytes = 25;
  s.stream.send_then = 1000;
  s.run();
  EXPECT_EQ(s.stream.sent.size(), 25U);
  EXPECT_EQ(s.counters.state, LaneState::finished);
}

TEST(SendStream, StopsWhenThePhaseChanges) {
  Sending s;
  s.stream.send_then = 11;
  s.stream.on_call = [&] {
    if (s.stream.calls == 17) s.orders.phase = Phase::measure;
  };
  s.run();
  EXPECT_EQ(s.counters.bytes, 17U * 11U);
  EXPECT_EQ(s.counters.state, LaneState::running);
}

TEST(SendStream, LetsTheOtherLanesGoOnWhenOneFails) {
  Sending s;
  FakeStream second;
  LaneCounters second_counters;
  s.lanes.push_back({.stream = &second, .counters = &second_counters, .limit_bytes = 33});
  s.stream.send_script = {5, -EIO};
  second.send_then = 7;
  s.run();
  EXPECT_EQ(s.counters.state, LaneState::failed);
  EXPECT_EQ(second_counters.state, LaneState::finished);
  EXPECT_EQ(second_counters.bytes, 33U);
}

TEST(SendStream, SleepsInsideABlockingStreamWithoutReadiness) {
  Sending s;
  s.stream.send_script = {-EAGAIN, -EAGAIN, 9, -EPIPE};
  send_stream(s.lanes, s.message, s.orders, Phase::warm_up, nullptr);
  EXPECT_EQ(s.counters.bytes, 9U);
}

struct Receiving {
  FakeStream stream;
  LaneCounters counters;
  StreamOrders orders;
  FakeReadiness readiness;
  std::vector<ReceiveLane> lanes{{.stream = &stream, .counters = &counters, .check = {}}};
  std::vector<std::byte> room{std::vector<std::byte>(64)};
  std::vector<std::byte> expected = counting(13);
  Receiving() {
    readiness.orders = &orders;
    stream.source = [this](std::uint64_t at) { return expected[at % 13]; };
  }
  void run() { receive_stream(lanes, room, expected, orders, Phase::warm_up, &readiness); }
};

TEST(ReceiveStream, EndsAtTheEndOfTheStream) {
  Receiving r;
  r.stream.receive_script = {20, 7, 0};
  r.run();
  EXPECT_EQ(r.counters.bytes, 27U);
  EXPECT_EQ(r.counters.state, LaneState::ended);
  EXPECT_EQ(r.counters.error, 0);
}

TEST(ReceiveStream, EndsWithTheErrnoOfAReset) {
  Receiving r;
  r.stream.receive_script = {20, -ECONNRESET};
  r.run();
  EXPECT_EQ(r.counters.state, LaneState::ended);
  EXPECT_EQ(r.counters.error, ECONNRESET);
}

TEST(ReceiveStream, FailsOnATimedOutConnection) {
  Receiving r;
  r.stream.receive_script = {-ETIMEDOUT};
  r.run();
  EXPECT_EQ(r.counters.state, LaneState::failed);
  EXPECT_EQ(r.counters.error, ETIMEDOUT);
}

TEST(ReceiveStream, WaitsWhenNothingIsThere) {
  Receiving r;
  r.run();
  EXPECT_EQ(r.readiness.waits, 3);
  EXPECT_EQ(r.counters.bytes, 0U);
}

TEST(ReceiveStream, TakesNoMoreThanItsLimit) {
  Receiving r;
  r.lanes[0].limit_bytes = 70;
  r.stream.receive_then = 1000;
  r.run();
  EXPECT_EQ(r.counters.bytes, 70U);  // 64 and 6
  EXPECT_EQ(r.counters.state, LaneState::finished);
  EXPECT_EQ(r.stream.calls, 2);
}

TEST(ReceiveStream, ComparesOneBlockEachTimeItIsAskedTo) {
  Receiving r;
  r.stream.receive_script = {5, 20, 30, 40, 0};
  r.stream.on_call = [&] {
    if (r.stream.calls == 2 || r.stream.calls == 4) ++r.orders.check;
  };
  r.run();
  EXPECT_EQ(r.lanes[0].check.checked_bytes, 20U + 40U);
  EXPECT_EQ(r.lanes[0].check.mismatched_bytes, 0U);
}

TEST(ReceiveStream, NamesTheFirstWrongByteByItsStreamOffset) {
  Receiving r;
  r.stream.receive_script = {5, 20, 30, 0};
  r.stream.source = [&](std::uint64_t at) { return at == 31 || at == 33 ? std::byte{0xee} : r.expected[at % 13]; };
  r.stream.on_call = [&] {
    if (r.stream.calls == 3) ++r.orders.check;
  };
  r.run();
  EXPECT_EQ(r.lanes[0].check.mismatched_bytes, 2U);
  EXPECT_EQ(r.lanes[0].check.first_offset, 31U);
  EXPECT_EQ(r.lanes[0].check.expected, static_cast<std::byte>(5 * 7 + 3));  // 31 = 2·13 + 5
  EXPECT_EQ(r.lanes[0].check.found, std::byte{0xee});
}

TEST(CheckBlock, FindsDataThatIsShiftedByOneByte) {
  const auto expected = counting(13);
  std::vector<std::byte> block(expected.begin() + 1, expected.end());
  LaneCheck check;
  check_block(block, 0, expected, check);
  EXPECT_EQ(check.checked_bytes, 12U);
  EXPECT_EQ(check.mismatched_bytes, 12U);
  EXPECT_EQ(check.first_offset, 0U);
}

}  // namespace
}  // namespace railgauge::loops
