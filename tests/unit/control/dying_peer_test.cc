// A relay between a real client and a real server lets a given number of bytes of one direction through and then dies, or
// falls silent: so each side meets a peer that dies at every byte of every step of the protocol.
#include <netinet/in.h>
#include <poll.h>

#include <future>

#include "control/acceptor.h"
#include "control/connect.h"
#include "control/messages.h"
#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;

enum class Towards { server, client };
enum class Ending { closes, falls_silent };
struct Death {
  Towards towards = Towards::server;  ///< the direction that is counted
  std::size_t after_bytes = 0;
  Ending ending = Ending::closes;
};

UniqueFd tcp_socket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Relays one connection to `server_port` in a thread of its own.
class Relay {
 public:
  Relay(std::uint16_t server_port, Death death) : death_(death) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_.get(), 1) != 0) throw system_error("listen", errno);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    address = loopback(server_port);
    if (::connect(server_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw system_error("connect", errno);
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  std::size_t passed(Towards towards) const { return towards == Towards::server ? to_server_ : to_client_; }

 private:
  void run() {
    client_.reset(::accept(listener_.get(), nullptr, nullptr));
    while (client_ && !stop_ && !dead()) {
      std::array<pollfd, 2> fds{{{client_.get(), POLLIN, 0}, {server_.get(), POLLIN, 0}}};
      if (::poll(fds.data(), fds.size(), 5) <= 0) continue;
      if (fds[0].revents != 0 && !pass(client_.get(), server_.get(), to_server_, Towards::server)) break;
      if (fds[1].revents != 0 && !pass(server_.get(), client_.get(), to_client_, Towards::client)) break;
    }
    if (death_.ending == Ending::falls_silent && dead()) {
      while (!stop_) std::this_thread::sleep_for(milliseconds(1));
    }
    client_.reset();
    server_.reset();
  }
  bool dead() const { return passed(death_.towards) >= death_.after_bytes; }
  bool pass(int from, int to, std::atomic<std::size_t>& count, Towards towards) {
    std::array<char, 512> room{};
    std::size_t most = towards == death_.towards ? std::min(room.size(), death_.after_bytes - count) : room.size();
    ssize_t n = ::recv(from, room.data(), most, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    count += static_cast<std::size_t>(n);
    return ::send(to, room.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) == n;
  }

  Death death_;
  UniqueFd listener_ = tcp_socket();
  UniqueFd server_ = tcp_socket();
  UniqueFd client_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> to_server_{0};
  std::atomic<std::size_t> to_client_{0};
  std::thread thread_;
};

/// The conversation of one measurement, both sides; returns what ended it ("" when it went to its end).
std::string client_side(std::uint16_t port, Clock::duration limit) {
  try {
    Deadline deadline = Deadline::after(limit);
    Channel channel = connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, deadline);
    channel.send(MessageType::facts, R"({"host":"a"})", deadline);
    channel.expect(MessageType::facts, deadline);
    channel.send(MessageType::prepare, R"({"qps":3})", deadline);
    offer_from_json(channel.expect(MessageType::prepared, deadline));
    channel.send(MessageType::connect, offer_to_json({}), deadline);
    channel.expect(MessageType::connected, deadline);
    channel.send(MessageType::start, {}, deadline);
    channel.send(MessageType::done, {}, deadline);
    channel.expect(MessageType::result, deadline);
    channel.send(MessageType::bye, {}, deadline);
    return "";
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::peer || error.kind() == ErrorKind::timeout) << error.what();
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:"), std::string::npos) << error.what();
    return error.what();
  }
}

void serve_one(Channel& channel, Clock::duration limit) {
  Deadline deadline = Deadline::after(limit);
  channel.expect(MessageType::facts, deadline);
  channel.send(MessageType::facts, R"({"host":"b"})", deadline);
  channel.expect(MessageType::prepare, deadline);
  channel.send(MessageType::prepared, offer_to_json({}), deadline);
  channel.expect(MessageType::connect, deadline);
  channel.send(MessageType::connected, {}, deadline);
  channel.expect(MessageType::start, deadline);
  channel.expect(MessageType::done, deadline);
  channel.send(MessageType::result, R"({"bytes":7})", deadline);
  channel.expect(MessageType::bye, deadline);
}

/// A server that serves one client after another until it is told to stop.
class Server {
 public:
  explicit Server(Clock::duration limit) : acceptor_({.bind = "127.0.0.1", .port = 0, .token = kToken}), limit_(limit), thread_([this] { run(); }) {}
  ~Server() {
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.port(); }

 private:
  void run() {
    while (!stop_) {
      auto channel = acceptor_.next(Deadline::after(milliseconds(2)));
      if (!channel) continue;
      try {
        serve_one(*channel, limit_);
      } catch (const Error& error) {
        EXPECT_TRUE(error.kind() == ErrorKind::peer || error.kind() == ErrorKind::timeout) << error.what();
      }
      channel.reset();
      acceptor_.set_idle();
    }
  }
  Acceptor acceptor_;
  Clock::duration limit_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::size_t bytes_of_whole_conversation(Server& server, Towards towards) {
  Relay relay(server.port(), {towards, SIZE_MAX});
  EXPECT_EQ(client_side(relay.port(), seconds(20)), "");
  std::this_thread::sleep_for(milliseconds(20));  // the last frame may still be on its way
  return relay.passed(towards);
}

/// A client that arrives while the server still finds out that the last one died is told busy: it tries again.
bool is_busy(const std::string& ended) { return ended.find(" is busy with ") != std::string::npos; }

std::string good_client(Server& server) {
  std::string ended;
  (void)soon_true([&] { return !is_busy(ended = client_side(server.port(), seconds(20))); });
  return ended;
}

std::string through_dying_relay(Server& server, Death death) {
  std::string ended;
  (void)soon_true([&] {
    Relay relay(server.port(), death);
    return !is_busy(ended = client_side(relay.port(), seconds(20)));
  });
  return ended;
}

class DyingPeer : public ::testing::TestWithParam<Towards> {};

TEST_P(DyingPeer, AtEveryByteEndsThatConversationOnly) {
  Server server(seconds(20));
  std::size_t all = bytes_of_whole_conversation(server, GetParam());
  ASSERT_GT(all, kHelloBytes + kProofBytes + 4 * (kFrameHeaderBytes + kMacBytes));
  // Every byte of the handshake and the first frame; then every third, which meets header, body and seal of each frame.
  for (std::size_t bytes = 0; bytes < all; bytes += bytes < kHelloBytes + kProofBytes + 80 ? 1 : 3) {
    auto begin = Clock::now();
    std::string ended = through_dying_relay(server, {GetParam(), bytes, Ending::closes});
    // The client's last word is bye: it need not learn that this was lost.
    bool lost_last_word = GetParam() == Towards::server && bytes >= all - (kFrameHeaderBytes + kMacBytes);
    EXPECT_TRUE(lost_last_word || !ended.empty()) << "died after " << bytes << " of " << all;
    EXPECT_LT(Clock::now() - begin, seconds(10));
  }
  EXPECT_EQ(good_client(server), "");
}

TEST_P(DyingPeer, FallingSilentAtAnyStepEndsAtTheDeadline) {
  Server server(milliseconds(60));
  Server measure(seconds(20));
  std::size_t all = bytes_of_whole_conversation(measure, GetParam());
  // A prime step visits the beginning, middle and end of headers, bodies and seals.
  for (std::size_t bytes = 0; bytes + kFrameHeaderBytes + kMacBytes < all; bytes += 23) {
    Relay relay(server.port(), {GetParam(), bytes, Ending::falls_silent});
    auto begin = Clock::now();
    EXPECT_NE(client_side(relay.port(), milliseconds(60)), "") << "silent after " << bytes << " of " << all;
    EXPECT_LT(Clock::now() - begin, seconds(10));
  }
  Server patient(seconds(20));
  EXPECT_EQ(good_client(patient), "");
}

INSTANTIATE_TEST_SUITE_P(BothDirections, DyingPeer, ::testing::Values(Towards::server, Towards::client),
                         [](const auto& instance) { return instance.param == Towards::server ? "ClientBytes" : "ServerBytes"; });

}  // namespace
}  // namespace railgauge::control
