#include "control/acceptor.h"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "control/door.h"
#include "control/heartbeat.h"
#include "control/messages.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

// Room for one small frame is there on a fresh socket; nobody is waited for.
const Clock::duration kAtOnce = std::chrono::milliseconds(50);

}  // namespace

class Acceptor::Impl {
 public:
  explicit Impl(const AcceptorOptions& options)
      : door_(options, open_listeners(options), [this](Channel channel) { receive(std::move(channel)); }), thread_([this] { run(); }) {}
  ~Impl() {
    stop_.set();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Listeners& listeners() const noexcept { return door_.listeners(); }

  std::optional<Channel> next(Deadline deadline, std::span<const int> wake_fds) {
    std::vector<pollfd> fds{{ready_.fd(), POLLIN, 0}};
    for (int fd : wake_fds) fds.push_back({fd, POLLIN, 0});
    (void)poll_until(fds, deadline);
    std::lock_guard lock(mutex_);
    ready_.clear();
    return std::exchange(waiting_, std::nullopt);
  }

  void set_busy(const std::string& what, Clock::time_point until) {
    std::lock_guard lock(mutex_);
    what_ = what;
    until_ = until;
  }

  void set_idle() {
    std::lock_guard lock(mutex_);
    if (waiting_) return;  // one that nobody has taken yet is the next
    taken_ = false;
    what_.clear();
  }

  AcceptorCounts counts() const {
    AcceptorCounts counts = door_.counts();
    std::lock_guard lock(mutex_);
    counts.told_busy = told_busy_;
    return counts;
  }

 private:
  void run() {
    while (!stop_.is_set()) {
      try {
        door_.round(stop_.fd());
      } catch (const std::exception& error) {
        log_error("the control listener goes on after: {}", error.what());
        // Whatever is wrong with this machine, it must not make this thread spin.
        pollfd stop{stop_.fd(), POLLIN, 0};
        (void)::poll(&stop, 1, 100);
      }
    }
  }

  /// The acceptor's thread: welcome, or busy and good-bye.
  void receive(Channel channel) {
    std::lock_guard lock(mutex_);
    if (taken_) {
      ++told_busy_;
      channel.send(MessageType::busy, to_json(Busy{busy_text()}), Deadline::after(kAtOnce));
      return;
    }
    channel.send(MessageType::welcome, {}, Deadline::after(kAtOnce));
    whom_ = channel.endpoints().peer_address;
    taken_ = true;
    waiting_ = std::move(channel);
    ready_.set();
  }

  std::string busy_text() const {
    if (what_.empty()) return fmt::format("busy with another client, {}; try again in a moment", whom_);
    return fmt::format("busy with {} for {}, {}", what_, whom_, time_left_text(until_));
  }

  WakeEvent stop_;
  WakeEvent ready_;
  mutable std::mutex mutex_;  // guards what follows up to door_
  bool taken_ = false;
  std::optional<Channel> waiting_;
  std::string whom_;
  std::string what_;
  Clock::time_point until_{};
  std::uint64_t told_busy_ = 0;
  Door door_;
  std::thread thread_;  // last: runs on all the others
};

std::string time_left_text(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(Deadline(until).remaining()).count();
  return left > 0 ? fmt::format("for about {} s more", left) : "about to end";
}

Acceptor::Acceptor(const AcceptorOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Acceptor::~Acceptor() = default;
std::uint16_t Acceptor::port() const noexcept { return impl_->listeners().port; }
const std::vector<std::string>& Acceptor::addresses() const noexcept { return impl_->listeners().addresses; }
std::optional<Channel> Acceptor::next(Deadline deadline, std::span<const int> wake_fds) { return impl_->next(deadline, wake_fds); }
void Acceptor::set_busy(const std::string& what, Clock::time_point until) { impl_->set_busy(what, until); }
void Acceptor::set_idle() { impl_->set_idle(); }
AcceptorCounts Acceptor::counts() const { return impl_->counts(); }

}  // namespace railgauge::control
