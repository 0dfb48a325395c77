// Acceptor and connect_client over real sockets: two threads, two processes, and what each may meet at the door.
#include <netinet/in.h>
#include <sys/wait.h>

#include <cstdlib>
#include <future>

#include "control/acceptor.h"
#include "control/connect.h"
#include "control/heartbeat.h"
#include "control/messages.h"
#include "control/resolve.h"
#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

AcceptorOptions local(const std::string& token) { return {.bind = "127.0.0.1", .port = 0, .token = token}; }
ClientOptions call(const Acceptor& server, const std::string& token) {
  return {.host = "127.0.0.1", .port = server.port(), .token = token};
}

/// A plain TCP connection to a port of this host, or to a listener of the test's own.
UniqueFd plain_connect(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw system_error("connect", errno);
  return fd;
}
struct PlainListener {
  PlainListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd.get(), 8) != 0) throw system_error("listen", errno);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;
};

/// True once the other end has closed (or reset) within the time that works have.
bool is_closed(int fd) {
  char byte = 0;
  timeval limit{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  while (true) {
    ssize_t n = ::recv(fd, &byte, 1, 0);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return true;
    if (n < 0) return false;
  }
}

/// A whole good conversation: proof that a server still serves.
void expect_serves(Acceptor& server) {
  auto served = std::async(std::launch::async, [&] {
    auto channel = server.next(soon());
    if (!channel) return;
    std::string body = channel->expect(MessageType::prepare, soon());
    channel->send(MessageType::result, body, soon());
    (void)channel->expect(MessageType::start, soon());
    server.set_idle();
  });
  Channel client = connect_client(call(server, kToken), soon());
  client.send(MessageType::prepare, R"({"qps":5})", soon());
  EXPECT_EQ(client.expect(MessageType::result, soon()), R"({"qps":5})");
  client.send(MessageType::start, {}, soon());
  served.get();
}

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
    Channel client = connect_client({.host = "127.0.0.1", .port = port, .token = kToken, .wait_for_server = true}, soon());
    client.send(MessageType::facts, R"({"host":"a"})", soon());
    return client.expect(MessageType::facts, soon()) == R"({"host":"b"})" ? 0 : 1;
  } catch (const Error&) {
    return 2;
  }
}

TEST(Session, TwoProcessesTalk) {
  PlainListener chosen;  // a free port; closed again before the server takes it, while the client already tries
  std::uint16_t port = chosen.port;
  chosen.fd.reset();
  pid_t child = ::fork();  // before this process has threads
  if (child == 0) ::_exit(client_process(port));
  std::this_thread::sleep_for(milliseconds(50));
  Acceptor server({.bind = "127.0.0.1", .port = port, .token = kToken});
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

TEST(Connect, ClosedPortSaysWhatToStart) {
  std::uint16_t port = 0;
  {
    PlainListener listener;
    port = listener.port;
  }
  Error error = thrown_by([&] { connect_client({.host = "127.0.0.1", .port = port}, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_EQ(std::string(error.what()), "nothing listens on 127.0.0.1:" + std::to_string(port) + "; start `railgauge serve` there or name its --port");
}

TEST(Connect, UnknownHostIsNamed) {
  // .invalid never resolves (RFC 6761); without any resolver the answer is a failure too.
  Error error = thrown_by([&] { connect_client({.host = "no-such-host.invalid"}, soon()); });
  EXPECT_THAT(error.what(), HasSubstr("no-such-host.invalid"));
  EXPECT_EQ(thrown_by([&] { connect_client({.host = ""}, soon()); }).kind(), ErrorKind::usage);
}

// Under the sanitizers: the look-up that nobody waits for any more touches nothing that is gone, and leaves nothing behind.
TEST(Connect, LookUpThatOutlastsItsDeadlineIsLeft) {
  for (int i = 0; i < 20; ++i) {
    Error error = thrown_by([&] { resolve("no-such-host.invalid", 18651, Deadline::after(milliseconds(0))); });
    EXPECT_TRUE(error.kind() == ErrorKind::timeout || error.kind() == ErrorKind::peer) << error.what();
  }
  std::this_thread::sleep_for(milliseconds(100));
}

TEST(Connect, ListenerThatNeverAnswersEndsAtTheDeadline) {
  PlainListener listener;  // the kernel accepts into the backlog, nobody reads: as a hung server
  Error error = thrown_by([&] { connect_client({.host = "127.0.0.1", .port = listener.port, .token = kToken}, Deadline::after(milliseconds(80))); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("accepted the connection but did not send its hello in the time allowed: is it `railgauge serve` that listens there?"));
}

TEST(Connect, FilteredPortSuggestsAFirewall) {
  // A full backlog drops SYNs, as a firewall does: no answer at all.
  PlainListener listener;
  ::listen(listener.fd.get(), 0);
  std::vector<UniqueFd> filling;
  for (int i = 0; i < 2; ++i) {
    filling.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listener.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(filling.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  Error error = thrown_by([&] { connect_client({.host = "127.0.0.1", .port = listener.port, .token = kToken}, Deadline::after(milliseconds(150))); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("no answer from 127.0.0.1:"), HasSubstr("a firewall may drop TCP port " + std::to_string(listener.port))));
}

TEST(Connect, AnotherServiceIsRecognised) {
  PlainListener listener;
  auto ssh = std::async(std::launch::async, [&] {
    UniqueFd fd(::accept(listener.fd.get(), nullptr, nullptr));
    write_all(fd.get(), "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
    (void)is_closed(fd.get());
  });
  Error error = thrown_by([&] { connect_client({.host = "localhost", .port = listener.port, .token = kToken}, soon()); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("localhost (127.0.0.1:"), HasSubstr("does not speak railgauge's control protocol"), HasSubstr("SSH-2.0")));
  ssh.get();
}

TEST(Listen, LoopbackUnlessBindOrToken) {
  Acceptor open({.port = 0});
  EXPECT_TRUE(open.loopback_only());
  EXPECT_THAT(open.addresses().front(), HasSubstr("127.0.0.1:"));
  Acceptor with_token({.port = 0, .token = kToken});
  EXPECT_FALSE(with_token.loopback_only());
  Acceptor asked({.bind = "localhost", .port = 0, .token = kToken});
  EXPECT_TRUE(asked.loopback_only());
}

TEST(Listen, OpenBeyondLoopbackMustBeAskedFor) {
  Error error = thrown_by([] { Acceptor server({.bind = "*", .port = 0}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(), HasSubstr("--open"));
  Acceptor asked({.bind = "*", .port = 0, .open = true});
  Channel client = connect_client({.host = "127.0.0.1", .port = asked.port()}, soon());
  auto channel = asked.next(soon());
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->endpoints().peer_address, "127.0.0.1");  // not ::ffff:127.0.0.1
}

TEST(Listen, BothLoopbackFamilies) {
  Acceptor server({.bind = "localhost", .port = 0, .token = kToken});
  if (server.addresses().size() < 2) GTEST_SKIP() << "this host has no IPv6 loopback";
  Channel client = connect_client({.host = "[::1]", .port = server.port(), .token = kToken}, soon());
  EXPECT_EQ(client.endpoints().peer_address, "::1");
}

TEST(Listen, PortInUseSaysHowToChooseAnother) {
  Acceptor first(local(kToken));
  Error error = thrown_by([&] { Acceptor second({.bind = "127.0.0.1", .port = first.port(), .token = kToken}); });
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("port " + std::to_string(first.port()) + " is in use"), HasSubstr("--port")));
  EXPECT_THAT(thrown_by([] { Acceptor server({.bind = "192.0.2.7", .port = 0, .token = kToken}); }).what(), HasSubstr("--bind 192.0.2.7"));
  // RFC 6761: a name below .invalid never resolves.
  EXPECT_THAT(thrown_by([] { Acceptor server({.bind = "nohost.invalid", .port = 0, .token = kToken}); }).what(), HasSubstr("--bind nohost.invalid: unknown host"));
}

TEST(Listen, NextEndsAtItsDeadlineOrWhenWoken) {
  Acceptor server(local(kToken));
  EXPECT_FALSE(server.next(Deadline::after(milliseconds(10))));
  WakeEvent event;
  event.set();
  std::array<int, 1> wake{event.fd()};
  auto begin = Clock::now();
  EXPECT_FALSE(server.next(soon(), wake));
  EXPECT_LT(Clock::now() - begin, seconds(5));
}

}  // namespace
}  // namespace railgauge::control
