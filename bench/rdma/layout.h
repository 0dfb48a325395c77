#pragma once
#include <cstdint>
#include <vector>

#include "bench/engine.h"
#include "plan/plan.h"

namespace railgauge::bench {

/// What the queue pairs of one thread do.
enum class GroupTask { stream, ping_pong_memory, ping_pong_completion, requests, open_loop };

/// What a buffer is for: the initiator of writes and sends sends from a source, that of reads reads from one.
enum class Use { source, target };

/// Most memory that a thread's messages go through unless asked for: larger than most last-level caches, quick to fill and pin.
inline constexpr std::uint64_t kMostWorkingSet = 256ULL << 20;

/// The queue pairs, buffers and rings of one measuring thread: the same on both hosts, derived from the plan alone.
/// The k-th message of a lane lands in slot k modulo used_slots, and comes from slot k modulo source_slots() of the source: that
/// many different payloads, `versions` of them for each slot it lands in. So a message that did not arrive leaves an older version
/// in its slot, and displaced data is found.
struct Group {
  GroupTask task = GroupTask::stream;
  plan::Operation operation = plan::Operation::write;
  std::uint64_t message_bytes = 0;
  std::uint32_t lanes = 1;
  std::uint32_t depth = 1;              ///< outstanding requests per lane
  std::uint32_t post_batch = 1;
  std::uint32_t signal_every = 1;
  std::uint64_t stride = 64;            ///< bytes from slot to slot
  std::uint32_t slots_per_lane = 1;     ///< different addresses that a lane could go through on this host
  std::uint32_t used_slots = 1;         ///< that it does go through: the fewer of both hosts
  std::uint32_t slots = 1;              ///< of all lanes; lanes share slots when there is not memory for all
  std::uint32_t most_versions = 1;      ///< that the source has room for; from the plan alone
  std::uint32_t versions = 1;           ///< in use: one where lanes share slots, because nobody knows whose message was the last
  std::uint32_t ring = 1;               ///< send requests prepared per lane; a multiple of source_slots(), post_batch and signal_every
  std::uint32_t recv_ring = 0;          ///< receives prepared per lane, a multiple of source_slots(); 0: the operation needs none
  std::uint32_t recv_depth = 0;
  std::uint32_t recv_batch = 1;
  bool load = false;                    ///< the stream beside a latency measurement
  bool check_each = false;              ///< the receiver is to check each message before its slot can be written again

  std::uint32_t contents = 1;           ///< different payloads: lane modulo contents chooses; lanes that share slots share the payload

  /// fetch_add or compare_swap: 8 bytes at a time, checked where they were asked for.
  bool is_atomic() const { return plan::is_atomic(operation); }
  /// Both sides answer each other; the figure is half a round trip.
  bool is_ping_pong() const { return task == GroupTask::ping_pong_memory || task == GroupTask::ping_pong_completion; }
  /// Of writes the passive side sees nothing but the data. The last one says how many came before it: proof that the QP moved
  /// data to the end.
  bool has_tally() const { return operation == plan::Operation::write && !is_ping_pong(); }
  /// What this host's requests name, and what the peer reaches.
  Use local_use() const { return plan::is_read_or_atomic(operation) ? Use::target : Use::source; }
  Use exposed_use() const { return operation == plan::Operation::read ? Use::source : Use::target; }
  /// Different payloads of one lane.
  std::uint32_t source_slots() const { return versions * used_slots; }
  /// Regions of slots that are apart; lanes l and l + regions() share one.
  std::uint32_t regions() const { return slots / slots_per_lane; }
  /// The buffer begins with one cache line per lane, in which the initiator of a write leaves its number of messages for
  /// the checker; the slots follow on a page of their own.
  std::uint64_t tally_offset(std::uint32_t lane) const { return std::uint64_t{lane} * 64; }
  /// Bytes from the buffer's begin to the first slot.
  std::uint64_t slots_offset() const { return (std::uint64_t{lanes} * 64 + 4095) / 4096 * 4096; }
  /// Bytes from the begin of a source or target to a lane's first slot.
  std::uint64_t lane_offset(Use use, std::uint32_t lane) const {
    return slots_offset() + std::uint64_t{lane % regions()} * slots_per_lane * stride * (use == Use::source ? most_versions : 1);
  }
  /// Size of a whole source or target.
  std::uint64_t buffer_bytes(Use use) const { return slots_offset() + slots * stride * (use == Use::source ? most_versions : 1); }
  /// Where the payload of a lane's slot of the source begins in the group's pattern.
  std::uint64_t pattern_offset(std::uint32_t lane, std::uint32_t source_slot) const {
    return (std::uint64_t{lane % contents} * source_slots() + source_slot) * stride;
  }
  /// Settles what both hosts must do alike when their working sets differ: addresses per lane, rings and payloads.
  /// Call it on both sides, with what the other side has.
  void agree(std::uint32_t peer_slots_per_lane, std::uint32_t peer_regions);
  /// The operation consumes receives on the passive side.
  bool needs_receives() const { return recv_ring > 0; }
  /// check_each can be kept: no lane writes another's slot, and no more messages are on their way to a lane than it has slots.
  bool can_check_each() const;
};

/// Whether this side initiates. `direction` names the way of the data, seen from the client; a read is initiated by the
/// side that receives, so a read `from` the server is the client's.
bool initiates(const plan::Plan& plan, Side side);

/// One group per thread, and one more for the stream of a latency under load. `working_set_bytes` per thread.
/// `max_requests`: most sends, and most receives, per lane that this device can hold; a latency needs few and takes what there is,
/// while a stream's depth is the plan's.
std::vector<Group> lay_out(const plan::Plan& plan, std::uint64_t working_set_bytes, std::uint32_t max_requests);

}  // namespace railgauge::bench
