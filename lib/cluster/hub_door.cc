#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "cluster/hub.h"
#include "control/connect.h"
#include "control/messages.h"

// How ranks come to rank 0: the door, the join message, and the roster once all are here.
namespace railgauge::cluster {

using control::MessageType;

namespace {

constexpr std::chrono::seconds kJoinBudget = control::kHandshakeBudget;
// Room for one small frame is there on a fresh socket; nobody is waited for.
constexpr std::chrono::milliseconds kAtOnce{50};
constexpr std::size_t kRefusalsKept = 3;
constexpr std::chrono::seconds kDoomedBudget{3};

std::string process_text(const control::Member& member) { return fmt::format("{}, process {}", printable(member.hostname), member.pid); }

std::string_view major_of(std::string_view version) { return version.substr(0, version.find('.')); }

/// Who has the port? Another rank 0 of railgauge says why it does not take this one; everybody else is another program.
[[noreturn]] void explain_taken_port(const RendezvousOptions& options, const Error& taken) {
  const MeetingPoint& point = *options.launch.rendezvous;
  std::string who = "another program has it";
  try {
    auto channel = control::connect_client(
        {.host = is_loopback(point) ? point.host : "127.0.0.1", .port = point.port, .token = options.token}, Deadline::after(kJoinBudget));
    channel.send(MessageType::join, to_json(options.self), Deadline::after(kJoinBudget));
    auto answer = channel.receive(Deadline::after(kJoinBudget), "waiting for the answer to join");
    if (answer.type == MessageType::failure) who = control::failure_from_json(answer.body).text;
  } catch (const Error& error) {
    who = fmt::format("another program has it, or a job with another token ({})", error.what());
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("rank 0 cannot listen on port {}: {}; for another port give all ranks --master {}:PORT", point.port, who, point.host),
      taken.code());
}

control::AcceptorOptions door_options(const RendezvousOptions& options) {
  const MeetingPoint& point = *options.launch.rendezvous;
  // Beyond loopback all addresses: what the others' name for this host resolves to is not what this host thinks (Debian: 127.0.1.1).
  control::AcceptorOptions door{.bind = is_loopback(point) ? point.host : "*", .port = point.port, .token = options.token, .open = true};
  door.max_half_open += options.self.world;
  return door;
}

}  // namespace

void Hub::open_door() {
  auto door = door_options(options_);
  auto admit = [this](control::Channel channel) {
    channel.send(MessageType::welcome, {}, Deadline::after(kAtOnce));
    newcomers_.push_back({std::move(channel), Deadline::after(kJoinBudget)});
  };
  try {
    door_.emplace(door, control::open_listeners(door), admit);
  } catch (const Error& error) {
    if (error.code() == EADDRINUSE) explain_taken_port(options_, error);
    throw;
  }
  if (options_.on_listening) options_.on_listening(door_->listeners().port);
}

void Hub::serve_newcomers() {
  for (Newcomer& newcomer : newcomers_) {
    try {
      serve(newcomer);
    } catch (const Error& error) {
      log_warning("a rank could not join: {}", error.what());
      newcomer.gone = true;
    }
  }
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return newcomer.gone; });
}

void Hub::serve(Newcomer& newcomer) {
  newcomer.channel.beat_if_due();
  auto message = newcomer.channel.try_receive();
  if (!message && newcomer.deadline.passed())
    throw Error(ErrorKind::timeout, fmt::format("{} did not say which rank it is in the time allowed", newcomer.channel.peer()));
  if (!message) return;
  if (message->type != MessageType::join)
    throw Error(ErrorKind::peer, fmt::format("{} sent {} where join was due", newcomer.channel.peer(), name_of(message->type)));
  auto member = control::member_from_json(message->body);
  if (auto why = objection_to(member); !why.empty()) return refuse(newcomer, member, why);
  seat_member(newcomer, member);
}

std::string Hub::objection_to(const control::Member& member) const {
  const control::Member& own = options_.self;
  auto job_text = [](const control::Member& m) {
    return m.job.empty() ? fmt::format("a job started by {}", m.launcher) : fmt::format("job {} of {}", m.job, m.launcher);
  };
  if (member.job != own.job)
    return fmt::format("rank 0 here ({}) is of {}, this process of {}", process_text(own), job_text(own), job_text(member));
  if (member.world != own.world)
    return fmt::format("rank 0 ({}) waits for {} ranks, this process is one of {}: start all ranks with the same size", process_text(own),
                       own.world, member.world);
  if (ended_) return fmt::format("the job has ended: {}", ended_->what());
  if (const auto& here = slot(member.rank).member) {
    return fmt::format(
        "rank {} of {} is here already ({}), and this process ({}) says that it is rank {} too: start all with one launcher, or give each "
        "its own --rank",
        member.rank, own.world, process_text(*here), process_text(member), member.rank);
  }
  return skew_of(member);
}

std::string Hub::skew_of(const control::Member& member) const {
  const control::Member& own = options_.self;
  auto differ = [](const char* what, const std::string& here, const std::string& there) {
    return fmt::format("rank 0 has {} {}, this process {}: install the same on all hosts", what, printable(here), printable(there));
  };
  if (major_of(member.tool_version) != major_of(own.tool_version)) return differ("railgauge", own.tool_version, member.tool_version);
  if (member.nccl_version && own.nccl_version && major_of(*member.nccl_version) != major_of(*own.nccl_version)) {
    return differ("NCCL", *own.nccl_version, *member.nccl_version);
  }
  return {};
}

void Hub::refuse(Newcomer& newcomer, const control::Member& member, const std::string& why) {
  newcomer.gone = true;
  std::string who = fmt::format("rank {} ({})", member.rank, process_text(member));
  log_warning("{} is refused: {}", who, why);
  if (refusals_.size() < kRefusalsKept) refusals_.push_back(fmt::format("{}: {}", who, why));
  newcomer.channel.send(MessageType::failure, control::to_json(control::Failure{ErrorKind::usage, 0, "rank", why}),
                        Deadline::after(kAtOnce));
  if (met_ || ended_ || doomed_ || why != skew_of(member)) return;
  // A rank that was waited for will not come with other versions than these: no use to wait on for more than the rest of
  // those that start now, who are owed the reason.
  doomed_ = Error(ErrorKind::usage, fmt::format("{} is refused: {}", who, why));
  meeting_deadline_ = meeting_deadline_.sooner(Deadline::after(kDoomedBudget));
}

void Hub::seat_member(Newcomer& newcomer, const control::Member& member) {
  newcomer.gone = true;
  Slot& s = slot(member.rank);
  s.member = member;
  s.channel = std::move(newcomer.channel);
  s.since = s.step_since = Clock::now();
  // What came with the join message is not announced by poll again.
  serve_member(member.rank);
}

void Hub::send_roster() {
  control::Roster roster{{}, options_.blob};
  for (const Slot& s : slots_) roster.members.push_back(*s.member);
  std::string body = to_json(roster);
  met_ = true;
  for (int rank = 1; rank < options_.self.world && !ended_; ++rank) {
    (void)send(rank, MessageType::roster, body);
    beat_all();
  }
  if (!ended_) seat_.deliver({.roster = std::move(roster)});
}

}  // namespace railgauge::cluster
