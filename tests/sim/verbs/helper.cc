#include "helper.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "clock.h"
#include "counters.h"
#include "cq.h"
#include "engine.h"
#include "faults.h"

namespace railgauge::simverbs {

struct Helper {
  std::mutex mutex;
  std::condition_variable wake;
  pthread_t thread{};
  bool stop = false;
  std::uint64_t counters_at = 0;
  std::vector<SimCq*> armed;
};

namespace {

constexpr auto kTick = std::chrono::microseconds(50);  // retries and paced wake-ups are this exact

std::chrono::microseconds work(SimContext& c, Helper& h, std::unique_lock<std::mutex>& lock) {
  std::erase_if(h.armed, [](SimCq* cq) { return !fire_if_due(*cq); });
  const bool watching = !h.armed.empty();
  lock.unlock();
  const bool pending = c.deferred_count.load() != 0;
  if (pending) progress(c);
  const std::uint64_t next_fault = run_timed_faults(c);
  if (now_ns() - h.counters_at > 100'000'000) {
    write_counter_files(*c.device);
    h.counters_at = now_ns();
  }
  lock.lock();
  if (watching || pending) return kTick;
  const auto until_fault = next_fault == 0 ? 100'000u : std::min<std::uint64_t>(next_fault / 1000 + 1, 100'000u);
  return std::chrono::microseconds(until_fault);
}

void* run(void* argument) {
  auto& c = *static_cast<SimContext*>(argument);
  Helper& h = *c.helper;
  std::unique_lock lock(h.mutex);
  while (!h.stop) {
    const auto wait = work(c, h, lock);
    if (!h.stop) h.wake.wait_for(lock, wait);
  }
  return nullptr;
}

/// The program's signals are not ours to take.
Helper& started(SimContext& c) {
  const std::lock_guard guard(c.deferred_mutex);
  if (c.helper) return *c.helper;
  c.helper.reset(new Helper);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_create(&c.helper->thread, nullptr, run, &c);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return *c.helper;
}

}  // namespace

void wake_helper(SimContext& c) noexcept {
  Helper& h = started(c);
  const std::lock_guard guard(h.mutex);
  h.wake.notify_one();
}

void watch_armed_queue(SimContext& c, SimCq& cq) noexcept {
  Helper& h = started(c);
  const std::lock_guard guard(h.mutex);
  if (std::find(h.armed.begin(), h.armed.end(), &cq) == h.armed.end()) h.armed.push_back(&cq);
  h.wake.notify_one();
}

void unwatch_queue(SimContext& c, SimCq& cq) noexcept {
  if (!c.helper) return;
  const std::lock_guard guard(c.helper->mutex);
  std::erase(c.helper->armed, &cq);
}

void stop_helper(SimContext& c) noexcept {
  if (!c.helper) return;
  {
    const std::lock_guard guard(c.helper->mutex);
    c.helper->stop = true;
    c.helper->wake.notify_one();
  }
  pthread_join(c.helper->thread, nullptr);
  c.helper.reset();
}

void Deleter::operator()(Helper* helper) const noexcept { delete helper; }

}  // namespace railgauge::simverbs
