#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "control/frame.h"
#include "control/heartbeat.h"
#include "control/job_messages.h"

namespace railgauge::cluster {

/// What a rank waits for: the roster, or the release of a barrier and its kin.
struct Delivery {
  control::Roster roster{};
  std::vector<std::string> texts{};  ///< gather at rank 0: of each rank; broadcast: one
};

/// Between a rank's own threads and the thread that serves it (Hub or Spoke): what the rank says goes one way, what it
/// waits for and the end of the job the other. Any thread. Internal to lib/cluster.
class Seat {
 public:
  /// Queues a message to rank 0 and wakes the serving thread.
  void say(control::MessageType type, std::string body = {});
  /// The next delivery. Throws the Error that ended the job, or Error{timeout} "no answer from rank 0 while <step>".
  Delivery await(Deadline deadline, const std::string& step);

  /// The serving thread's side. Readable when take_said() has something.
  int said_fd() const noexcept { return said_.fd(); }
  std::vector<control::Message> take_said();
  void deliver(Delivery delivery);

  /// The job is over, for this reason; only the first is kept.
  void end(const Error& reason);
  std::optional<Error> ended() const;
  /// Readable once ended.
  int ended_fd() const noexcept { return over_.fd(); }

 private:
  mutable std::mutex mutex_;  // guards what follows up to the events
  std::vector<control::Message> queue_;
  std::optional<Delivery> delivery_;
  std::optional<Error> reason_;
  control::WakeEvent said_;
  control::WakeEvent delivered_;
  control::WakeEvent over_;
};

}  // namespace railgauge::cluster
