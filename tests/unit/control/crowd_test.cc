// Many connects at once: RAILGAUGE_TEST_CONNECTS of them (2000 by default, 10000 under the label slow).
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <deque>
#include <future>

#include "control/acceptor.h"
#include "control/connect.h"
#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;

int connects_wanted() {
  const char* text = std::getenv("RAILGAUGE_TEST_CONNECTS");
  return text == nullptr ? 2000 : std::atoi(text);
}

UniqueFd start_connect(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return fd;
}

/// True if a client gets through; one that a flood crowds out may try again, as a user would.
bool gets_through(std::uint16_t port) {
  for (Deadline deadline = soon(); !deadline.passed();) {
    try {
      (void)connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, Deadline::after(seconds(5)));
      return true;
    } catch (const Error&) {
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
  return false;
}

TEST(Crowd, ServerOutlivesManyConnects) {
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken});
  auto begin = Clock::now();
  // Some say nothing, some talk nonsense; 200 are held open at a time, so that this process needs no more descriptors.
  std::deque<UniqueFd> held;
  int wanted = connects_wanted();
  for (int i = 0; i < wanted; ++i) {
    held.push_back(start_connect(server.port()));
    if (i % 3 == 0) (void)::send(held.back().get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    if (held.size() > 200) held.pop_front();
  }
  EXPECT_TRUE(gets_through(server.port()));
  held.clear();
  EXPECT_LT(Clock::now() - begin, seconds(60));
  EXPECT_GT(server.counts().accepted, static_cast<std::uint64_t>(wanted) / 4);
}

/// With hardly any descriptors: the parent connects many times, the child must still serve a good client.
void serve_with_few_descriptors(int port_pipe) {
  rlimit limit{24, 24};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken});
  std::uint16_t port = server.port();
  if (::write(port_pipe, &port, sizeof port) != static_cast<ssize_t>(sizeof port)) ::_exit(1);
  ::_exit(server.next(soon()) ? 0 : 2);
}

TEST(Crowd, RunningOutOfDescriptorsIsSurvived) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  pid_t child = ::fork();
  if (child == 0) serve_with_few_descriptors(ends[1]);
  std::uint16_t port = 0;
  ASSERT_EQ(::read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 150; ++i) silent.push_back(start_connect(port));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(gets_through(port));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(ends[0]);
  ::close(ends[1]);
}

/// Other descriptors of the program may be the ones that are used up: then there is no half-open peer to drop.
TEST(Crowd, NoDescriptorLeftAndNobodyToDropIsSurvived) {
  Acceptor server({.bind = "127.0.0.1", .port = 0, .token = kToken});
  std::uint16_t port = server.port();
  pid_t child = ::fork();  // the client needs descriptors of its own
  if (child == 0) {
    UniqueFd early = start_connect(port);
    std::this_thread::sleep_for(milliseconds(150));
    ::_exit(gets_through(port) ? 0 : 1);
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit limit{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<UniqueFd> used;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) used.emplace_back(fd);
  std::this_thread::sleep_for(milliseconds(300));
  used.clear();
  EXPECT_TRUE(server.next(soon()));
  ::setrlimit(RLIMIT_NOFILE, &before);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace railgauge::control
