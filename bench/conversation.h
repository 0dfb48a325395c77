#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "control/channel.h"
#include "control/heartbeat.h"
#include "control/messages.h"

namespace railgauge::bench {

/// The peer's answer to one step; its own work in it has deadlines of 10 s and less.
inline constexpr std::chrono::seconds kStepBudget{30};
/// Engine::connect on either side.
inline constexpr std::chrono::seconds kConnectBudget{10};
/// Freeing what a measurement used: tens of ms for hundreds of QPs on a NIC; a driver that takes longer than this has hung.
inline constexpr std::chrono::seconds kReleaseBudget{10};
/// What a run may take beyond plan::expected_wall_time, on either side: start of threads, first bytes, last words.
inline constexpr std::chrono::seconds kRunMargin{15};

/// One talk over a channel, from either side. Every wait beats the heart, notices a peer that vanished within 5 s, and
/// ends when the user asks to stop. One thread.
class Conversation {
 public:
  explicit Conversation(control::Channel channel);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void send(control::MessageType type, const std::string& body = {});

  /// The body of the next message of type `wanted`. Throws Error: the peer's failure as it describes it; Error{peer} if the
  /// peer stopped or said bye; Error{timeout} at the deadline; stopped_here() when the user asked this side to stop.
  std::string expect(control::MessageType wanted, Deadline deadline, const char* step);

  /// The next message whatever its type; nothing at the deadline or when the user asked to stop.
  std::optional<control::Message> next(Deadline deadline);

  /// Runs `task` on a thread of its own and keeps the heart beating until it returns; its exception comes out here.
  /// Messages that arrive meanwhile wait for `expect`. When the peer gives up or vanishes, or the user asks to stop, `cancel`
  /// is called on this thread and that is what comes out, as from `expect`. `task` must end by itself all the same (it has
  /// its own deadlines).
  void work(const std::function<void()>& task, const std::function<void()>& cancel = {});

  /// Frees what a measurement used: lets go of `held`, which nobody else may own, on a thread of its own and keeps the heart
  /// beating until that is done. Messages that arrive meanwhile wait for `expect`. False when it is not done by `patience`: some
  /// driver holds it (rdma_rxe took 50 s in ibv_destroy_qp), and the thread is left alone with it. Where no thread can be had it
  /// is freed on the caller's, without a limit. Never throws: that the peer is lost shows in broken().
  bool release(std::shared_ptr<void> held, Deadline patience) noexcept;

  /// True once a failure of the peer has come out of expect() since the last forget_failure(): the peer has given up the
  /// step by itself and waits for the next one, no answer follows.
  bool peer_failed() const noexcept { return peer_failed_; }
  void forget_failure() noexcept { peer_failed_ = false; }

  /// True once the channel failed: nothing can be sent any more.
  bool broken() const noexcept { return broken_; }
  const std::string& peer() const noexcept { return channel_.peer(); }
  const control::Endpoints& endpoints() const noexcept { return channel_.endpoints(); }

  /// For supervise(): waits on `wake_fd` too. Throws (and is broken) when the peer is gone.
  std::optional<control::Message> wait(int wake_fd, Deadline deadline);

 private:
  /// What a failure, stop, busy or bye of the peer stands for, noted; nothing for other messages.
  std::exception_ptr end_of(const control::Message& message);
  /// For a later expect(). Throws Error{peer} (and is broken) when the peer sends on and on.
  void keep(control::Message message);
  std::exception_ptr attend(const control::WakeEvent& finished, const std::function<void()>& cancel);
  control::WaitOutcome wait_beating(std::span<const int> wake_fds, Deadline deadline);

  control::Channel channel_;
  // Silence of the peer counts over a whole phase of waiting, not over one short wait of it.
  std::optional<control::Heartbeat> heartbeat_;
  Clock::time_point last_wait_{};
  std::deque<control::Message> early_;
  bool broken_ = false;
  bool peer_failed_ = false;
};

/// What expect() throws when the user asked this side to stop.
Error stopped_here();

}  // namespace railgauge::bench
