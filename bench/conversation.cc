#include "bench/conversation.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <exception>
#include <thread>

#include "base/log.h"
#include "bench/signals.h"
#include "control/heartbeat.h"

namespace railgauge::bench {
namespace {

// Time for the kernel to take one message; far beyond a healthy peer's, short of a user's patience.
constexpr std::chrono::seconds kSendBudget{5};

}  // namespace

Error stopped_here() { return Error(ErrorKind::peer, "stopped on this host (Ctrl-C, SIGTERM or SIGHUP)", ECANCELED); }

Conversation::Conversation(control::Channel channel) : channel_(std::move(channel)) {
  log_debug("{}: control protocol {}", channel_.peer(), control::to_string(channel_.version_in_force()));
}

void Conversation::send(control::MessageType type, const std::string& body) {
  try {
    channel_.send(type, body, Deadline::after(kSendBudget));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) broken_ = true;
    throw;
  }
}

std::optional<control::Message> Conversation::wait(int wake_fd, Deadline deadline) {
  if (!early_.empty()) {
    auto message = std::move(early_.front());
    early_.pop_front();
    return message;
  }
  std::array<int, 2> fds{};
  std::size_t count = 0;
  if (wake_fd >= 0) fds[count++] = wake_fd;
  // Once asked to stop, its descriptor stays readable for ever: the waits that follow must still wait.
  if (!stop_requested()) fds[count++] = stop_fd();
  return wait_beating(std::span<const int>(fds.data(), count), deadline).message;
}

control::WaitOutcome Conversation::wait_beating(std::span<const int> wake_fds, Deadline deadline) {
  // After a pause without waiting, what the peer sent meanwhile has not been read: count its silence afresh.
  if (!heartbeat_ || Clock::now() - last_wait_ > std::chrono::seconds(1)) heartbeat_.emplace(channel_);
  try {
    auto outcome = heartbeat_->wait(wake_fds, deadline);
    last_wait_ = Clock::now();
    return outcome;
  } catch (...) {
    broken_ = true;
    throw;
  }
}

std::optional<control::Message> Conversation::next(Deadline deadline) {
  while (true) {
    auto message = wait(-1, deadline);
    if (message || stop_requested() || deadline.passed()) return message;
  }
}

std::string Conversation::expect(control::MessageType wanted, Deadline deadline, const char* step) {
  auto message = next(deadline);
  if (!message) {
    if (stop_requested()) throw stopped_here();
    throw Error(ErrorKind::timeout, fmt::format("{} did not answer in time while {}", peer(), step), ETIMEDOUT);
  }
  if (message->type == wanted) return std::move(message->body);
  if (auto end = end_of(*message)) std::rethrow_exception(end);
  throw Error(ErrorKind::peer, fmt::format("{} sent \"{}\" where \"{}\" belongs ({})", peer(), control::name_of(message->type),
                                           control::name_of(wanted), step));
}

std::exception_ptr Conversation::end_of(const control::Message& message) {
  if (message.type == control::MessageType::bye) broken_ = true;
  if (message.type == control::MessageType::failure) peer_failed_ = true;
  try {
    control::throw_if_ended(message, peer());
  } catch (...) {
    return std::current_exception();
  }
  return {};
}

void Conversation::keep(control::Message message) {
  // A healthy peer is one step ahead at most, and its failure may follow.
  constexpr std::size_t kMostEarly = 4;
  if (early_.size() == kMostEarly) {
    broken_ = true;
    throw Error(ErrorKind::peer, fmt::format("{} sent \"{}\" and {} messages before it, none of which was asked for", peer(),
                                             control::name_of(message.type), kMostEarly));
  }
  early_.push_back(std::move(message));
}

/// Waits for a task on another thread, beating; calls it off when its result is worth nothing any more, and says why.
std::exception_ptr Conversation::attend(const control::WakeEvent& finished, const std::function<void()>& cancel) {
  std::exception_ptr why;
  const auto call_off = [&](std::exception_ptr reason) {
    why = std::move(reason);
    if (cancel) cancel();
  };
  try {
    while (!finished.is_set()) {
      if (!why && stop_requested()) call_off(std::make_exception_ptr(stopped_here()));
      const std::array<int, 2> fds{finished.fd(), stop_fd()};
      // Once asked to stop, its descriptor stays readable for ever.
      auto outcome = wait_beating(std::span(fds).first(why ? 1 : 2), Deadline::after(std::chrono::seconds(1)));
      const bool ends = outcome.message && !why && !finished.is_set() && control::ends_conversation(outcome.message->type);
      if (ends) call_off(end_of(*outcome.message));
      else if (outcome.message) keep(std::move(*outcome.message));
    }
  } catch (...) {
    call_off(std::current_exception());
  }
  return why;
}

void Conversation::work(const std::function<void()>& task, const std::function<void()>& cancel) {
  control::WakeEvent finished;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    finished.set();
  });
  const auto called_off = attend(finished, cancel);
  worker.join();
  if (called_off) std::rethrow_exception(called_off);
  if (failure) std::rethrow_exception(failure);
}

bool Conversation::release(std::shared_ptr<void> held, Deadline patience) noexcept {
  std::shared_ptr<control::WakeEvent> finished;  // with a thread that may outlive this call
  std::thread worker;
  try {
    finished = std::make_shared<control::WakeEvent>();
    worker = std::thread([held = std::move(held), finished]() mutable {
      held.reset();
      finished->set();
    });
  } catch (const std::exception&) {
    return true;  // no descriptor or no thread to be had: freed here, without a heartbeat
  }
  const std::array<int, 1> fds{finished->fd()};
  try {
    while (!broken_ && !finished->is_set() && !patience.passed()) {
      auto outcome = wait_beating(fds, patience);
      if (outcome.message) keep(std::move(*outcome.message));
    }
  } catch (const std::exception&) {
    // broken_ is set; who comes next says why
  }
  while (!finished->is_set() && !patience.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const bool freed = finished->is_set();
  if (freed) worker.join();
  else worker.detach();
  return freed;
}

}  // namespace railgauge::bench
