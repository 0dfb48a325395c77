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
std::uint32_t step_of(const Group& g) {
  if (g.task != GroupTask::stream) return g.depth;
  auto step = std::lcm(g.post_batch, g.signal_every);
  // compare_swap alternates between two values, so its ring is even.
  return g.operation == Operation::compare_swap ? std::lcm(step, 2U) : step;
}

/// Slots from depth, batch and signalling.
void lay_out_slots(Group& g, std::uint64_t working_set_bytes, bool chosen_by_user) {
  g.stride = stride_of(g.message_bytes);
  std::uint32_t step = step_of(g);
  std::uint64_t room = std::max<std::uint64_t>(1, working_set_bytes / g.stride);
  std::uint64_t longest = std::max<std::uint64_t>({1, std::min<std::uint64_t>(kLongestRing, kMostRingSlots / g.lanes)});
  // A checked write_imm needs slots beyond those in flight (slots_written_ahead).
  const std::uint64_t shortest = g.check_each && g.operation == Operation::write_imm ? 4 * std::uint64_t{g.depth} : g.depth;
  if (!chosen_by_user && g.message_bytes < kSmallMessage) longest = std::min(longest, shortest);
  std::uint64_t per_lane = std::clamp<std::uint64_t>(room / g.lanes, 1, longest);
  g.slots_per_lane = per_lane >= step ? static_cast<std::uint32_t>(per_lane / step * step) : largest_divisor_up_to(step, per_lane);
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

/// Rings for `used` addresses per lane, which is a multiple or a divisor of the step.
void lay_out_rings(Group& g, std::uint32_t used) {
  g.used_slots = used;
  std::uint32_t step = step_of(g);
  g.ring = used >= step ? used : step;
  if (!has_receives(g.operation)) return;
  const std::uint32_t ahead = slots_written_ahead(g);
  if (g.check_each && g.task != GroupTask::ping_pong_completion && g.regions() >= g.lanes && used > ahead) {
    // A message needs a receive, so no more arrive than there are receives until one has been checked. Fewer receives cost
    // the figure, so only where each can be checked then.
    const std::uint32_t most = used - ahead;
    g.recv_batch = largest_divisor_up_to(used, std::min(g.recv_batch, most));
    g.recv_depth = std::max(g.recv_batch, std::min(g.recv_depth, most) / g.recv_batch * g.recv_batch);
  }
  g.recv_ring = g.task == GroupTask::ping_pong_completion ? std::max(g.recv_depth, used) / used * used : std::lcm(used, g.recv_batch);
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

}  // namespace

bool initiates(const Plan& plan, Side side) {
  if (plan.direction == Direction::both) return true;
  bool data_from_client = plan.direction == Direction::to;
  bool client_initiates = plan.operation == Operation::read ? !data_from_client : data_from_client;
  return client_initiates == (side == Side::client);
}

std::vector<Group> lay_out(const Plan& plan, std::uint64_t working_set_bytes, std::uint32_t max_requests) {
  std::vector<Group> groups;
  bool chosen = plan.working_set_bytes.has_value();
  if (plan.metric == Metric::latency) {
    Group g = latency_group(plan, max_requests);
    lay_out_slots(g, plan::latency_slots(plan) * stride_of(g.message_bytes), true);
    lay_out_receives(g, max_requests);
    groups.push_back(g);
    if (plan.under_load) {
      groups.push_back(load_group(plan, max_requests));
      lay_out_slots(groups.back(), working_set_bytes, chosen);
    }
  } else {
    for (int t = 0; t < plan.threads; ++t) {
      Group g = stream_group(plan);
      lay_out_slots(g, working_set_bytes, chosen);
      lay_out_receives(g, max_requests);
      groups.push_back(g);
    }
  }
  for (Group& g : groups) g.agree(g.slots_per_lane, g.regions());
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
  lay_out_rings(*this, std::min(slots_per_lane, peer_slots_per_lane));
  // Lanes that share a region on either host must carry the same payload.
  contents = lanes;
  for (std::uint32_t n : {regions(), peer_regions})
    if (n < lanes) contents = contents < lanes ? std::gcd(contents, n) : n;
}

}  // namespace railgauge::bench
