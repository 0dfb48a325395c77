/// Locks of the stand-in device: one inside a process, one between processes.
#pragma once
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "proc.h"

namespace railgauge::simverbs {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// After so many looks at a lock (some 20 us) the CPU is given away: on few cores the holder may be waiting for it.
inline constexpr unsigned kLooksBeforeNap = 1024;

/// Sleeps some 20 us. Not sched_yield, after which Linux 6.18 keeps a thread waiting for milliseconds beside other load.
inline void nap() noexcept {
  const std::timespec time{.tv_sec = 0, .tv_nsec = 20'000};
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

/// A spin lock of one process.
class Spinlock {
 public:
  void lock() noexcept {
    for (unsigned tries = 0; taken_.exchange(true, std::memory_order_acquire);) {
      while (taken_.load(std::memory_order_relaxed)) {
        if (++tries % kLooksBeforeNap == 0) nap();
        cpu_relax();
      }
    }
  }
  bool try_lock() noexcept {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// The process's own id, kept: getpid() is a system call and would be paid for every message. A forked child renews it.
inline std::atomic<std::uint32_t>& own_pid_cell() noexcept {
  static std::atomic<std::uint32_t> pid{static_cast<std::uint32_t>(getpid())};
  return pid;
}
inline std::uint32_t own_pid() noexcept { return own_pid_cell().load(std::memory_order_relaxed); }

/// A spin lock in shared memory. It names its holder, so that a lock left behind by a killed process can be taken over.
class SharedLock {
 public:
  void lock() noexcept {
    std::uint32_t expected = 0;
    while (!holder_.compare_exchange_weak(expected, own_pid(), std::memory_order_acquire)) {
      wait(expected);
      expected = 0;
    }
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  void wait(std::uint32_t holder) noexcept {
    for (unsigned tries = 1; holder != 0 && holder_.load(std::memory_order_relaxed) == holder; ++tries) {
      cpu_relax();
      if (tries % kLooksBeforeNap == 0) nap();
      if (tries % 4096 == 0 && process_start_time(holder) == 0) {
        holder_.compare_exchange_strong(holder, 0);
      }
    }
  }
  std::atomic<std::uint32_t> holder_;
};

/// Holds a lock of either kind for a scope.
template <class Lock>
class Guard {
 public:
  explicit Guard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~Guard() { lock_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace railgauge::simverbs
