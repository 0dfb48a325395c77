#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cluster/hub.h"

// What rank 0 says of those who are missing.
namespace railgauge::cluster {
namespace {

constexpr std::size_t kStepsShown = 8;

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

}  // namespace

std::string Hub::name_of_rank(int rank) const {
  const auto& member = slot(rank).member;
  return member ? fmt::format("rank {} ({})", rank, printable(member->hostname)) : fmt::format("rank {}", rank);
}

std::string Hub::present_text() const {
  std::vector<RankOnHost> here;
  for (int rank = 0; rank < options_.self.world; ++rank) {
    if (slot(rank).member) here.emplace_back(rank, printable(slot(rank).member->hostname));
  }
  return ranks_on_hosts_text(here);
}

std::string Hub::missing_at_meeting() const {
  auto missing = ranks_where([](const Slot& s) { return !s.member; });
  const MeetingPoint& point = *options_.launch.rendezvous;
  std::string text = fmt::format(
      "{} of {} {} not arrived after {:g} s; here are {}; started with world {} by {}: are the missing ones started, and do they reach "
      "{} port {}?",
      named_ranks_text(missing), options_.self.world, missing.size() == 1 ? "has" : "have",
      std::chrono::duration<double>(options_.budget).count(), present_text(), options_.self.world, name_of(options_.launch.source),
      point.host, point.port);
  for (const std::string& refusal : refusals_) text += fmt::format("; refused was {}", refusal);
  if (auto wrong = door_->counts().wrong_proofs; wrong > 0) text += fmt::format("; {} connections came with a wrong token", wrong);
  return text;
}

std::string Hub::missing_in_call() const {
  auto missing = ranks_where([](const Slot& s) { return !s.arrival; });
  std::vector<RankOnHost> on_hosts;
  for (int rank : missing) on_hosts.emplace_back(rank, printable(slot(rank).member->hostname));
  std::string text = fmt::format("{} \"{}\": of {} ranks {} {} not arrived after {:.1f} s", call_->kind, call_->name, options_.self.world,
                                 ranks_on_hosts_text(on_hosts), missing.size() == 1 ? "has" : "have", seconds_since(call_->since));
  for (std::size_t i = 0; i < std::min(missing.size(), kStepsShown); ++i) {
    const Slot& s = slot(missing[i]);
    if (!s.step.empty())
      text += fmt::format("; last step of rank {}, since {:.1f} s: {}", missing[i], seconds_since(s.step_since), printable(s.step));
  }
  return text;
}

}  // namespace railgauge::cluster
