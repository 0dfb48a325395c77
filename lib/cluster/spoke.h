#pragma once
#include <thread>

#include "cluster/rendezvous.h"
#include "cluster/seat.h"
#include "control/channel.h"

namespace railgauge::cluster {

/// A rank other than 0: the connection to rank 0 and the thread that serves it. Internal to lib/cluster.
class Spoke {
 public:
  /// Reaches rank 0, trying again until options.budget is spent, and sends the join message; the thread runs when this
  /// returns. `seat` must outlive it. Throws as Rendezvous does.
  Spoke(const RendezvousOptions& options, Seat& seat);
  /// Says bye and waits for rank 0 to close, 2 s at most.
  ~Spoke();
  Spoke(const Spoke&) = delete;
  Spoke& operator=(const Spoke&) = delete;

 private:
  void run();
  void serve();
  void take(const control::Message& message);
  void pass_on(const control::Message& message);
  void stop_here();
  void await_close();

  Seat& seat_;
  control::Channel channel_;
  Clock::duration silence_limit_;
  int stop_fd_;
  bool over_ = false;  // the serving thread's: nothing more is sent
  std::thread thread_;
};

}  // namespace railgauge::cluster
