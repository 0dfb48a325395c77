#pragma once
#include <poll.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/rank_text.h"
#include "cluster/rendezvous.h"
#include "cluster/seat.h"
#include "control/door.h"

namespace railgauge::cluster {

/// Rank 0: one thread that opens the door to ranks, and carries every message between them. Rank 0 itself sits in slot 0
/// and is treated like the others, only that its messages come through its Seat. Internal to lib/cluster.
class Hub {
 public:
  /// Listens; the thread runs when this returns. `seat` must outlive it. Throws as Rendezvous does.
  Hub(const RendezvousOptions& options, Seat& seat);
  /// Leaves, and waits for the others to close, 2 s at most.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

 private:
  /// Proved the token, has not said which rank it is.
  struct Newcomer {
    control::Channel channel;
    Deadline deadline;
    bool gone = false;
  };
  struct Slot {
    std::optional<control::Member> member{};
    std::optional<control::Channel> channel{};  // none: rank 0, or gone
    Clock::time_point since{};                  // joined; silence counts from here
    std::string step{};
    Clock::time_point step_since{};
    std::optional<control::Arrival> arrival{};
    bool left = false;
  };
  /// The barrier, gather or broadcast in which the first rank has arrived.
  struct Call {
    std::string kind;
    std::string name;
    Clock::time_point since;
    Deadline deadline;
    int first_rank;
  };

  void open_door();
  void run();
  void round();
  Deadline next_instant() const;
  bool finished() const;

  // newcomers
  void serve_newcomers();
  void serve(Newcomer& newcomer);
  std::string objection_to(const control::Member& member) const;
  std::string skew_of(const control::Member& member) const;
  void refuse(Newcomer& newcomer, const control::Member& member, const std::string& why);
  void seat_member(Newcomer& newcomer, const control::Member& member);
  void send_roster();

  // members
  void serve_member(int rank);
  void take(int rank, const control::Message& message);
  void arrive(int rank, control::Arrival arrival);
  void release_all();
  void leave(int rank);
  void leave_myself();
  void beat_all();
  bool is_silent(int rank) const;
  void watch_silence();
  void watch_deadlines();
  bool send(int rank, control::MessageType type, const std::string& body);
  void lose(int rank, const std::string& why);
  void end(const Error& reason);

  // texts
  Slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }
  const Slot& slot(int rank) const { return slots_[static_cast<std::size_t>(rank)]; }
  std::string name_of_rank(int rank) const;
  std::string present_text() const;
  std::string missing_at_meeting() const;
  std::string missing_in_call() const;
  template <typename Condition>
  std::vector<int> ranks_where(Condition condition) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.self.world; ++rank) {
      if (condition(slot(rank))) ranks.push_back(rank);
    }
    return ranks;
  }

  RendezvousOptions options_;
  Seat& seat_;
  std::vector<Slot> slots_;
  std::vector<Newcomer> newcomers_;
  std::vector<std::string> refusals_;  // the first few, for the text of the deadline
  Deadline meeting_deadline_;
  std::optional<Error> doomed_;        // why the ranks will not meet at the deadline, if not for want of time
  bool met_ = false;                   // the roster is out
  std::optional<Call> call_;
  std::optional<Error> ended_;
  bool quits_ = false;                 // the owner is leaving
  std::optional<Deadline> closing_;    // good-byes are said; others close first, until here at most
  std::optional<control::Door> door_;
  std::thread thread_;                 // last: runs on all the others
};

}  // namespace railgauge::cluster
