#include "bench/tcp_thread_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/fd.h"

namespace railgauge::bench {
namespace {

std::chrono::nanoseconds to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

results::ThreadUsage usage_now() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  results::ThreadUsage now;
  now.user = to_duration(usage.ru_utime);
  now.system = to_duration(usage.ru_stime);
  now.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  now.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  return now;
}

/// The second number of schedstat (Documentation/scheduler/sched-stats): time spent waiting on a run queue, in ns.
std::chrono::nanoseconds queued_now() noexcept {
  UniqueFd fd(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  std::array<char, 96> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return {};
  char* end = text.data();
  std::strtoull(end, &end, 10);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::strtoull(end, nullptr, 10)));
}

}  // namespace

bool ThreadWatch::bind(int cpu) noexcept {
  if (cpu < 0) return true;
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) != 0) return false;
  cpu_ = cpu;
  return true;
}

void ThreadWatch::begin() noexcept {
  queued_ = queued_now();
  begin_at_ = Clock::now();
  at_begin_ = usage_now();
}

void ThreadWatch::end() noexcept {
  usage_ = usage_now();
  usage_.cpu = cpu_;
  usage_.elapsed = Clock::now() - begin_at_;
  queued_ = queued_now() - queued_;
  usage_.user -= at_begin_.user;
  usage_.system -= at_begin_.system;
  usage_.voluntary_switches -= at_begin_.voluntary_switches;
  usage_.involuntary_switches -= at_begin_.involuntary_switches;
}

double ThreadWatch::queue_share() const noexcept {
  if (usage_.elapsed.count() <= 0) return 0;
  return static_cast<double>(queued_.count()) / static_cast<double>(usage_.elapsed.count());
}

double ThreadWatch::cpu_share() const noexcept {
  if (usage_.elapsed.count() <= 0) return 0;
  return static_cast<double>((usage_.user + usage_.system).count()) / static_cast<double>(usage_.elapsed.count());
}

}  // namespace railgauge::bench
