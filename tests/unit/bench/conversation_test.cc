#include "bench/conversation.h"

#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <optional>

#include "bench/server_session.h"
#include "control/messages.h"
#include "unit/control/support.h"

namespace railgauge::bench {
namespace {

using namespace control::testing;
using control::MessageType;
using ::testing::HasSubstr;

/// A conversation and the other end of its channel.
struct Talk {
  ChannelPair pair = channel_pair();
  Conversation here{std::move(pair.server)};
  std::atomic<bool> called_off{false};

  /// What comes out of a step that waits for the peer for up to 20 s.
  Error end_of_a_step() {
    return thrown_by([&] {
      here.work(
          [&] {
            if (!soon_true([&] { return called_off.load(); })) throw Error(ErrorKind::timeout, "nobody called it off");
            throw Error(ErrorKind::peer, "0 of 3 data connections had come");
          },
          [&] { called_off = true; });
    });
  }
};

TEST(Conversation, CallsAStepOffWhenThePeerHasFailed) {
  Talk talk;
  talk.pair.client.send(MessageType::failure, control::to_json(control::Failure{ErrorKind::system, EMFILE, "connect", "no descriptor left"}), soon());
  Error error = talk.end_of_a_step();
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_EQ(error.code(), EMFILE);
  EXPECT_THAT(error.what(), HasSubstr("no descriptor left"));
  EXPECT_TRUE(talk.here.peer_failed());
  EXPECT_FALSE(talk.here.broken());
}

TEST(Conversation, CallsAStepOffWhenThePeerHasGone) {
  Talk talk;
  { control::Channel gone = std::move(talk.pair.client); }
  EXPECT_THAT(talk.end_of_a_step().what(), HasSubstr("closed"));
  EXPECT_TRUE(talk.here.broken());
}

TEST(ServeClient, SaysWhyItTurnsAClientAway) {
  Talk talk;
  talk.pair.client.send(MessageType::facts, "{}", soon());
  Error error = thrown_by([&] {
    serve_client(talk.here, [] { return LocalHost{host::Root(), {}}; }, plan::Limits{}, [](const std::string&, Clock::time_point) {});
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer);  // not data: nothing measured is wrong
  auto told = talk.pair.client.receive(soon());
  ASSERT_EQ(told.type, MessageType::failure);
  EXPECT_EQ(control::failure_from_json(told.body).text, error.what());
}

TEST(Conversation, KeepsOtherMessagesForLater) {
  Talk talk;
  talk.pair.client.send(MessageType::connect, "{}", soon());
  talk.here.work([] { std::this_thread::sleep_for(milliseconds(20)); });
  EXPECT_EQ(talk.here.expect(MessageType::connect, soon(), "testing"), "{}");
}

TEST(Conversation, DoesNotKeepMessagesWithoutEnd) {
  Talk talk;
  for (int i = 0; i < 5; ++i) talk.pair.client.send(MessageType::connect, "{}", soon());
  EXPECT_THAT(talk.end_of_a_step().what(), HasSubstr("none of which was asked for"));
  EXPECT_TRUE(talk.here.broken());
}

/// Something that takes `time` to free.
std::shared_ptr<void> slow_to_free(milliseconds time) {
  return {new char, [time](char* held) {
            std::this_thread::sleep_for(time);
            delete held;
          }};
}

TEST(Conversation, BeatsWhileItFreesAndKeepsWhatArrives) {
  Talk talk;
  talk.pair.client.send(MessageType::bye, "", soon());
  // A heartbeat is due each second; who hears none for 1.6 s would take this side for dead.
  std::optional<Error> gone;
  std::thread client([&] {
    try {
      control::Heartbeat(talk.pair.client, milliseconds(1600)).wait({}, Deadline::after(milliseconds(2500)));
    } catch (const Error& error) {
      gone = error;
    }
  });
  EXPECT_TRUE(talk.here.release(slow_to_free(milliseconds(2600)), soon()));
  client.join();
  EXPECT_FALSE(gone) << gone->what();
  EXPECT_FALSE(talk.here.broken());
  auto message = talk.here.next(soon());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, MessageType::bye);
}

TEST(Conversation, LeavesAloneWhatADriverHolds) {
  Talk talk;
  std::atomic<bool> freed{false};
  const auto begin = Clock::now();
  EXPECT_FALSE(talk.here.release(
      {new char, [&freed](char* held) {
         std::this_thread::sleep_for(milliseconds(800));
         delete held;
         freed = true;
       }},
      Deadline::after(milliseconds(50))));
  EXPECT_LT(Clock::now() - begin, milliseconds(700));
  EXPECT_TRUE(soon_true([&] { return freed.load(); }));
}

TEST(Conversation, FreesAlsoWhenThePeerHasGone) {
  Talk talk;
  { control::Channel gone = std::move(talk.pair.client); }
  EXPECT_TRUE(talk.here.release(slow_to_free(milliseconds(50)), soon()));
  EXPECT_TRUE(talk.here.broken());
}

#ifndef __SANITIZE_ADDRESS__  // UBSan of the same build opens a pipe to look at an object and takes a refusal for a bad one
TEST(Conversation, FreesHereWhereNoDescriptorIsToBeHad) {
  Talk talk;
  std::atomic<bool> freed{false};
  std::shared_ptr<void> held(new char, [&freed](char* p) {
    delete p;
    freed = true;
  });
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool done = talk.here.release(std::move(held), soon());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(done);
  EXPECT_TRUE(freed);
  EXPECT_FALSE(talk.here.broken());
}
#endif

TEST(Conversation, GivesOutTheStepsOwnFailure) {
  Talk talk;
  EXPECT_THAT(thrown_by([&] { talk.here.work([] { throw Error(ErrorKind::usage, "of its own"); }); }).what(), HasSubstr("of its own"));
  EXPECT_FALSE(talk.here.peer_failed());
}

}  // namespace
}  // namespace railgauge::bench
