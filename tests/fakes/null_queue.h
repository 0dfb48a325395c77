#pragma once
#include <algorithm>
#include <vector>

#include "transport/work_queue.h"

namespace railgauge::testing_support {

/// A queue that moves nothing and completes everything at once: what is left is the loop's own cost. One lane or more.
class NullQueue final : public transport::WorkQueue {
 public:
  explicit NullQueue(std::uint32_t lanes = 1) : lanes_(lanes) {}
  std::uint32_t lanes() const noexcept override { return static_cast<std::uint32_t>(lanes_.size()); }
  void prepare(std::uint32_t lane, std::span<const transport::WorkRequest> slots) override {
    for (const auto& slot : slots) lanes_[lane].signaled.push_back(slot.signaled ? 1 : 0);
  }
  void prepare_recv(std::uint32_t, std::span<const transport::RecvRequest>) override {}
  transport::PostResult post(std::uint32_t lane, std::uint32_t first, std::uint32_t count) noexcept override {
    Lane& l = lanes_[lane];
    for (std::uint32_t i = 0; i < count; ++i) l.done += l.signaled[first + i];
    return {count, 0};
  }
  transport::PostResult post_recv(std::uint32_t, std::uint32_t, std::uint32_t count) noexcept override { return {count, 0}; }
  int poll(std::span<transport::Completion> out) noexcept override {
    std::size_t n = 0;
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      std::size_t take = std::min<std::size_t>(lanes_[lane].done, out.size() - n);
      lanes_[lane].done -= take;
      for (; take > 0; --take) out[n++] = {.lane = lane};
    }
    return static_cast<int>(n);
  }
  int poll_recv(std::span<transport::Completion>) noexcept override { return 0; }
  int arm() noexcept override { return 0; }
  int wait(Deadline) noexcept override { return 0; }
  std::string describe(const transport::Completion&) const override { return "null"; }

 private:
  struct Lane {
    std::vector<std::uint8_t> signaled;
    std::uint64_t done = 0;
  };
  std::vector<Lane> lanes_;
};

}  // namespace railgauge::testing_support
