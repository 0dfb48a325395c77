#include "control/channel.h"

#include <fcntl.h>

#include <future>

#include "control/heartbeat.h"
#include "control/messages.h"
#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

Deadline in_ms(int ms) { return Deadline::after(milliseconds(ms)); }

TEST(Channel, SilenceEndsAtTheDeadlineAndNamesPeerAndStep) {
  auto peer = raw_peer();
  auto begin = Clock::now();
  Error error = thrown_by([&] { peer.channel.expect(MessageType::prepared, in_ms(60)); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_STREQ(error.what(), "server-of-test sent nothing in the time allowed while waiting for prepared");
  EXPECT_GE(Clock::now() - begin, milliseconds(60));
}

TEST(Channel, HalfAFrameThenNothingEndsAtTheDeadline) {
  std::string frame = raw_peer().writer.seal(MessageType::facts, R"({"host":"b"})");
  for (std::size_t length : {std::size_t{1}, std::size_t{20}, std::size_t{25}, frame.size() - 1}) {
    auto peer = raw_peer();
    write_all(peer.raw.get(), std::string_view(frame).substr(0, length));
    Error error = thrown_by([&] { peer.channel.receive(in_ms(20)); });
    EXPECT_EQ(error.kind(), ErrorKind::timeout);
    EXPECT_THAT(error.what(), HasSubstr("sent half a message and then nothing"));
  }
}

TEST(Channel, AFrameThatDripsStillEndsAtTheDeadline) {
  auto peer = raw_peer();
  std::string frame = peer.writer.seal(MessageType::facts, std::string(300, ' '));
  std::atomic<bool> stop{false};
  std::thread drip([&] {
    for (char c : frame) {
      if (stop || ::send(peer.raw.get(), &c, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  EXPECT_EQ(thrown_by([&] { peer.channel.receive(in_ms(100)); }).kind(), ErrorKind::timeout);
  stop = true;
  drip.join();
}

TEST(Channel, PeerThatDiesAfterEveryByteIsNoticedAtOnce) {
  std::string frame = raw_peer().writer.seal(MessageType::facts, R"({"host":"b"})");
  for (std::size_t length = 0; length < frame.size(); ++length) {
    auto peer = raw_peer();
    write_all(peer.raw.get(), std::string_view(frame).substr(0, length));
    peer.raw.reset();
    Error error = thrown_by([&] { peer.channel.receive(soon()); });
    EXPECT_EQ(error.kind(), ErrorKind::peer);
    EXPECT_THAT(error.what(), HasSubstr(length == 0 ? "closed the connection while" : "closed the connection in the middle of a message"));
  }
}

TEST(Channel, ForgedFrameIsThePeersFault) {
  auto peer = raw_peer();
  FrameWriter stranger{Key{}};
  write_all(peer.raw.get(), stranger.seal(MessageType::start, {}));
  Error error = thrown_by([&] { peer.channel.receive(soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("server-of-test sent a frame"), HasSubstr("seal does not fit")));
}

TEST(Channel, HeartbeatsAreAbsorbed) {
  auto peer = raw_peer();
  for (int i = 0; i < 3; ++i) write_all(peer.raw.get(), peer.writer.seal(MessageType::heartbeat, {}));
  EXPECT_EQ(peer.channel.try_receive(), std::nullopt);
  std::string both = peer.writer.seal(MessageType::heartbeat, {});
  both += peer.writer.seal(MessageType::done, {});
  write_all(peer.raw.get(), both);
  EXPECT_EQ(peer.channel.receive(soon()).type, MessageType::done);
}

TEST(Channel, ExpectThrowsWhatThePeerReports) {
  auto pair = channel_pair();
  pair.server.send(MessageType::failure, to_json(Failure{ErrorKind::verbs, 22, "prepare", "ibv_create_qp mlx5_1: no room for 70000 WRs"}), soon());
  Error failure = thrown_by([&] { pair.client.expect(MessageType::prepared, soon()); });
  EXPECT_EQ(failure.kind(), ErrorKind::verbs);
  EXPECT_EQ(failure.code(), 22);
  EXPECT_STREQ(failure.what(), "server-of-test: ibv_create_qp mlx5_1: no room for 70000 WRs");
  pair.server.send(MessageType::stop, to_json(Stop{"Ctrl-C"}), soon());
  EXPECT_STREQ(thrown_by([&] { pair.client.expect(MessageType::prepared, soon()); }).what(), "server-of-test stopped: Ctrl-C");
  pair.server.send(MessageType::bye, {}, soon());
  EXPECT_EQ(thrown_by([&] { pair.client.expect(MessageType::prepared, soon()); }).kind(), ErrorKind::peer);
  pair.server.send(MessageType::start, {}, soon());
  EXPECT_STREQ(thrown_by([&] { pair.client.expect(MessageType::prepared, soon()); }).what(), "server-of-test sent start where prepared was due");
}

TEST(Channel, LastWordOfAPeerThatClosedIsReported) {
  auto pair = channel_pair();
  pair.server.send(MessageType::failure, to_json(Failure{ErrorKind::system, 28, "run", "write record: No space left on device"}), soon());
  { Channel gone = std::move(pair.server); }
  Error error = thrown_by([&] {
    for (int i = 0; i < 100; ++i) pair.client.send(MessageType::start, {}, soon());
  });
  EXPECT_THAT(error.what(), HasSubstr("No space left on device"));
}

TEST(Channel, TwoBigDocumentsAtOnceDoNotBlockEachOther) {
  auto pair = channel_pair();
  std::string big(8u << 20, ' ');
  auto other = std::async(std::launch::async, [&] {
    pair.server.send(MessageType::facts, big, soon());
    return pair.server.receive(soon()).body.size();
  });
  pair.client.send(MessageType::facts, big, soon());
  EXPECT_EQ(pair.client.receive(soon()).body.size(), big.size());
  EXPECT_EQ(other.get(), big.size());
}

TEST(Channel, PeerThatReadsNothingEndsSendAtTheDeadline) {
  auto peer = raw_peer();
  std::string big(16u << 20, ' ');
  Error error = thrown_by([&] { peer.channel.send(MessageType::facts, big, in_ms(50)); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_STREQ(error.what(), "server-of-test did not take what was sent in the time allowed while sending facts");
}

TEST(Heartbeat, SilentPeerIsNoticed) {
  auto peer = raw_peer();
  Heartbeat heartbeat(peer.channel, milliseconds(100));
  auto begin = Clock::now();
  Error error = thrown_by([&] { heartbeat.wait({}, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_STREQ(error.what(), "no sign of life from server-of-test for 0.1 s");
  EXPECT_GE(Clock::now() - begin, milliseconds(100));
}

TEST(Heartbeat, ShortWaitsDoNotHideSilence) {
  auto peer = raw_peer();
  Heartbeat heartbeat(peer.channel, milliseconds(100));
  Error error = thrown_by([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(heartbeat.wait({}, in_ms(7)).end, WaitEnd::deadline);
  });
  EXPECT_THAT(error.what(), HasSubstr("no sign of life"));
}

// The real limit and interval: two sides that only beat stay together for longer than the silence limit.
TEST(Heartbeat, KeepsTwoIdleSidesTogether) {
  auto pair = channel_pair();
  WakeEvent stop;
  std::array<int, 1> wake{stop.fd()};
  auto other = std::async(std::launch::async, [&] { return Heartbeat(pair.server).wait(wake, soon()).end; });
  EXPECT_EQ(Heartbeat(pair.client).wait({}, Deadline::after(kSilenceLimit + milliseconds(300))).end, WaitEnd::deadline);
  stop.set();
  EXPECT_EQ(other.get(), WaitEnd::woken);
}

TEST(Heartbeat, ReceiveBeatsToo) {
  auto pair = channel_pair();
  auto other = std::async(std::launch::async, [&] { return pair.server.receive(soon()).type; });
  EXPECT_EQ(Heartbeat(pair.client, milliseconds(2500)).wait({}, Deadline::after(milliseconds(3200))).end, WaitEnd::deadline);
  pair.client.send(MessageType::bye, {}, soon());
  EXPECT_EQ(other.get(), MessageType::bye);
}

TEST(Heartbeat, WakesForMessageAndFlagMessageFirst) {
  auto pair = channel_pair();
  WakeEvent event;
  std::array<int, 1> wake{event.fd()};
  event.set();
  pair.server.send(MessageType::done, {}, soon());
  Heartbeat heartbeat(pair.client);
  auto first = heartbeat.wait(wake, soon());
  ASSERT_EQ(first.end, WaitEnd::message);
  EXPECT_EQ(first.message->type, MessageType::done);
  EXPECT_EQ(heartbeat.wait(wake, soon()).end, WaitEnd::woken);
  EXPECT_TRUE(event.is_set());
  event.clear();
  EXPECT_FALSE(event.is_set());
  EXPECT_EQ(heartbeat.wait(wake, in_ms(10)).end, WaitEnd::deadline);
}

TEST(Heartbeat, PeerThatDiesIsNoticedAtOnce) {
  auto pair = channel_pair();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(20));
    Channel gone = std::move(pair.server);
  });
  auto begin = Clock::now();
  EXPECT_EQ(thrown_by([&] { Heartbeat(pair.client).wait({}, soon()); }).kind(), ErrorKind::peer);
  EXPECT_LT(Clock::now() - begin, kSilenceLimit);
  killer.join();
}

}  // namespace
}  // namespace railgauge::control
