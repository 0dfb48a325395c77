#include "bench/signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace railgauge::bench {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<bool> requested{false};
std::atomic<int> wake_fd{-1};

void handle(int signal_number) {
  if (requested.exchange(true)) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
    return;
  }
  int saved = errno;
  std::uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(wake_fd.load(), &one, sizeof one);
  errno = saved;
}

}  // namespace

void install_signal_handlers() {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw system_error("eventfd", errno);
  wake_fd.store(fd);
  struct sigaction action {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed terminal or a lost ssh session: the record matters all the same. What nohup ignores stays ignored.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested() noexcept { return requested.load(std::memory_order_relaxed); }
int stop_fd() noexcept { return wake_fd.load(std::memory_order_relaxed); }

}  // namespace railgauge::bench
