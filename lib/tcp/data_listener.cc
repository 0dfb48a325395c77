#include "tcp/data_listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/error.h"

namespace railgauge::tcp {
namespace {

/// The 32 bytes follow the connection at once; this leaves room for one lost packet and its retransmission.
constexpr std::chrono::seconds kHelloTime{3};
/// So many strangers may be undecided at one time; the oldest goes first.
constexpr std::size_t kMaxPending = 1200;

}  // namespace

DataListener::DataListener(const Endpoint& local, const SocketSettings& settings) : fd_(listen_on(local, settings)), nonce_(random_nonce()) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) < 0) throw system_error("fcntl O_NONBLOCK", errno);
}

bool DataListener::take_new_connection() {
  UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) {
    if (errno == EMFILE || errno == ENFILE) throw system_error("accept", errno);
    return false;  // none there, or it has gone again: neither is this measurement's end
  }
  if (pending_.size() >= kMaxPending) {
    pending_.erase(pending_.begin());
    ++strangers_.silent;
  }
  pending_.push_back(Pending{std::move(fd), {}, 0, Deadline::after(kHelloTime)});
  return true;
}

void DataListener::drop_late() {
  strangers_.silent += std::erase_if(pending_, [](const Pending& p) { return p.deadline.passed(); });
}

DataListener::Step DataListener::read_hello(Pending& pending) noexcept {
  const ssize_t n = ::recv(pending.fd.get(), pending.hello.data() + pending.got, kHelloBytes - pending.got, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Step::more;
  if (n <= 0) {
    ++strangers_.silent;
    return Step::drop;
  }
  pending.got += static_cast<std::size_t>(n);
  return pending.got == kHelloBytes ? Step::done : Step::more;
}

void DataListener::seat(Pending& pending, std::vector<AcceptedStream>& seats) {
  const auto name = decode_hello(pending.hello, nonce_);
  const auto seat = std::find_if(seats.begin(), seats.end(), [&](const AcceptedStream& s) { return name && s.name == *name && !s.fd; });
  if (seat == seats.end() || ::send(pending.fd.get(), &kHelloTaken, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
    ++strangers_.wrong_hello;
    return;
  }
  seat->fd = std::move(pending.fd);
}

std::vector<AcceptedStream> DataListener::accept_all(const std::vector<StreamName>& wanted, Deadline deadline, int cancel_fd) {
  std::vector<AcceptedStream> seats;
  for (const auto& name : wanted) seats.push_back(AcceptedStream{name, UniqueFd()});
  const auto taken = [&] { return std::count_if(seats.begin(), seats.end(), [](const AcceptedStream& s) { return bool(s.fd); }); };
  while (static_cast<std::size_t>(taken()) < seats.size()) {
    if (deadline.passed()) {
      throw Error(ErrorKind::timeout,
                  fmt::format("{} of {} data connections came to {} in time; {} turned away with a wrong hello, {} silent", taken(), seats.size(),
                              local_endpoint(fd_.get()).text(), strangers_.wrong_hello, strangers_.silent + pending_.size()));
    }
    std::vector<pollfd> entries{{cancel_fd, POLLIN, 0}, {fd_.get(), POLLIN, 0}};  // poll(2) passes over a negative one
    for (const auto& p : pending_) entries.push_back({p.fd.get(), POLLIN, 0});
    Deadline next = deadline;
    for (const auto& p : pending_) next = next.sooner(p.deadline);
    if (::poll(entries.data(), entries.size(), next.poll_timeout_ms()) < 0 && errno != EINTR) throw system_error("poll", errno);
    if (entries.front().revents != 0)
      throw Error(ErrorKind::peer, fmt::format("{} of {} data connections had come when the rest was called off", taken(), seats.size()), ECANCELED);
    std::erase_if(pending_, [&](Pending& p) {
      const Step step = read_hello(p);
      if (step == Step::done) seat(p, seats);
      return step != Step::more;
    });
    drop_late();
    while (take_new_connection()) {
    }
  }
  return seats;
}

}  // namespace railgauge::tcp
