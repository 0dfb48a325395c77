#include "cluster/seat.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <utility>

#include "control/socket.h"

namespace railgauge::cluster {

void Seat::say(control::MessageType type, std::string body) {
  std::lock_guard lock(mutex_);
  queue_.push_back({type, std::move(body)});
  said_.set();
}

Delivery Seat::await(Deadline deadline, const std::string& step) {
  std::array<pollfd, 2> fds{pollfd{delivered_.fd(), POLLIN, 0}, pollfd{over_.fd(), POLLIN, 0}};
  (void)control::poll_until(fds, deadline);
  std::lock_guard lock(mutex_);
  if (delivery_) {
    delivered_.clear();
    return *std::exchange(delivery_, std::nullopt);
  }
  if (reason_) throw *reason_;
  throw Error(ErrorKind::timeout, fmt::format("no answer from rank 0 while {}", step));
}

std::vector<control::Message> Seat::take_said() {
  std::lock_guard lock(mutex_);
  said_.clear();
  return std::exchange(queue_, {});
}

void Seat::deliver(Delivery delivery) {
  std::lock_guard lock(mutex_);
  delivery_ = std::move(delivery);
  delivered_.set();
}

void Seat::end(const Error& reason) {
  std::lock_guard lock(mutex_);
  if (!reason_) reason_ = reason;
  over_.set();
}

std::optional<Error> Seat::ended() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace railgauge::cluster
