// Acceptor and connect_client over real sockets: what a client says that finds no server, and where a server listens.
#include <netinet/in.h>

#include <future>

#include "control/acceptor.h"
#include "control/connect.h"
#include "control/heartbeat.h"
#include "control/resolve.h"
#include "doors.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(open.addresses(), ::testing::Each(::testing::AnyOf(::testing::StartsWith("127.0.0.1:"), ::testing::StartsWith("[::1]:"))));
  Acceptor with_token({.port = 0, .token = kToken});
  EXPECT_THAT(with_token.addresses(), Not(::testing::Contains(HasSubstr("127.0.0.1"))));
  Acceptor asked({.bind = "localhost", .port = 0, .token = kToken});
  EXPECT_THAT(asked.addresses(), ::testing::Each(::testing::AnyOf(::testing::StartsWith("127.0.0.1:"), ::testing::StartsWith("[::1]:"))));
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
