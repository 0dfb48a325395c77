#include "verbs/event_watcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "verbs/check.h"

namespace railgauge::verbs {
namespace {

struct Meaning {
  ibv_event_type type;
  const char* name;
  const char* text;
  bool fatal;
  bool of_port;
};

// Fatal: those that NCCL too treats so; the others are worth a line.
constexpr Meaning kMeanings[] = {
    {IBV_EVENT_DEVICE_FATAL, "DEVICE_FATAL", "the device failed", true, false},
    {IBV_EVENT_QP_FATAL, "QP_FATAL", "a queue pair failed", true, false},
    {IBV_EVENT_QP_REQ_ERR, "QP_REQ_ERR", "the peer sent an invalid request", true, false},
    {IBV_EVENT_QP_ACCESS_ERR, "QP_ACCESS_ERR", "the peer's request violated access rights", true, false},
    {IBV_EVENT_CQ_ERR, "CQ_ERR", "a completion queue overflowed", true, false},
    {IBV_EVENT_PORT_ERR, "PORT_ERR", "the port went down", false, true},
    {IBV_EVENT_PORT_ACTIVE, "PORT_ACTIVE", "the port came up", false, true},
    {IBV_EVENT_LID_CHANGE, "LID_CHANGE", "the port's LID changed", false, true},
    {IBV_EVENT_PKEY_CHANGE, "PKEY_CHANGE", "the port's P_Key table changed", false, true},
    {IBV_EVENT_SM_CHANGE, "SM_CHANGE", "the subnet manager changed", false, true},
    {IBV_EVENT_GID_CHANGE, "GID_CHANGE", "the port's GID table changed", false, true},
    {IBV_EVENT_CLIENT_REREGISTER, "CLIENT_REREGISTER", "the subnet manager asks clients to register again", false, true},
};
// IBV_EVENT_DEVICE_SPEED_CHANGE came with rdma-core 62; its number follows WQ_FATAL (19).
constexpr int kSpeedChange = 20;

std::optional<AsyncEvent> meaning_of(const ibv_async_event& event, int port) {
  auto now = Clock::now();
  if (static_cast<int>(event.event_type) == kSpeedChange) return AsyncEvent{now, "DEVICE_SPEED_CHANGE: the port's speed changed", false, false};
  for (const Meaning& m : kMeanings) {
    if (m.type != event.event_type) continue;
    if (m.of_port && event.element.port_num != port) return std::nullopt;
    return AsyncEvent{now, fmt::format("{}: {}", m.name, m.text), m.fatal, m.type == IBV_EVENT_PORT_ERR};
  }
  return std::nullopt;  // COMM_EST and other good news
}

}  // namespace

EventWatcher::EventWatcher(ibv_context* context, int port) : context_(context), port_(port), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw system_error("eventfd", errno);
  // Standard descriptors are always open: one of theirs stands in a context that was left zero.
  if (context->async_fd <= STDERR_FILENO) {
    give_up("the device has no channel for them");
    return;
  }
  if (fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK) < 0)
    throw system_error("fcntl of the asynchronous event channel", errno);
  thread_ = std::thread([this] { watch(); });
}

EventWatcher::~EventWatcher() {
  if (!thread_.joinable()) return;
  std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) log_warning("waking the event watcher: {}", errno_text(errno));
  thread_.join();
}

std::vector<AsyncEvent> EventWatcher::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

void EventWatcher::watch() noexcept {
  std::array<pollfd, 2> fds{{{.fd = context_->async_fd, .events = POLLIN, .revents = 0}, {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    int n = ::poll(fds.data(), fds.size(), -1);  // ends by the eventfd, not by time
    if (n < 0 && errno != EINTR) return give_up(fmt::format("poll: {}", errno_text(errno)));
    if (n <= 0) continue;
    bool spent = fds[0].revents != 0 && !take_all();
    if (fds[1].revents != 0) return;
    if (!spent && (fds[0].revents & (POLLERR | POLLNVAL)) == 0) continue;
    fds[0].fd = -1;
    give_up("the device's event channel is closed or broken");
  }
}

/// Without a word, a port that goes down from here on would look like one that stayed up.
void EventWatcher::give_up(const std::string& why) {
  log_warning("asynchronous events of the device are no longer seen: {}", why);
  std::lock_guard lock(mutex_);
  events_.push_back({Clock::now(), fmt::format("events of the device are no longer seen: {}", why), false, false});
}

/// False when there is nothing more to come: the channel is readable, but nothing can be read from it.
bool EventWatcher::take_all() noexcept {
  for (;;) {
    ibv_async_event event{};
    const int error = errno_of_negative(ibv_get_async_event(context_, &event));
    if (error != 0) return error == EAGAIN || error == EINTR;
    try {
      keep(event);
    } catch (const std::exception& lost) {
      log_warning("an asynchronous event was lost: {}", lost.what());
    }
    ibv_ack_async_event(&event);
  }
}

void EventWatcher::keep(const ibv_async_event& event) {
  auto meaning = meaning_of(event, port_);
  if (!meaning) return;
  // A broken CQ on rxe came with 59 events (kernel 6.1): the first ones say it.
  constexpr std::size_t kMostKept = 64;
  if (meaning->fatal) broken_.store(true);
  std::lock_guard lock(mutex_);
  if (events_.size() < kMostKept) events_.push_back(*std::move(meaning));
}

}  // namespace railgauge::verbs
