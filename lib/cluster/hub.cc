#include "cluster/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/messages.h"
#include "control/socket.h"

namespace railgauge::cluster {

using control::MessageType;

namespace {

// Well below the silence limit: while one rank does not take what is sent, the others get no heartbeat.
constexpr std::chrono::seconds kSendBudget{2};
constexpr std::chrono::seconds kCloseBudget{2};
constexpr std::chrono::hours kNever{24};

}  // namespace

Hub::Hub(const RendezvousOptions& options, Seat& seat)
    : options_(options),
      seat_(seat),
      slots_(static_cast<std::size_t>(options.self.world)),
      meeting_deadline_(Deadline::after(options.budget)) {
  slots_[0].member = options.self;
  slots_[0].since = slots_[0].step_since = Clock::now();
  if (options.self.world > 1) open_door();
  options_.token.clear();
  thread_ = std::thread([this] { run(); });
}

Hub::~Hub() {
  seat_.say(MessageType::bye);
  thread_.join();
}

void Hub::run() {
  while (!finished()) {
    try {
      round();
    } catch (const std::exception& error) {
      // Whatever is wrong with this machine must end the job, and must not make this thread spin.
      end(error_from(error));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

bool Hub::finished() const {
  bool all_closed = std::none_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.channel.has_value(); });
  return quits_ && (all_closed || closing_->passed());
}

void Hub::round() {
  constexpr std::size_t kOwn = 2;
  // Once ended the stop changes nothing, and would only make poll return at once.
  std::vector<pollfd> fds{{seat_.said_fd(), POLLIN, 0}, {ended_ ? -1 : options_.stop_fd, POLLIN, 0}};
  for (const Slot& s : slots_) fds.push_back({s.channel ? s.channel->fd() : -1, POLLIN, 0});
  for (const Newcomer& newcomer : newcomers_) fds.push_back({newcomer.channel.fd(), POLLIN, 0});
  if (door_) {
    door_->round(fds, next_instant());
  } else {
    (void)control::poll_until(fds, next_instant());
  }
  for (const control::Message& message : seat_.take_said()) take(0, message);
  if (fds[1].revents != 0) take(0, {MessageType::stop, control::to_json(control::Stop{"Ctrl-C, SIGTERM or SIGHUP"})});
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (fds[kOwn + i].revents == 0) continue;
    serve_member(static_cast<int>(i));
    beat_all();
  }
  serve_newcomers();
  beat_all();
  watch_silence();
  watch_deadlines();
}

Deadline Hub::next_instant() const {
  Deadline next = Deadline::after(kNever);
  if (!met_ && !ended_) next = next.sooner(meeting_deadline_);
  if (!met_ && !ended_ && slots_.size() == 1) return Deadline::after(Clock::duration::zero());
  if (call_ && !ended_) next = next.sooner(call_->deadline);
  if (closing_) next = next.sooner(*closing_);
  for (const Slot& s : slots_) {
    if (s.channel)
      next = next.sooner(Deadline(s.channel->next_beat()))
                 .sooner(Deadline(std::max(s.since, s.channel->last_heard()) + options_.silence_limit));
  }
  for (const Newcomer& newcomer : newcomers_) next = next.sooner(newcomer.deadline).sooner(Deadline(newcomer.channel.next_beat()));
  return next;
}

void Hub::serve_member(int rank) {
  try {
    while (slot(rank).channel) {
      auto message = slot(rank).channel->try_receive();
      if (!message) return;
      take(rank, *message);
    }
  } catch (const Error& error) {
    lose(rank, error.what());
  }
}

void Hub::take(int rank, const control::Message& message) {
  if (message.type == MessageType::bye) return rank == 0 ? leave_myself() : leave(rank);
  if (ended_) return;
  switch (message.type) {
    case MessageType::step:
      slot(rank).step = control::step_from_json(message.body).text;
      slot(rank).step_since = Clock::now();
      return;
    case MessageType::arrive:
      return arrive(rank, control::arrival_from_json(message.body));
    case MessageType::failure: {
      auto failure = control::failure_from_json(message.body);
      return end(Error(failure.kind, fmt::format("{} failed: {}", name_of_rank(rank), failure.text), failure.code));
    }
    case MessageType::stop:
      return end(Error(ErrorKind::peer, fmt::format("{} stopped: {}", name_of_rank(rank), control::stop_from_json(message.body).reason),
                       ECANCELED));
    default:
      throw Error(ErrorKind::peer, fmt::format("it sent {}, which has no meaning here", name_of(message.type)));
  }
}

void Hub::arrive(int rank, control::Arrival arrival) {
  if (!met_ || slot(rank).arrival) throw Error(ErrorKind::peer, "it sent arrive where it was not due");
  auto deadline = Deadline::after(arrival.budget);
  if (!call_) call_ = Call{arrival.kind, arrival.name, Clock::now(), deadline, rank};
  if (call_->kind != arrival.kind || call_->name != arrival.name) {
    return end(
        Error(ErrorKind::usage,
              fmt::format("{} is in {} \"{}\", but {} in {} \"{}\": start all ranks with the same settings and the same railgauge",
                          name_of_rank(rank), arrival.kind, arrival.name, name_of_rank(call_->first_rank), call_->kind, call_->name)));
  }
  call_->deadline = call_->deadline.sooner(deadline);
  slot(rank).arrival = std::move(arrival);
  auto left = ranks_where([](const Slot& s) { return s.left; });
  if (!left.empty())
    return end(Error(ErrorKind::peer, fmt::format("{} left, and {} waits in {} \"{}\"", name_of_rank(left.front()), name_of_rank(rank),
                                                  call_->kind, call_->name)));
  if (ranks_where([](const Slot& s) { return !s.arrival; }).empty()) release_all();
}

void Hub::release_all() {
  bool is_broadcast = call_->kind == "broadcast";
  Delivery own;
  for (Slot& s : slots_) own.texts.push_back(std::exchange(s.arrival, std::nullopt)->text);
  if (call_->kind != "gather") own.texts.resize(1);
  std::string body = to_json(control::Release{is_broadcast ? own.texts.front() : std::string()});
  call_.reset();
  for (int rank = 1; rank < options_.self.world && !ended_; ++rank) {
    (void)send(rank, MessageType::release, body);
    beat_all();
  }
  if (!ended_) seat_.deliver(std::move(own));
}

/// False if the rank is lost by it; the job has ended then.
bool Hub::send(int rank, MessageType type, const std::string& body) {
  try {
    slot(rank).channel->send(type, body, Deadline::after(kSendBudget));
    return true;
  } catch (const Error& error) {
    lose(rank, error.what());
    return false;
  }
}

void Hub::leave(int rank) {
  slot(rank).left = true;
  slot(rank).channel.reset();
  if (ended_ || closing_) return;
  if (!met_) return end(Error(ErrorKind::peer, fmt::format("{} left before all ranks had come", name_of_rank(rank))));
  if (call_)
    end(Error(ErrorKind::peer, fmt::format("{} left, and {} waits in {} \"{}\"", name_of_rank(rank), name_of_rank(call_->first_rank),
                                           call_->kind, call_->name)));
}

void Hub::leave_myself() {
  quits_ = true;
  if (!ended_ && (!met_ || call_)) end(Error(ErrorKind::peer, fmt::format("{} left", name_of_rank(0))));
  if (!closing_) {
    closing_ = Deadline::after(kCloseBudget);
    for (int rank = 1; rank < options_.self.world; ++rank) {
      if (slot(rank).channel) (void)send(rank, MessageType::bye, {});
    }
  }
}

/// Also between long messages, which would hold the heartbeats up.
void Hub::beat_all() {
  for (int rank = 1; rank < options_.self.world; ++rank) {
    try {
      if (slot(rank).channel) slot(rank).channel->beat_if_due();
    } catch (const Error& error) {
      lose(rank, error.what());
    }
  }
}

bool Hub::is_silent(int rank) const {
  const Slot& s = slot(rank);
  return s.channel && Deadline(std::max(s.since, s.channel->last_heard()) + options_.silence_limit).passed();
}

void Hub::watch_silence() {
  for (int rank = 1; rank < options_.self.world; ++rank) {
    // What has come meanwhile counts: this thread may have been the one that was busy.
    if (is_silent(rank)) serve_member(rank);
    if (!is_silent(rank)) continue;
    lose(rank, fmt::format("no sign of life from {} for {:.1f} s", slot(rank).channel->peer(),
                           std::chrono::duration<double>(options_.silence_limit).count()));
  }
}

void Hub::watch_deadlines() {
  if (closing_ && closing_->passed()) {
    for (Slot& s : slots_) s.channel.reset();
  }
  if (ended_) return;
  if (!met_ && ranks_where([](const Slot& s) { return !s.member; }).empty()) return send_roster();
  if (!met_ && meeting_deadline_.passed()) return end(doomed_ ? *doomed_ : Error(ErrorKind::timeout, missing_at_meeting()));
  if (call_ && call_->deadline.passed()) return end(Error(ErrorKind::timeout, missing_in_call()));
}

void Hub::lose(int rank, const std::string& why) {
  slot(rank).channel.reset();
  if (ended_ || closing_) return;
  const std::string& step = slot(rank).step;
  end(Error(ErrorKind::peer,
            fmt::format("{} is gone: {}{}", name_of_rank(rank), why, step.empty() ? "" : fmt::format("; its last step: {}", step))));
}

/// The first reason ends all ranks; who comes later is told it.
void Hub::end(const Error& reason) {
  if (ended_) return;
  ended_ = reason;
  call_.reset();
  closing_ = Deadline::after(kCloseBudget);
  std::string body = control::to_json(control::Failure{reason.kind(), reason.code(), "rank", reason.what()});
  for (int rank = 1; rank < options_.self.world; ++rank) {
    if (slot(rank).channel) (void)send(rank, MessageType::failure, body);
  }
  seat_.end(reason);
}

}  // namespace railgauge::cluster
