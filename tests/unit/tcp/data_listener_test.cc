#include "tcp/data_listener.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"

namespace railgauge::tcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Nonce nonce_of(std::uint8_t first) {
  Nonce nonce{};
  for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::uint8_t>(first + 11 * i);
  return nonce;
}

TEST(DataHello, ComesBackAsItWent) {
  const StreamName name{StreamRole::to_client, 70000};
  EXPECT_EQ(decode_hello(encode_hello(nonce_of(5), name), nonce_of(5)), name);
}

TEST(DataHello, RefusesEveryOneBitChangeButInTheIndex) {
  const auto good = encode_hello(nonce_of(5), {StreamRole::to_server, 0});
  for (std::size_t byte = 0; byte < 24; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      auto hello = good;
      hello[byte] ^= static_cast<std::byte>(1 << bit);
      const auto name = decode_hello(hello, nonce_of(5));
      // Role 1 becomes 3 by one bit: another legal role, for which the listener then has no seat.
      if (byte == 7 && bit == 1) EXPECT_EQ(name->role, StreamRole::round_trip);
      else EXPECT_FALSE(name) << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(DataHello, MakesAnotherNonceEachTime) { EXPECT_NE(random_nonce(), random_nonce()); }

struct Server {
  DataListener listener{endpoint_from("127.0.0.1", 0), {}};
  std::vector<StreamName> wanted{{StreamRole::round_trip, 0}, {StreamRole::to_server, 3}};
  UniqueFd open() { return connect_to(endpoint_from("127.0.0.1", listener.port()), {}, {}, Deadline::after(seconds(5))); }
  UniqueFd open(const Nonce& nonce, StreamName name) {
    auto fd = open();
    const auto hello = encode_hello(nonce, name);
    send_all(fd.get(), hello.data(), hello.size(), Deadline::after(seconds(5)), "hello");
    return fd;
  }
};

bool taken(int fd) {
  std::byte answer{};
  try {
    receive_all(fd, &answer, 1, Deadline::after(seconds(5)), "answer");
  } catch (const Error&) {
    return false;
  }
  return answer == kHelloTaken;
}

TEST(DataListener, SeatsTheStreamsInTheOrderWanted) {
  Server server;
  const auto second = server.open(server.listener.nonce(), {StreamRole::to_server, 3});
  const auto first = server.open(server.listener.nonce(), {StreamRole::round_trip, 0});
  const auto seats = server.listener.accept_all(server.wanted, Deadline::after(seconds(5)));
  ASSERT_EQ(seats.size(), 2U);
  EXPECT_EQ(peer_endpoint(seats[0].fd.get()).text(), local_endpoint(first.get()).text());
  EXPECT_EQ(peer_endpoint(seats[1].fd.get()).text(), local_endpoint(second.get()).text());
  EXPECT_TRUE(taken(first.get()));
  EXPECT_TRUE(taken(second.get()));
}

TEST(DataListener, TurnsStrangersAwayAndServesTheOthers) {
  Server server;
  const auto silent = server.open();
  const auto wrong = server.open(nonce_of(77), {StreamRole::round_trip, 0});
  const auto no_seat = server.open(server.listener.nonce(), {StreamRole::to_server, 4});
  const auto first = server.open(server.listener.nonce(), {StreamRole::round_trip, 0});
  std::vector<AcceptedStream> seats;
  std::thread accepting([&] { seats = server.listener.accept_all(server.wanted, Deadline::after(seconds(5))); });
  EXPECT_FALSE(taken(wrong.get()));
  EXPECT_FALSE(taken(no_seat.get()));
  EXPECT_TRUE(taken(first.get()));
  const auto again = server.open(server.listener.nonce(), {StreamRole::round_trip, 0});
  EXPECT_FALSE(taken(again.get()));
  const auto second = server.open(server.listener.nonce(), {StreamRole::to_server, 3});
  accepting.join();
  EXPECT_EQ(seats.size(), 2U);
  EXPECT_EQ(server.listener.strangers().wrong_hello, 3U);
}

TEST(DataListener, SaysHowManyCameWhenTimeIsUp) {
  Server server;
  const auto silent = server.open();
  const auto first = server.open(server.listener.nonce(), {StreamRole::round_trip, 0});
  try {
    server.listener.accept_all(server.wanted, Deadline::after(milliseconds(60)));
    FAIL() << "one stream never came";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timeout);
    EXPECT_NE(std::string(error.what()).find("1 of 2"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("1 silent"), std::string::npos) << error.what();
  }
}

TEST(DataListener, EndsAtOnceWhenCalledOff) {
  Server server;
  const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
  const auto first = server.open(server.listener.nonce(), {StreamRole::round_trip, 0});
  std::thread peer([&] {
    std::this_thread::sleep_for(milliseconds(30));
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(cancel.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  });
  const auto begin = Clock::now();
  try {
    server.listener.accept_all(server.wanted, Deadline::after(seconds(20)), cancel.get());
    ADD_FAILURE() << "one stream never came";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::peer);
    EXPECT_NE(std::string(error.what()).find("1 of 2"), std::string::npos) << error.what();
  }
  EXPECT_LT(Clock::now() - begin, seconds(10));
  peer.join();
}

}  // namespace
}  // namespace railgauge::tcp
