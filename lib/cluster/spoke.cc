#include "cluster/spoke.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "control/connect.h"
#include "control/heartbeat.h"
#include "control/messages.h"
#include "control/socket.h"

namespace railgauge::cluster {
namespace {

using control::MessageType;

// One try: rank 0 answers a hello at once, or is not there; then a pause, so that a thousand ranks do not knock without end.
constexpr std::chrono::seconds kOneTry{5};
constexpr std::chrono::milliseconds kPause{100};
// A peer that takes nothing for so long is frozen; its silence is noticed by then too.
constexpr std::chrono::seconds kSendBudget{10};
constexpr std::chrono::seconds kCloseBudget{2};
constexpr std::chrono::hours kNever{24};

/// A closed port, a broken connection, silence: rank 0 may not be there yet. A refusal says so without an errno.
bool is_worth_another_try(const Error& error) {
  return error.kind() == ErrorKind::timeout || (error.kind() == ErrorKind::peer && error.code() != 0 && error.code() != ECANCELED);
}

std::string who_calls(const RendezvousOptions& options) {
  return fmt::format("rank {} of {} ({})", options.self.rank, options.self.world, options.self.hostname);
}

std::string reason_text(const Error& error) { return error.code() == ECONNREFUSED ? "nothing listens there" : error.what(); }

void pause(int stop_fd, Deadline deadline) {
  std::array<pollfd, 1> fds{pollfd{stop_fd, POLLIN, 0}};  // poll(2) passes over a negative descriptor
  (void)control::poll_until(fds, deadline.sooner(Deadline::after(kPause)));
}

control::Channel reach_rank_0(const RendezvousOptions& options) {
  const MeetingPoint& point = *options.launch.rendezvous;
  Deadline deadline = Deadline::after(options.budget);
  control::ClientOptions client{.host = point.host, .port = point.port, .token = options.token, .cancel_fd = options.stop_fd};
  while (true) {
    try {
      return control::connect_client(client, deadline.sooner(Deadline::after(kOneTry)));
    } catch (const Error& error) {
      if (error.code() == ECANCELED) throw;
      if (!is_worth_another_try(error))
        throw Error(error.kind(), fmt::format("{} cannot join rank 0: {}", who_calls(options), error.what()), error.code());
      if (deadline.passed()) {
        throw Error(
            ErrorKind::timeout,
            fmt::format(
                "{} could not reach rank 0 at {} port {} within {:g} s: {}; is rank 0 started, and does a firewall let the port through? "
                "({})",
                who_calls(options), point.host, point.port, std::chrono::duration<double>(options.budget).count(), reason_text(error),
                options.launch.why),
            error.code());
      }
    }
    pause(options.stop_fd, deadline);
  }
}

}  // namespace

Spoke::Spoke(const RendezvousOptions& options, Seat& seat)
    : seat_(seat), channel_(reach_rank_0(options)), silence_limit_(options.silence_limit), stop_fd_(options.stop_fd) {
  seat_.say(MessageType::join, to_json(options.self));
  thread_ = std::thread([this] { run(); });
}

Spoke::~Spoke() {
  seat_.say(MessageType::bye);
  thread_.join();
}

void Spoke::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    Error reason = error_from(error);
    seat_.end(Error(reason.kind(), fmt::format("rank 0 is gone: {}", reason.what()), reason.code()));
  }
  (void)::shutdown(channel_.fd(), SHUT_RDWR);  // rank 0 waits for this, and the object may live on
}

void Spoke::serve() {
  control::Heartbeat heartbeat(channel_, silence_limit_);
  const std::array wake{seat_.said_fd(), stop_fd_};
  while (!over_) {
    auto outcome = heartbeat.wait(wake, Deadline::after(kNever));
    if (outcome.message) take(*outcome.message);
    for (const control::Message& message : over_ ? std::vector<control::Message>() : seat_.take_said()) pass_on(message);
    pollfd stop{stop_fd_, POLLIN, 0};
    if (!over_ && ::poll(&stop, 1, 0) == 1) stop_here();
  }
}

/// From rank 0.
void Spoke::take(const control::Message& message) {
  switch (message.type) {
    case MessageType::roster:
      return seat_.deliver({.roster = control::roster_from_json(message.body)});
    case MessageType::release:
      return seat_.deliver({.texts = {control::release_from_json(message.body).text}});
    case MessageType::failure: {
      auto failure = control::failure_from_json(message.body);
      seat_.end(Error(failure.kind, failure.text, failure.code));
      break;
    }
    case MessageType::bye:
      seat_.end(Error(ErrorKind::peer, "rank 0 has left the job"));
      break;
    default:
      throw Error(ErrorKind::peer, fmt::format("{} sent {}, which has no meaning here", channel_.peer(), name_of(message.type)));
  }
  over_ = true;
}

/// To rank 0.
void Spoke::pass_on(const control::Message& message) {
  if (over_) return;
  channel_.send(message.type, message.body, Deadline::after(kSendBudget));
  if (message.type == MessageType::failure) {
    auto failure = control::failure_from_json(message.body);
    seat_.end(Error(failure.kind, failure.text, failure.code));
  }
  if (message.type == MessageType::stop)
    seat_.end(Error(ErrorKind::peer, fmt::format("stopped: {}", control::stop_from_json(message.body).reason), ECANCELED));
  if (control::ends_conversation(message.type)) await_close();
}

void Spoke::stop_here() {
  constexpr const char* kReason = "Ctrl-C, SIGTERM or SIGHUP on this host";
  pass_on({MessageType::stop, control::to_json(control::Stop{kReason})});
}

/// Closing with bytes unread would reset the connection and could take the last message with it.
void Spoke::await_close() {
  over_ = true;
  Deadline deadline = Deadline::after(kCloseBudget);
  try {
    while (!control::ends_conversation(channel_.receive(deadline).type)) {
    }
  } catch (const Error&) {
    // Closed, as awaited, or not in time.
  }
}

}  // namespace railgauge::cluster
