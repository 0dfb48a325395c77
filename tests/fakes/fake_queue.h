#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "transport/work_queue.h"

namespace railgauge::testing_support {

/// A queue that does what its script says and records the order of calls. Completes each signalled request at the next
/// poll unless told otherwise. Calls and messages are counted from 1.
class FakeQueue final : public transport::WorkQueue {
 public:
  using Completion = transport::Completion;
  using PostResult = transport::PostResult;

  explicit FakeQueue(std::uint32_t lanes = 1) : lanes_(lanes) {}

  // ---- the script
  struct Refusal {
    std::uint32_t accepted = 0;
    int error = 0;
  };
  std::map<std::uint64_t, Refusal> refused_posts;        ///< n-th post
  std::map<std::uint64_t, Refusal> refused_recv_posts;   ///< n-th post_recv
  std::map<std::uint64_t, std::uint32_t> failed_messages;   ///< n-th message → status; what follows on its lane is flushed
  std::map<std::uint64_t, int> failed_polls;             ///< n-th poll → errno
  std::map<std::uint64_t, int> failed_recv_polls;
  std::uint64_t complete_at_most = ~0ULL;                ///< messages that ever complete; the others are stuck
  std::size_t completions_per_poll = ~std::size_t{0};
  int arm_error = 0;
  int wait_error = 0;
  std::function<void(std::uint64_t message)> on_post;    ///< after each message that was accepted
  std::function<void(std::uint64_t poll)> on_poll;       ///< before each poll of either queue

  /// A receive completion of `bytes`, delivered when a receive is posted on the lane.
  void arrive(std::uint32_t lane, std::uint32_t bytes, std::uint32_t status = transport::kSuccess) { arriving_.push_back({lane, bytes, status}); }

  // ---- what happened
  std::vector<std::string> calls;                        ///< "post 0:3+2", "recv 1:0+4", "arm", "wait"; polls are not listed
  std::uint64_t posts = 0, recv_posts = 0, polls = 0, recv_polls = 0, messages = 0, waits = 0;
  std::uint64_t waits_slept_through = 0;                 ///< waits although something lay there
  std::uint64_t most_in_flight = 0;                      ///< on any lane
  std::uint64_t posted_on(std::uint32_t lane) const { return lanes_[lane].posted; }
  std::uint64_t receives_on(std::uint32_t lane) const { return lanes_[lane].receives.size(); }

  // ---- WorkQueue
  std::uint32_t lanes() const noexcept override { return static_cast<std::uint32_t>(lanes_.size()); }
  void prepare(std::uint32_t lane, std::span<const transport::WorkRequest> slots) override { lanes_[lane].slots.assign(slots.begin(), slots.end()); }
  void prepare_recv(std::uint32_t, std::span<const transport::RecvRequest>) override {}

  PostResult post(std::uint32_t lane, std::uint32_t first, std::uint32_t count) noexcept override {
    calls.push_back(fmt::format("post {}:{}+{}", lane, first, count));
    auto refusal = refused_posts.find(++posts);
    std::uint32_t accepted = refusal == refused_posts.end() ? count : refusal->second.accepted;
    for (std::uint32_t i = 0; i < accepted; ++i) accept(lane, first + i);
    return {accepted, refusal == refused_posts.end() ? 0 : refusal->second.error};
  }
  PostResult post_recv(std::uint32_t lane, std::uint32_t first, std::uint32_t count) noexcept override {
    calls.push_back(fmt::format("recv {}:{}+{}", lane, first, count));
    auto refusal = refused_recv_posts.find(++recv_posts);
    std::uint32_t accepted = refusal == refused_recv_posts.end() ? count : refusal->second.accepted;
    for (std::uint32_t i = 0; i < accepted; ++i) lanes_[lane].receives.push_back(first + i);
    return {accepted, refusal == refused_recv_posts.end() ? 0 : refusal->second.error};
  }
  int poll(std::span<Completion> out) noexcept override {
    if (on_poll) on_poll(polls + recv_polls + 1);
    if (auto failed = failed_polls.find(++polls); failed != failed_polls.end()) return -failed->second;
    std::size_t n = 0;
    while (n < out.size() && n < completions_per_poll && !done_.empty()) {
      out[n] = done_.front();
      done_.pop_front();
      Lane& lane = lanes_[out[n].lane];
      lane.completed = std::max(lane.completed, ids_.front());
      ids_.pop_front();
      ++n;
    }
    return static_cast<int>(n);
  }
  int poll_recv(std::span<Completion> out) noexcept override {
    if (on_poll) on_poll(polls + recv_polls + 1);
    if (auto failed = failed_recv_polls.find(++recv_polls); failed != failed_recv_polls.end()) return -failed->second;
    std::size_t n = 0;
    for (auto it = arriving_.begin(); it != arriving_.end() && n < out.size();) {
      auto& receives = lanes_[it->lane].receives;
      if (receives.empty()) {
        ++it;
        continue;
      }
      out[n++] = {.lane = it->lane, .slot = receives.front(), .status = it->status, .vendor_error = 0, .bytes = it->bytes, .immediate = 0};
      receives.pop_front();
      it = arriving_.erase(it);
    }
    return static_cast<int>(n);
  }
  int arm() noexcept override {
    calls.emplace_back("arm");
    return -arm_error;
  }
  int wait(Deadline) noexcept override {
    calls.emplace_back("wait");
    ++waits;
    // What lies there already was there before the queue was armed, or should have been polled after it: it wakes nobody.
    auto can_arrive = [this](const Arrival& a) { return !lanes_[a.lane].receives.empty(); };
    if (!done_.empty() || std::any_of(arriving_.begin(), arriving_.end(), can_arrive)) ++waits_slept_through;
    return wait_error != 0 ? -wait_error : 0;
  }
  std::string describe(const Completion& c) const override { return fmt::format("fake status {}", c.status); }

 private:
  struct Lane {
    std::vector<transport::WorkRequest> slots;
    std::deque<std::uint32_t> receives;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    bool broken = false;
  };
  struct Arrival {
    std::uint32_t lane, bytes, status;
  };

  void accept(std::uint32_t index, std::uint32_t slot) {
    Lane& lane = lanes_[index];
    ++messages;
    ++lane.posted;
    most_in_flight = std::max(most_in_flight, lane.posted - lane.completed);
    bool signaled = slot >= lane.slots.size() || lane.slots[slot].signaled;
    std::uint32_t status = transport::kSuccess;
    if (auto failed = failed_messages.find(messages); failed != failed_messages.end()) status = failed->second;
    else if (lane.broken) status = transport::kFlushed;
    if (status != transport::kSuccess) lane.broken = true;
    if ((signaled || status != transport::kSuccess) && messages <= complete_at_most) {
      done_.push_back({.lane = index, .slot = slot, .status = status});
      ids_.push_back(lane.posted);
    }
    if (on_post) on_post(messages);
  }

  std::vector<Lane> lanes_;
  std::deque<Completion> done_;
  std::deque<std::uint64_t> ids_;       // of each: its number on its lane
  std::deque<Arrival> arriving_;
};

}  // namespace railgauge::testing_support
