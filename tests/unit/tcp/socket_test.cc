#include "tcp/socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"
#include "tcp/tcp_info.h"
#include "tcp/tcp_stream.h"

namespace railgauge::tcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline soon() { return Deadline::after(seconds(5)); }

struct Connected {
  UniqueFd client;
  UniqueFd server;
};

Connected connect_pair(const SocketSettings& settings, const std::string& address = "127.0.0.1") {
  const auto listener = listen_on(endpoint_from(address, 0), settings);
  Connected pair;
  pair.client = connect_to(local_endpoint(listener.get()), endpoint_from(address, 0), settings, soon());
  pair.server.reset(::accept(listener.get(), nullptr, nullptr));
  apply_connected(pair.client.get(), settings);
  apply_connected(pair.server.get(), settings);
  return pair;
}

std::string message_of(const SocketSettings& settings) {
  try {
    const auto pair = connect_pair(settings);
    read_back(pair.client.get(), settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Endpoint, ShowsBothFamilies) {
  EXPECT_EQ(endpoint_from("192.0.2.7", 18515).text(), "192.0.2.7:18515");
  EXPECT_EQ(endpoint_from("2001:db8::1", 443).text(), "[2001:db8::1]:443");
  EXPECT_EQ(endpoint_from("2001:db8::1", 443).port(), 443);
}

TEST(Endpoint, LooksUpNoNames) { EXPECT_THROW(endpoint_from("localhost", 1), Error); }

TEST(Socket, ConnectsOverIpv6) {
  const auto pair = connect_pair({}, "::1");
  EXPECT_EQ(local_endpoint(pair.client.get()).text(), peer_endpoint(pair.server.get()).text());
}

TEST(Socket, NamesThePeerThatRefuses) {
  Endpoint closed;
  {
    const auto listener = listen_on(endpoint_from("127.0.0.1", 0), {});
    closed = local_endpoint(listener.get());
  }
  try {
    connect_to(closed, {}, {}, soon());
    FAIL() << "connected to a closed port";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::peer);
    EXPECT_NE(std::string(error.what()).find(closed.text()), std::string::npos) << error.what();
  }
}

TEST(Socket, GivesUpReadingAtTheDeadline) {
  const auto pair = connect_pair({});
  char byte = 0;
  const auto begin = Clock::now();
  EXPECT_THROW(receive_all(pair.client.get(), &byte, 1, Deadline::after(milliseconds(40)), "an answer"), Error);
  EXPECT_GE(Clock::now() - begin, milliseconds(40));
}

TEST(Socket, StopsReadingWhenCalledOff) {
  const auto pair = connect_pair({});
  const auto wake = connect_pair({});
  ASSERT_EQ(::send(wake.server.get(), "x", 1, 0), 1);
  char byte = 0;
  const auto begin = Clock::now();
  try {
    receive_all(pair.client.get(), &byte, 1, Deadline::after(seconds(20)), "an answer", wake.client.get());
    FAIL() << "nobody sent anything";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ECANCELED);
  }
  EXPECT_LT(Clock::now() - begin, seconds(10));
}

TEST(Settings, TakesAndShowsTheCongestionControl) {
  // reno is always built in (net/ipv4/Kconfig).
  const auto pair = connect_pair({.congestion = "reno", .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}});
  EXPECT_EQ(read_back(pair.client.get(), {}).settings.at("congestion"), "reno");
  EXPECT_EQ(read_back(pair.server.get(), {}).settings.at("congestion"), "reno");
}

TEST(Settings, RefusesAnUnknownCongestionControlWithTheWayOut) {
  const auto text = message_of({.congestion = "nonesuch", .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}});
  for (const char* part : {"TCP_CONGESTION", "nonesuch", "reno", "net.ipv4.tcp_available_congestion_control", "modprobe tcp_nonesuch"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(Settings, ComparesCongestionControlOnReadingBack) {
  const auto pair = connect_pair({.congestion = "reno", .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}});
  EXPECT_THROW(read_back(pair.client.get(), {.congestion = "cubic", .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}}), Error);
}

TEST(Settings, AcceptsAnMssLessTheTimestampOption) {
  const SocketSettings settings{.congestion = {}, .mss_bytes = 1000, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}};
  const auto pair = connect_pair(settings);
  const int found = read_back(pair.client.get(), settings).mss_bytes;
  EXPECT_TRUE(found == 1000 || found == 988) << found;  // RFC 7323: 10 bytes, padded to 12
}

TEST(Settings, NoticesAnMssThatThePeerCutsShort) {
  const auto listener = listen_on(endpoint_from("127.0.0.1", 0), {.congestion = {}, .mss_bytes = 600, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}});
  const SocketSettings wanted{.congestion = {}, .mss_bytes = 1400, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = {}};
  const auto client = connect_to(local_endpoint(listener.get()), {}, wanted, soon());
  EXPECT_THROW(read_back(client.get(), wanted), Error);
}

TEST(Settings, ComparesTheDoubledBufferRightly) {
  const SocketSettings settings{.congestion = {}, .mss_bytes = {}, .window_bytes = 65536, .pacing_bytes_per_s = {}, .interface = {}};
  const auto pair = connect_pair(settings);
  const auto found = read_back(pair.client.get(), settings).settings;
  EXPECT_EQ(found.at("sndbuf_bytes"), "131072");
  EXPECT_EQ(found.at("rcvbuf_bytes"), "131072");
  EXPECT_EQ(found.at("buffers"), "fixed");
}

TEST(Settings, NamesTheSysctlThatLimitsABuffer) {
  const auto text = message_of({.congestion = {}, .mss_bytes = {}, .window_bytes = 1000000000, .pacing_bytes_per_s = {}, .interface = {}});
  EXPECT_NE(text.find("net.core.wmem_max"), std::string::npos) << text;
}

TEST(Settings, HoldsAPacingRateBeyond32Bits) {
  const SocketSettings settings{.congestion = {}, .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = 5'000'000'000ULL, .interface = {}};
  const auto pair = connect_pair(settings);
  EXPECT_EQ(read_back(pair.client.get(), settings).settings.at("pacing_bytes_per_s"), "5000000000");
}

TEST(Settings, BindsBothEndsToAnInterface) {
  const SocketSettings settings{.congestion = {}, .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = "lo"};
  const auto pair = connect_pair(settings);
  EXPECT_EQ(read_back(pair.client.get(), settings).settings.at("interface"), "lo");
  EXPECT_EQ(read_back(pair.server.get(), settings).settings.at("interface"), "lo");
}

TEST(Settings, NamesAnInterfaceThatIsNotThere) {
  const auto text = message_of({.congestion = {}, .mss_bytes = {}, .window_bytes = {}, .pacing_bytes_per_s = {}, .interface = "nosuchif9"});
  EXPECT_NE(text.find("nosuchif9"), std::string::npos) << text;
}

TEST(TcpStream, ReturnsMinusEagainFromABlockingWaitWithinItsLimit) {
  auto pair = connect_pair({});
  limit_blocking(pair.client.get(), milliseconds(20));
  TcpStream stream(std::move(pair.client), Blocking::yes);
  std::byte room{};
  EXPECT_EQ(stream.receive_some({&room, 1}), -EAGAIN);
}

TEST(TcpStream, TellsTheEndFromAReset) {
  auto pair = connect_pair({});
  TcpStream client(std::move(pair.client), Blocking::yes);
  TcpStream server(std::move(pair.server), Blocking::yes);
  const std::array<std::byte, 37> data{};
  ASSERT_EQ(client.send_some(data), 37);
  ASSERT_EQ(::shutdown(client.descriptor(), SHUT_WR), 0);
  std::array<std::byte, 64> room{};
  EXPECT_EQ(server.receive_some(room), 37);
  EXPECT_EQ(server.receive_some(room), 0);
}

TEST(TcpStream, EndsTheSenderWhenTheReceiverClosesWithDataUnread) {
  auto pair = connect_pair({});
  limit_blocking(pair.client.get(), milliseconds(500));
  TcpStream client(std::move(pair.client), Blocking::yes);
  TcpStream server(std::move(pair.server), Blocking::no);
  const std::vector<std::byte> data(100000);
  ASSERT_GT(client.send_some(data), 0);
  server.shut_down();
  server.close();
  ssize_t n = 1;
  for (int i = 0; i < 100 && n > 0; ++i) n = client.send_some(data);
  EXPECT_TRUE(n == -EPIPE || n == -ECONNRESET) << n;
}

TEST(TcpStream, CountsZeroCopySendsAndThatLoopbackCopiesThem) {
  SocketSettings settings;
  settings.zerocopy = true;
  auto pair = connect_pair(settings);
  ASSERT_EQ(read_back(pair.client.get(), settings).settings.at("zerocopy"), "true");
  TcpStream client(std::move(pair.client), Blocking::yes, true);
  TcpStream server(std::move(pair.server), Blocking::yes);
  const std::vector<std::byte> data(50000, std::byte{9});
  std::vector<std::byte> room(50000);
  for (int i = 0; i < 3; ++i) {
    std::size_t got = 0;
    ASSERT_EQ(client.send_some(data), 50000);
    while (got < data.size()) got += static_cast<std::size_t>(server.receive_some(room));
  }
  for (int i = 0; i < 200 && client.zerocopy().completions < 3; ++i) {
    client.collect_completions();
    ::usleep(1000);
  }
  EXPECT_EQ(client.zerocopy_sends(), 3U);
  EXPECT_EQ(client.zerocopy().completions, 3U);
  EXPECT_EQ(client.zerocopy().copied, 3U);  // kernel commit f214f915: payload looped to a local destination is copied
}

TEST(PollReadiness, WakesWhenDataComes) {
  auto pair = connect_pair({});
  TcpStream client(std::move(pair.client), Blocking::no);
  TcpStream server(std::move(pair.server), Blocking::no);
  PollReadiness readiness({&server}, PollReadiness::For::receiving);
  const auto begin = Clock::now();
  readiness.wait(milliseconds(30));
  EXPECT_GE(Clock::now() - begin, milliseconds(25));
  const std::byte one{1};
  ASSERT_EQ(client.send_some({&one, 1}), 1);
  readiness.wait(seconds(5));
  EXPECT_LT(Clock::now() - begin, seconds(4));
}

TEST(TcpInfoOfASocket, CountsTheBytesThatWereAcknowledged) {
  auto pair = connect_pair({});
  const std::vector<char> data(12345);
  send_all(pair.client.get(), data.data(), data.size(), soon(), "data");
  std::vector<char> room(12345);
  receive_all(pair.server.get(), room.data(), room.size(), soon(), "data");
  const auto info = read_tcp_info(pair.server.get());
  ASSERT_TRUE(info);
  EXPECT_EQ(field(*info, "bytes_received"), 12345U);
  EXPECT_EQ(field(*info, "state"), 1U);  // TCP_ESTABLISHED
}

}  // namespace
}  // namespace railgauge::tcp
