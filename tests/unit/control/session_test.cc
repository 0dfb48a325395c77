// Acceptor and connect_client over real sockets: two threads, two processes, and what each may meet at the door.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <future>

#include "control/acceptor.h"
#include "control/connect.h"
#include "control/heartbeat.h"
#include "control/messages.h"
#include "doors.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Session, CarriesMessagesBothWays) {
  Acceptor server(local(kToken));
  auto served = std::async(std::launch::async, [&] {
    auto channel = server.next(soon());
    std::string plan = channel->expect(MessageType::prepare, soon());
    channel->send(MessageType::result, plan + plan, soon());
    return channel->endpoints();
  });
  Channel client = connect_client(call(server, kToken), soon());
  client.send(MessageType::prepare, R"({"label":"write"})", soon());
  EXPECT_EQ(client.expect(MessageType::result, soon()), R"({"label":"write"}{"label":"write"})");
  EXPECT_EQ(client.endpoints().peer_address, "127.0.0.1");
  EXPECT_EQ(client.endpoints().peer_port, server.port());
  EXPECT_EQ(client.version_in_force(), kProtocolVersion);
  EXPECT_EQ(served.get().local_address, "127.0.0.1");
}

/// The other process: exits with 0 when the conversation went as planned.
int client_process(std::uint16_t port) {
  try {
    Channel client = connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
    client.send(MessageType::facts, R"({"host":"a"})", soon());
    return client.expect(MessageType::facts, soon()) == R"({"host":"b"})" ? 0 : 1;
  } catch (const Error&) {
    return 2;
  }
}

TEST(Session, TwoProcessesTalk) {
  std::array<int, 2> pipe{};  // the child forks before this process has threads, and is told the port later
  ASSERT_EQ(::pipe(pipe.data()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::uint16_t port = 0;
    ::_exit(::read(pipe[0], &port, sizeof port) == sizeof port ? client_process(port) : 3);
  }
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken});
  const std::uint16_t port = server.port();
  ASSERT_EQ(::write(pipe[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  auto channel = server.next(soon());
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->expect(MessageType::facts, soon()), R"({"host":"a"})");
  channel->send(MessageType::facts, R"({"host":"b"})", soon());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Session, KilledProcessIsNoticedAndTheServerGoesOn) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe(pipe_ends.data()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::uint16_t port = 0;
    if (::read(pipe_ends[0], &port, sizeof port) != sizeof port) ::_exit(1);
    Channel client = connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
    client.send(MessageType::start, {}, soon());
    ::pause();
  }
  Acceptor server(local(kToken));
  std::uint16_t port = server.port();
  ASSERT_EQ(::write(pipe_ends[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  auto channel = server.next(soon());
  ASSERT_TRUE(channel);
  channel->expect(MessageType::start, soon());
  Heartbeat heartbeat(*channel);
  ::kill(child, SIGKILL);
  auto begin = Clock::now();
  EXPECT_EQ(thrown_by([&] { heartbeat.wait({}, soon()); }).kind(), ErrorKind::peer);
  EXPECT_LT(Clock::now() - begin, seconds(5));
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  server.set_idle();
  expect_serves(server);
}

TEST(Session, StoppedProcessIsNoticedWithinFiveSeconds) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe(pipe_ends.data()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::uint16_t port = 0;
    if (::read(pipe_ends[0], &port, sizeof port) != sizeof port) ::_exit(1);
    Channel client = connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
    client.send(MessageType::start, {}, soon());
    ::raise(SIGSTOP);  // as a host that hangs: its kernel still acknowledges, but nobody is there
    ::_exit(0);
  }
  Acceptor server(local(kToken));
  std::uint16_t port = server.port();
  ASSERT_EQ(::write(pipe_ends[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  auto channel = server.next(soon());
  ASSERT_TRUE(channel);
  channel->expect(MessageType::start, soon());
  auto begin = Clock::now();
  Error error = thrown_by([&] { Heartbeat(*channel).wait({}, soon()); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("no sign of life from 127.0.0.1:"), HasSubstr("for 4.0 s")));
  EXPECT_LT(Clock::now() - begin, seconds(5));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST(Session, WrongTokenIsSaidOnBothSides) {
  Acceptor server(local(kToken));
  Error error = thrown_by([&] { connect_client(call(server, "another-token-of-tests"), soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("127.0.0.1:"), HasSubstr("does not accept this side's token"), Not(HasSubstr("another-token"))));
  EXPECT_TRUE(soon_true([&] { return server.counts().wrong_proofs == 1; }));
  expect_serves(server);
}

TEST(Session, ServerThatDoesNotKnowTheTokenIsNotTrusted) {
  PlainListener listener;
  auto impostor = std::async(std::launch::async, [&] {
    UniqueFd fd(::accept(listener.fd.get(), nullptr, nullptr));
    Handshake handshake(Role::server, {key_from_token("guessed-token-of-tests"), true});
    std::array<std::uint8_t, kHelloBytes> hello{};
    if (::recv(fd.get(), hello.data(), hello.size(), MSG_WAITALL) != static_cast<ssize_t>(hello.size())) return;
    (void)handshake.feed(hello);
    write_all(fd.get(), handshake.take_output() + "RAILPROF" + std::string(40, '\0'));
    (void)is_closed(fd.get());
  });
  Error error = thrown_by([&] { connect_client({.host = "127.0.0.1", .port = listener.port, .token = kToken}, soon()); });
  EXPECT_THAT(error.what(), HasSubstr("could not prove that it knows the token"));
  impostor.get();
}

TEST(Session, DifferingMajorIsSaidOnBothSides) {
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken, .version = {1, 3}});
  ::testing::internal::CaptureStderr();
  ClientOptions options = call(server, kToken);
  options.version = {2, 0};
  EXPECT_THAT(thrown_by([&] { connect_client(options, soon()); }).what(), HasSubstr("speaks control protocol 1.3, this side 2.0: use the same major version"));
  EXPECT_TRUE(soon_true([&] { return server.counts().refused == 1; }));
  std::this_thread::sleep_for(milliseconds(200));  // counted first, then logged
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("speaks control protocol 2.0, this side 1.3"));
}

TEST(Session, DifferingMinorTalks) {
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken, .version = {1, 7}});
  ClientOptions options = call(server, kToken);
  options.version = {1, 12};
  Channel client = connect_client(options, soon());
  auto channel = server.next(soon());
  ASSERT_TRUE(channel);
  EXPECT_EQ(client.version_in_force(), (Version{1, 7}));
  EXPECT_EQ(channel->version_in_force(), (Version{1, 7}));
}

TEST(Session, SecondClientIsToldWhatTheServerIsBusyWith) {
  Acceptor server(local(kToken));
  Channel first = connect_client(call(server, kToken), soon());
  Error early = thrown_by([&] { connect_client(call(server, kToken), soon()); });
  EXPECT_THAT(early.what(), HasSubstr("is busy with another client, 127.0.0.1"));
  auto channel = server.next(soon());
  ASSERT_TRUE(channel);
  server.set_busy("write bandwidth, 4 QPs", Clock::now() + seconds(42));
  Error error = thrown_by([&] { connect_client(call(server, kToken), soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_THAT(error.what(), HasSubstr("is busy with write bandwidth, 4 QPs for 127.0.0.1, for about 42 s more"));
  server.set_busy("write bandwidth, 4 QPs", Clock::now());
  EXPECT_THAT(thrown_by([&] { connect_client(call(server, kToken), soon()); }).what(), HasSubstr("about to end"));
  server.set_idle();
  expect_serves(server);
  EXPECT_EQ(server.counts().told_busy, 3u);
}

TEST(Session, SilentHalfOpenPeersDoNotHoldUpTheNextClient) {
  Acceptor server(local(kToken));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(plain_connect(server.port()));
  auto begin = Clock::now();
  expect_serves(server);
  // One silent connection held iperf3's next client up for 19.8 s (tcp-facts.md, section 7).
  EXPECT_LT(Clock::now() - begin, seconds(2));
}

TEST(Session, SlowHandshakesAreDroppedAtTheirDeadline) {
  AcceptorOptions options = local(kToken);
  options.handshake_budget = milliseconds(60);
  Acceptor server(options);
  UniqueFd silent = plain_connect(server.port());
  UniqueFd half = plain_connect(server.port());
  write_all(half.get(), "RAILGAUG");
  EXPECT_TRUE(is_closed(silent.get()));
  EXPECT_TRUE(is_closed(half.get()));
  EXPECT_TRUE(soon_true([&] { return server.counts().too_slow == 2; }));
}

TEST(Session, OldestHalfOpenGivesWay) {
  AcceptorOptions options = local(kToken);
  options.max_half_open = 5;
  Acceptor server(options);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 9; ++i) silent.push_back(plain_connect(server.port()));
  EXPECT_TRUE(soon_true([&] { return server.counts().crowded_out == 4; }));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_closed(silent[static_cast<std::size_t>(i)].get())) << i;
  expect_serves(server);
}

TEST(Session, GarbageCostsOneConnection) {
  Acceptor server(local(kToken));
  const std::vector<std::string> strangers{"GET / HTTP/1.1\r\nHost: b\r\n\r\n", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
                                           "SSH-2.0-OpenSSH_9.2\r\n", std::string(100'000, '\0'), std::string(100'000, '\xff'), "RAILGAUG" + std::string(500, '\x7f')};
  for (const std::string& bytes : strangers) {
    UniqueFd fd = plain_connect(server.port());
    try {
      write_all(fd.get(), bytes);
    } catch (const Error&) {
      // Closed while still being written to: as it should.
    }
    EXPECT_TRUE(is_closed(fd.get())) << bytes.substr(0, 8);
  }
  EXPECT_TRUE(soon_true([&] { return server.counts().refused == strangers.size(); }));
  expect_serves(server);
}

TEST(Session, ComplaintsAreLoggedOnceASecondAtMost) {
  Acceptor server(local(kToken));
  ::testing::internal::CaptureStderr();
  auto begin = Clock::now();
  for (int i = 0; i < 30; ++i) thrown_by([&] { connect_client(call(server, "another-token-of-tests"), soon()); });
  EXPECT_TRUE(soon_true([&] { return server.counts().wrong_proofs == 30; }));
  std::this_thread::sleep_for(milliseconds(1100));
  std::string log = ::testing::internal::GetCapturedStderr();
  auto elapsed_s = std::chrono::ceil<seconds>(Clock::now() - begin).count();
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), elapsed_s + 1);
  EXPECT_LT(elapsed_s + 1, 30) << "too slow a machine for this test to say anything";
  EXPECT_THAT(log, AllOf(HasSubstr("wrong token"), HasSubstr("more since the last such line")));
  EXPECT_THAT(log, AllOf(Not(HasSubstr(kToken)), Not(HasSubstr("another-token"))));
}

}  // namespace
}  // namespace railgauge::control
