#pragma once
#include <memory>
#include <string>
#include <vector>

#include "transport/work_queue.h"
#include "verbs/device.h"
#include "verbs/qp.h"

namespace railgauge::verbs {

/// What a VerbsQueue is made of.
struct QueueRequest {
  const Device* device = nullptr;       ///< outlives the queue
  ibv_pd* pd = nullptr;                 ///< outlives the queue
  std::uint32_t lanes = 1;
  std::uint32_t send_requests = 1;      ///< outstanding per lane
  std::uint32_t signal_every = 1;
  std::uint32_t recv_requests = 1;      ///< outstanding per lane
  std::uint32_t inline_bytes = 0;       ///< wanted
  bool events = false;
};

/// A thread's queue pairs over libibverbs: RC, two completion queues. The rings of ibv_send_wr are linked once in prepare;
/// a post cuts the chain, posts and restores it.
class VerbsQueue final : public transport::WorkQueue {
 public:
  /// Throws Error{verbs}, also when the device's limits are too small, naming limit and option. QPs are in RESET.
  explicit VerbsQueue(const QueueRequest& request);

  std::uint32_t lanes() const noexcept override { return static_cast<std::uint32_t>(lanes_.size()); }
  void prepare(std::uint32_t lane, std::span<const transport::WorkRequest> slots) override;
  void prepare_recv(std::uint32_t lane, std::span<const transport::RecvRequest> slots) override;
  transport::PostResult post(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept override;
  transport::PostResult post_recv(std::uint32_t lane, std::uint32_t first_slot, std::uint32_t count) noexcept override;
  int poll(std::span<transport::Completion> out) noexcept override;
  int poll_recv(std::span<transport::Completion> out) noexcept override;
  int arm() noexcept override;
  int wait(Deadline deadline) noexcept override;
  std::string describe(const transport::Completion& completion) const override;

  QpPointer qp(std::uint32_t lane) const noexcept { return lanes_[lane].qp.get(); }
  const QpCaps& caps() const noexcept { return caps_; }

 private:
  struct Lane {
    QpHandle qp;
    std::vector<ibv_send_wr> sends;
    std::vector<ibv_sge> send_sges;
    std::vector<ibv_recv_wr> receives;
    std::vector<ibv_sge> recv_sges;
  };
  void drain_channel() noexcept;

  const Device& device_;
  QpCaps caps_;
  ChannelHandle channel_;
  CqHandle send_cq_;
  CqHandle recv_cq_;
  std::vector<Lane> lanes_;
  std::vector<ibv_wc> completions_;
};

}  // namespace railgauge::verbs
