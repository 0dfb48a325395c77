#pragma once
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/work_queue.h"

namespace railgauge::testing_support {

/// Two queues in one process that move bytes by memcpy, for the suite that every queue passes. Keys are not looked at.
class LoopbackQueue final : public transport::WorkQueue {
 public:
  using Completion = transport::Completion;
  explicit LoopbackQueue(std::uint32_t lanes) : lanes_(lanes) {}
  void connect(LoopbackQueue& peer) {
    peer_ = &peer;
    peer.peer_ = this;
  }

  std::uint32_t lanes() const noexcept override { return static_cast<std::uint32_t>(lanes_.size()); }
  void prepare(std::uint32_t lane, std::span<const transport::WorkRequest> slots) override { lanes_[lane].sends.assign(slots.begin(), slots.end()); }
  void prepare_recv(std::uint32_t lane, std::span<const transport::RecvRequest> slots) override { lanes_[lane].ring.assign(slots.begin(), slots.end()); }

  transport::PostResult post(std::uint32_t lane, std::uint32_t first, std::uint32_t count) noexcept override {
    for (std::uint32_t i = 0; i < count; ++i) carry_out(lane, first + i);
    return {count, 0};
  }
  transport::PostResult post_recv(std::uint32_t lane, std::uint32_t first, std::uint32_t count) noexcept override {
    std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < count; ++i) lanes_[lane].posted.push_back(first + i);
    return {count, 0};
  }
  int poll(std::span<Completion> out) noexcept override { return take(done_, out); }
  int poll_recv(std::span<Completion> out) noexcept override { return take(received_, out); }
  int arm() noexcept override { return 0; }
  int wait(Deadline) noexcept override { return 1; }
  std::string describe(const Completion&) const override { return "loopback"; }

 private:
  struct Lane {
    std::vector<transport::WorkRequest> sends;
    std::vector<transport::RecvRequest> ring;
    std::deque<std::uint32_t> posted;
  };

  int take(std::deque<Completion>& from, std::span<Completion> out) {
    std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (; n < out.size() && !from.empty(); ++n) {
      out[n] = from.front();
      from.pop_front();
    }
    return static_cast<int>(n);
  }

  static void* at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

  void carry_out(std::uint32_t lane, std::uint32_t slot) {
    const transport::WorkRequest& r = lanes_[lane].sends[slot];
    switch (r.op) {
      case transport::Opcode::write:
      case transport::Opcode::write_imm: std::memcpy(at(r.remote_address), at(r.local_address), r.bytes); break;
      case transport::Opcode::read: std::memcpy(at(r.local_address), at(r.remote_address), r.bytes); break;
      case transport::Opcode::send: break;
      case transport::Opcode::fetch_add:
      case transport::Opcode::compare_swap: change_word(r); break;
    }
    if (r.op == transport::Opcode::send || r.op == transport::Opcode::write_imm) peer_->deliver(lane, r);
    std::lock_guard lock(mutex_);
    if (r.signaled) done_.push_back({.lane = lane, .slot = slot});
  }

  static void change_word(const transport::WorkRequest& r) {
    std::uint64_t old = 0;
    std::memcpy(&old, at(r.remote_address), sizeof old);
    std::uint64_t next = r.op == transport::Opcode::fetch_add ? old + r.compare_add : old == r.compare_add ? r.swap : old;
    std::memcpy(at(r.remote_address), &next, sizeof next);
    std::memcpy(at(r.local_address), &old, sizeof old);
  }

  void deliver(std::uint32_t lane, const transport::WorkRequest& r) {
    std::lock_guard lock(mutex_);
    std::uint32_t slot = lanes_[lane].posted.front();
    lanes_[lane].posted.pop_front();
    if (r.op == transport::Opcode::send) std::memcpy(at(lanes_[lane].ring[slot].local_address), at(r.local_address), r.bytes);
    received_.push_back({.lane = lane, .slot = slot, .status = 0, .vendor_error = 0, .bytes = r.bytes,
                         .immediate = r.op == transport::Opcode::write_imm ? r.immediate : 0});
  }

  std::vector<Lane> lanes_;
  LoopbackQueue* peer_ = nullptr;
  std::mutex mutex_;
  std::deque<Completion> done_;
  std::deque<Completion> received_;
};

}  // namespace railgauge::testing_support
