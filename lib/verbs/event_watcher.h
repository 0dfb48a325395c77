#pragma once
#include <infiniband/verbs.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace railgauge::verbs {

/// One asynchronous event of the device.
struct AsyncEvent {
  Clock::time_point at;
  std::string text;                     ///< "PORT_ERR: port 1 went down"
  bool fatal = false;                   ///< device, QP or CQ is broken
  bool port_down = false;
};

/// Takes and acknowledges the asynchronous events of one device on a thread of its own, which sleeps otherwise: destroying
/// a QP or CQ would block on an event that nobody takes. Events of the watched port, QPs and CQs are kept. Where the
/// device has no channel for events it says so as an event.
class EventWatcher {
 public:
  /// `context` outlives it; `port` is the one in use (events of other ports are ignored). Throws Error{system}.
  EventWatcher(ibv_context* context, int port);
  ~EventWatcher();
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

  /// Set by the first fatal event.
  const std::atomic<bool>& broken() const noexcept { return broken_; }
  /// What came so far, oldest first; also that none can be seen any more. Any thread.
  std::vector<AsyncEvent> events() const;

 private:
  void watch() noexcept;
  bool take_all() noexcept;
  void give_up(const std::string& why);
  void keep(const ibv_async_event& event);

  ibv_context* context_;
  int port_;
  UniqueFd stop_;
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::vector<AsyncEvent> events_;
  std::thread thread_;
};

}  // namespace railgauge::verbs
