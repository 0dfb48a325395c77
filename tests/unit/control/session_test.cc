// Acceptor and connect_client over real sockets: two threads, two processes, everything a client can meet at the door.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <future>
#include <thread>

#include "control/acceptor.h"
#include "control/connect.h"
#include "control/heartbeat.h"
#include "control/messages.h"

namespace railgauge::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kToken = "k7qd-2m9x-0v4t-tests-only";

Deadline soon() { return Deadline::after(seconds(5)); }
AcceptorOptions local(const std::string& token) { return {.bind = "127.0.0.1", .port = 0, .token = token}; }
ClientOptions call(const Acceptor& server, const std::string& token) { return {.host = "127.0.0.1", .port = server.port(), .token = token}; }

/// The Error that `call` throws, as text; fails the test if it throws none.
template <typename Call>
Error thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::system, "");
}

/// The acceptor counts after it has answered: gives it a moment.
template <typename Condition>
bool soon_true(Condition condition) {
  for (Deadline deadline = soon(); !deadline.passed(); std::this_thread::sleep_for(milliseconds(1))) {
    if (condition()) return true;
  }
  return false;
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
  client.send(MessageType::prepare, R"({"label":"write bandwidth"})", soon());
  EXPECT_EQ(client.expect(MessageType::result, soon()), R"({"label":"write bandwidth"}{"label":"write bandwidth"})");
  EXPECT_EQ(client.endpoints().peer_address, "127.0.0.1");
  EXPECT_EQ(client.endpoints().peer_port, server.port());
  EXPECT_EQ(served.get().local_address, "127.0.0.1");
}

TEST(Session, WrongTokenIsSaidOnBothSides) {
  Acceptor server(local(kToken));
  Error error = thrown_by([&] { connect_client(call(server, "another-token-of-tests"), soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_THAT(error.what(), HasSubstr("does not accept this side's token"));
  EXPECT_TRUE(soon_true([&] { return server.counts().wrong_proofs == 1; }));
}

}  // namespace
}  // namespace railgauge::control
