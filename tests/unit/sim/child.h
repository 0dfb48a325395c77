/// Two processes that talk through a socket pair. Fork before a device is opened.
#pragma once
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "unit/sim/pair.h"

namespace simtest {

/// A child process that runs `body` with its end of a socket and reports by its exit status.
class Child {
 public:
  explicit Child(const std::function<bool(int)>& body) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid = fork();
    if (pid == 0) {
      close(ends[0]);
      alarm(30);
      _exit(body(ends[1]) && !testing::Test::HasFailure() ? 0 : 1);
    }
    close(ends[1]);
    socket = ends[0];
  }
  ~Child() { close(socket); }
  bool succeeded() {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  pid_t pid = -1;
  int socket = -1;
};

template <class T>
bool give(int socket, const T& value) {
  return write(socket, &value, sizeof value) == sizeof value;
}
template <class T>
T take(int socket) {
  T value{};
  EXPECT_EQ(read(socket, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  return value;
}

/// Swaps addresses and connects; `receives` buffers are posted before the peer may send.
inline Address meet(Endpoint& e, int socket, int receives = 0) {
  give(socket, e.address());
  const auto peer = take<Address>(socket);
  e.connect(peer.qpn);
  for (int i = 0; i < receives; ++i) EXPECT_EQ(e.post_receive(4096, 5, 4096), 0);
  give(socket, 'r');
  take<char>(socket);
  return peer;
}

}  // namespace simtest
