#include "bench/thread_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

/// The second of the three numbers of schedstat (Documentation/scheduler/sched-stats): time spent waiting on a run queue,
/// in ns. A kernel that does not count prints three zeros, also for the time slices of the thread that asks.
std::optional<std::chrono::nanoseconds> queued_now() noexcept {
  UniqueFd fd(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  std::array<char, 96> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  char* end = text.data();
  std::strtoull(end, &end, 10);
  const auto queued = static_cast<std::int64_t>(std::strtoull(end, &end, 10));
  if (std::strtoull(end, nullptr, 10) == 0) return std::nullopt;
  return std::chrono::nanoseconds(queued);
}

}  // namespace

int ThreadWatch::bind(std::optional<int> cpu) noexcept {
  if (!cpu) return 0;
  if (*cpu < 0 || *cpu >= CPU_SETSIZE) return EINVAL;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(*cpu), &set);
  const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
  if (error == 0) cpu_ = cpu;
  return error;
}

void ThreadWatch::begin() noexcept {
  queued_at_begin_ = queued_now();
  begin_at_ = Clock::now();
  at_begin_ = usage_now();
}

void ThreadWatch::end() noexcept {
  usage_ = usage_now();
  usage_.cpu = cpu_;
  usage_.elapsed = Clock::now() - begin_at_;
  if (const auto now = queued_now(); now && queued_at_begin_) queued_ = *now - *queued_at_begin_;
  usage_.user -= at_begin_.user;
  usage_.system -= at_begin_.system;
  usage_.voluntary_switches -= at_begin_.voluntary_switches;
  usage_.involuntary_switches -= at_begin_.involuntary_switches;
}

results::ThreadUsage ThreadWatch::usage() const {
  auto usage = usage_;
  if (queued_) usage.run_queue_wait.value = *queued_;
  else usage.run_queue_wait.reason = "/proc/thread-self/schedstat does not say";
  return usage;
}

double ThreadWatch::queue_share() const noexcept {
  if (usage_.elapsed.count() <= 0 || !queued_) return 0;
  return static_cast<double>(queued_->count()) / static_cast<double>(usage_.elapsed.count());
}

double ThreadWatch::cpu_share() const noexcept {
  if (usage_.elapsed.count() <= 0) return 0;
  return static_cast<double>((usage_.user + usage_.system).count()) / static_cast<double>(usage_.elapsed.count());
}

}  // namespace railgauge::bench
