#include "bench/rdma/layout.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;
using plan::Plan;

constexpr std::uint64_t kCacheLine = 64;
// 64 KiB × 4096 is the default working set; longer rings of 144 B requests would push the payload out of the cache.
constexpr std::uint32_t kLongestRing = 4096;
// Per thread, over all lanes: 9 MiB of requests.
constexpr std::uint32_t kMostRingSlots = 65536;
// Below a page a message is a matter of message rate: a short ring stays in the L1 cache.
constexpr std::uint64_t kSmallMessage = 4096;
// perftest's receive depth; deep enough for a receiver that is off the CPU for 0.1 ms at 5 M messages/s.
constexpr std::uint32_t kReceives = 512;
constexpr std::uint32_t kReceiveBatch = 16;
constexpr std::uint64_t kLoadMessage = 65536;
constexpr std::uint32_t kLoadDepth = 32;

bool has_receives(Operation op) { return op == Operation::send || op == Operation::write_imm; }

std::uint64_t stride_of(std::uint64_t message_bytes) { return (message_bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

std::uint32_t largest_divisor_up_to(std::uint32_t number, std::uint64_t most) {
  for (auto d = static_cast<std::uint32_t>(std::min<std::uint64_t>(number, most)); d > 1; --d)
    if (number % d == 0) return d;
  return 1;
}

/// Requests that form a whole number of posts and of signals. A latency loop goes through its ring one by one.
std::uint32_t step_of(const Group& g) { return g.task == GroupTask::stream ? std::lcm(g.post_batch, g.signal_every) : g.depth; }

/// Slots of a lane are a multiple or a divisor of this: whole posts and signals, and whole posts of receives.
std::uint32_t unit_of(const Group& g) { return has_receives(g.operation) && g.task == GroupTask::stream ? std::lcm(step_of(g), kReceiveBatch) : step_of(g); }

/// Payloads that take turns in a slot. Three, and not two: a loss goes unseen where it is the last of the run and a whole number of
/// rounds through all of them long, and sizes, depths and counts are powers of two. One where each message is checked as it
/// arrives, which spoils its slot; fewer where the memory allowed holds no more.
std::uint32_t versions_of(const Group& g, const Plan& plan) {
  constexpr std::uint64_t kVersions = 3;
  if (g.is_ping_pong() || (g.task == GroupTask::requests && !g.is_atomic())) return 1;
  const bool chosen = plan.working_set_bytes && g.task == GroupTask::stream;
  const std::uint64_t most = chosen ? *plan.working_set_bytes : kMostWorkingSet / static_cast<std::uint64_t>(plan.threads);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most / (stride_of(g.message_bytes) * g.lanes), 1, kVersions));
}

/// Slots from depth, batch and signalling.
void lay_out_slots(Group& g, std::uint64_t working_set_bytes, bool chosen_by_user) {
  g.stride = stride_of(g.message_bytes);
  const std::uint32_t unit = unit_of(g);
  std::uint64_t room = std::max<std::uint64_t>(1, working_set_bytes / (g.stride * g.most_versions));
  std::uint64_t longest = std::min<std::uint64_t>(kLongestRing, kMostRingSlots / g.lanes) / g.most_versions;
  // A checked write_imm needs slots beyond those in flight (slots_written_ahead).
  const std::uint64_t shortest = g.check_each && g.operation == Operation::write_imm ? 4 * std::uint64_t{g.depth} : g.depth;
  if (!chosen_by_user && g.message_bytes < kSmallMessage) longest = std::min(longest, shortest);
  std::uint64_t per_lane = std::clamp<std::uint64_t>(room / g.lanes, 1, std::max<std::uint64_t>(1, longest));
  g.slots_per_lane = per_lane >= unit ? static_cast<std::uint32_t>(per_lane / unit * unit) : largest_divisor_up_to(unit, per_lane);
  std::uint64_t all = std::uint64_t{g.slots_per_lane} * g.lanes;
  // Every lane has a slot of its own where memory allows, else lanes share: the same data lands from each.
  g.slots = static_cast<std::uint32_t>(std::max<std::uint64_t>(g.slots_per_lane, std::min(all, room / g.slots_per_lane * g.slots_per_lane)));
}

void lay_out_receives(Group& g, std::uint32_t max_requests) {
  if (!has_receives(g.operation)) return;
  g.recv_batch = g.task == GroupTask::ping_pong_completion ? 1 : largest_divisor_up_to(kReceiveBatch, std::max(1U, max_requests / 4));
  std::uint32_t wanted = g.task == GroupTask::ping_pong_completion ? plan::kLatencyDepth : std::max(kReceives, 2 * g.depth);
  g.recv_depth = std::max(g.recv_batch, std::min(wanted, max_requests) / g.recv_batch * g.recv_batch);
}

/// Slots that messages may write before they have a receive. A send without one leaves no trace; of a write_imm all but the
/// last packet land, and are not sent again when that one is.
std::uint32_t slots_written_ahead(const Group& g) { return g.operation == Operation::write_imm ? g.depth : 0; }

/// Rings for `used` addresses per lane, each of which has `versions` payloads.
void lay_out_rings(Group& g, std::uint32_t used) {
  g.used_slots = used;
  g.ring = std::lcm(g.source_slots(), step_of(g));
  if (!has_receives(g.operation)) return;
  const std::uint32_t ahead = slots_written_ahead(g);
  if (g.check_each && g.task != GroupTask::ping_pong_completion && g.regions() >= g.lanes && used > ahead) {
    // A message needs a receive, so no more arrive than there are receives until one has been checked. Fewer receives cost
    // the figure, so only where each can be checked then.
    const std::uint32_t most = used - ahead;
    g.recv_batch = largest_divisor_up_to(used, std::min(g.recv_batch, most));
    g.recv_depth = std::max(g.recv_batch, std::min(g.recv_depth, most) / g.recv_batch * g.recv_batch);
  }
  g.recv_ring = g.task == GroupTask::ping_pong_completion ? std::max(g.recv_depth, used) / used * used : std::lcm(g.source_slots(), g.recv_batch);
}

Group stream_group(const Plan& plan) {
  Group g;
  g.operation = plan.operation;
  g.message_bytes = plan.message_bytes;
  g.lanes = static_cast<std::uint32_t>(plan.rdma.qps);
  g.depth = static_cast<std::uint32_t>(plan.rdma.depth);
  g.post_batch = static_cast<std::uint32_t>(plan.rdma.post_batch);
  g.signal_every = static_cast<std::uint32_t>(plan.rdma.signal_every);
  g.check_each = plan.verify_each;
  return g;
}

/// A power of two, so that rings of both hosts, of different devices, go into each other.
std::uint32_t depth_within(std::uint32_t wanted, std::uint32_t max_requests) { return std::min(wanted, std::bit_floor(max_requests)); }

Group latency_group(const Plan& plan, std::uint32_t max_requests) {
  Group g;
  g.operation = plan.operation;
  g.message_bytes = plan.message_bytes;
  if (plan.load_rate_per_s) g.task = GroupTask::open_loop;
  else if (plan.operation == Operation::write) g.task = GroupTask::ping_pong_memory;
  else if (has_receives(plan.operation)) g.task = GroupTask::ping_pong_completion;
  else g.task = GroupTask::requests;
  g.depth = depth_within(g.task == GroupTask::open_loop ? plan::kOpenLoopDepth : plan::kLatencyDepth, max_requests);
  g.check_each = plan.verify;
  return g;
}

Group load_group(const Plan& plan, std::uint32_t max_requests) {
  Group g;
  g.load = true;
  g.operation = Operation::write;
  g.message_bytes = kLoadMessage;
  g.lanes = static_cast<std::uint32_t>(plan.rdma.qps);
  g.depth = depth_within(kLoadDepth, max_requests);
  g.signal_every = std::min(4U, g.depth);
  return g;
}

/// What the slots of a group are to fit in.
struct Room {
  const Plan& plan;
  std::uint64_t working_set_bytes;
  std::uint32_t max_requests;
};

/// All that follows from operation, task and most_versions, as if the peer had the same room.
void lay_out_group(Group& g, const Room& room) {
  const bool stream = g.task == GroupTask::stream;
  const std::uint64_t latency_bytes = plan::latency_slots(room.plan) * g.most_versions * stride_of(g.message_bytes);
  lay_out_slots(g, stream ? room.working_set_bytes : latency_bytes, !stream || room.plan.working_set_bytes.has_value());
  if (!g.load) lay_out_receives(g, room.max_requests);
  g.agree(g.slots_per_lane, g.regions());
}

}  // namespace

bool initiates(const Plan& plan, Side side) {
  if (plan.direction == Direction::both) return true;
  bool data_from_client = plan.direction == Direction::to;
  bool client_initiates = plan.operation == Operation::read ? !data_from_client : data_from_client;
  return client_initiates == (side == Side::client);
}

std::vector<Group> lay_out(const Plan& plan, std::uint64_t working_set_bytes, std::uint32_t max_requests) {
  std::vector<Group> groups;
  const bool latency = plan.metric == Metric::latency;
  for (int t = 0; t < (latency ? 1 : plan.threads); ++t) groups.push_back(latency ? latency_group(plan, max_requests) : stream_group(plan));
  if (latency && plan.under_load) groups.push_back(load_group(plan, max_requests));
  for (Group& g : groups) {
    const Room room{.plan = plan, .working_set_bytes = working_set_bytes, .max_requests = max_requests};
    lay_out_group(g, room);
    if (g.can_check_each()) continue;
    g.most_versions = versions_of(g, plan);
    lay_out_group(g, room);
  }
  return groups;
}

bool Group::can_check_each() const {
  if (!check_each || regions() < lanes) return false;
  const bool receives_bound = needs_receives() && recv_depth + slots_written_ahead(*this) <= used_slots;
  switch (task) {
    case GroupTask::stream: return receives_bound || (operation == Operation::read && depth <= used_slots);
    case GroupTask::ping_pong_memory:
    case GroupTask::ping_pong_completion: return used_slots >= 2;
    case GroupTask::requests: return operation == Operation::read;
    case GroupTask::open_loop: return receives_bound;
  }
  return false;
}

void Group::agree(std::uint32_t peer_slots_per_lane, std::uint32_t peer_regions) {
  // Lanes that share a region on either host must carry the same payload.
  contents = lanes;
  for (std::uint32_t n : {regions(), peer_regions})
    if (n < lanes) contents = contents < lanes ? std::gcd(contents, n) : n;
  versions = contents < lanes ? 1 : most_versions;
  lay_out_rings(*this, std::min(slots_per_lane, peer_slots_per_lane));
}

}  // namespace railgauge::bench
