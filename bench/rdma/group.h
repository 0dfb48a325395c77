#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/rdma/layout.h"
#include "bench/rdma/slot_check.h"
#include "loops/ping_pong_memory.h"
#include "loops/receive.h"
#include "memory/buffer_source.h"
#include "results/record.h"
#include "transport/offer.h"
#include "verbs/device.h"
#include "verbs/memory_region.h"
#include "verbs/verbs_queue.h"

namespace railgauge::bench {

/// What one thread of one side owns: queue pairs, completion queues, registered buffers, and how to check what arrived.
/// Set-up and check by one thread; the queue belongs to the measuring thread in between.
class RdmaGroup {
 public:
  struct Request {
    const plan::Plan* plan = nullptr;
    Side side = Side::client;
    const verbs::ProtectionDomain* domain = nullptr;
    memory::BufferSource* source = nullptr;
    Group layout;
    std::uint32_t index = 0;            ///< of the group: part of the seed of its data
  };

  /// Allocates and registers. Throws Error; ENOMEM where less memory may do.
  explicit RdmaGroup(const Request& request);
  /// Creates the QPs, in RESET; once, before all that follows. `inline_bytes`: wanted. Throws Error. Both outlive the group.
  void create_queue(const verbs::Device& device, const verbs::ProtectionDomain& domain, std::uint32_t inline_bytes);

  Side side() const noexcept { return side_; }
  std::uint32_t index() const noexcept { return index_; }
  const Group& layout() const noexcept { return layout_; }
  verbs::VerbsQueue& queue() noexcept { return *queue_; }
  const verbs::VerbsQueue& queue() const noexcept { return *queue_; }
  bool initiating() const noexcept { return initiating_; }
  bool responding() const noexcept { return responding_; }
  bool relaxed_ordering() const noexcept { return relaxed_ordering_; }
  std::string placement() const;
  std::uint64_t registered_bytes() const noexcept;
  bool messages_inline() const noexcept { return messages_inline_; }

  /// What the peer must know of each lane; psn and QP number are filled in, in lane order.
  std::vector<transport::QpInfo> qp_infos(std::span<const std::uint32_t> psns) const;
  /// Agrees with the peer's offer on addresses and payloads, fills the buffers, lays down the rings and posts the first
  /// receives. QPs must be in INIT.
  void prepare(std::span<const transport::QpInfo> peer);

  /// For a ping-pong on memory.
  loops::Stamps stamps() const noexcept;
  loops::ReceiveSettings receive_settings() const;
  /// What sees each message that arrives here, where that was asked for and can be done; else null. After prepare().
  loops::MessageCheck* message_check() const noexcept { return check_.get(); }
  /// Where a ping-pong on memory ended after `rounds`: the next message did arrive, all but its last byte, the mark that is
  /// waited for; that byte, as a verification's only mismatch. Nothing where each message is not checked: the message before
  /// cannot be told from it then.
  std::optional<results::Verification> damaged_mark(std::uint64_t rounds) const;
  /// Writes `messages` to the other side, behind all else; a write's initiator calls it for each lane after the loop.
  /// False when the post failed or did not complete by the deadline. Throws Error.
  [[nodiscard]] bool send_tally(std::uint32_t lane, std::uint64_t messages, Deadline deadline);

  /// What messages must have arrived here and have not, in words; nothing: none. `sent`: messages per lane that completed with
  /// success on the other side and will not be followed by more; `received`: as this side's loop counted them, empty where
  /// nobody sees them arrive. Throws Error.
  std::optional<std::string> what_is_lost(std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received);
  /// What the checks of each message found, or else what the last transfers left here. `counts`: messages per lane that completed
  /// on the side that initiates; empty: not known. Nothing when there is nothing to check here. `warnings`: why less was checked
  /// than asked for. Throws Error.
  std::optional<results::Verification> verify(std::span<const std::uint64_t> counts, std::vector<std::string>& warnings);

 private:
  memory::Pattern pattern_of(bool of_initiator_here) const;
  bool fills_local() const;
  void fill(memory::Block& block, memory::Pattern pattern);
  void prepare_sends(std::uint32_t lane, const transport::QpInfo& peer, std::uint64_t peer_tally);
  void prepare_receives(std::uint32_t lane);
  void check_each_message();
  std::string why_not_each() const;
  std::uint64_t compared_bytes() const noexcept;
  transport::WorkRequest request_of(std::uint32_t lane, std::uint32_t position, const transport::QpInfo& peer) const;
  results::Verification verify_pattern(memory::Block& block, memory::Pattern pattern, std::span<const std::uint64_t> counts);
  results::Verification verify_atomics(std::span<const std::uint64_t> counts);

  const plan::Plan& plan_;
  Side side_;
  Group layout_;
  std::uint32_t index_;
  bool initiating_;
  bool responding_;
  bool relaxed_ordering_ = false;
  bool messages_inline_ = false;
  std::unique_ptr<memory::Block> local_;    ///< of requests that this side initiates
  std::unique_ptr<memory::Block> exposed_;  ///< what the peer reaches: written, read, or where receives land
  std::unique_ptr<verbs::Region> local_region_;
  std::unique_ptr<verbs::Region> exposed_region_;
  std::unique_ptr<verbs::VerbsQueue> queue_;
  std::unique_ptr<SlotCheck> check_;
};

}  // namespace railgauge::bench
