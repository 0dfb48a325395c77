#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "transport/work_request.h"

namespace railgauge::transport {

/// The lanes (queue pairs) of one measuring thread, with one queue of send completions and one of receive completions for
/// all of them. Batch-shaped: a virtual call is paid per batch, not per message. One thread at a time.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  WorkQueue() = default;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  virtual std::uint32_t lanes() const noexcept = 0;

  /// Lays down the send ring of a lane. Set-up only; throws Error. Requests are copied; memory they name must stay.
  virtual void prepare(std::uint32_t lane, std::span<const WorkRequest> slots) = 0;
  /// Lays down the receive ring of a lane. Set-up only; throws Error.
  virtual void prepare_recv(std::uint32_t lane, std::span<const RecvRequest> slots) = 0;

  /// Posts slots first_slot … first_slot+count−1 of a lane in one call; they must lie within the ring.
  virtual PostResult post(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept = 0;
  virtual PostResult post_recv(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept = 0;

  /// Takes up to out.size() completions without waiting: how many, or −errno.
  virtual int poll(std::span<Completion> out) noexcept = 0;
  virtual int poll_recv(std::span<Completion> out) noexcept = 0;

  /// Event mode: asks both completion queues to wake wait(). Poll once more before waiting, or a completion that came
  /// between is slept through. 0, or −errno (ENOTSUP where there are no events).
  virtual int arm() noexcept = 0;
  /// Sleeps until an armed completion queue has something or the deadline passes: 1, 0, or −errno.
  virtual int wait(Deadline deadline) noexcept = 0;

  /// Name, number and likely cause of a failed completion, for people. Not for loops.
  virtual std::string describe(const Completion& completion) const = 0;
};

}  // namespace railgauge::transport
