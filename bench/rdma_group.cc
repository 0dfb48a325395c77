#include "bench/rdma_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using plan::Operation;
using transport::Opcode;

bool is_atomic(Operation op) { return op == Operation::fetch_add || op == Operation::compare_swap; }
bool is_ping_pong(const Group& g) { return g.task == GroupTask::ping_pong_memory || g.task == GroupTask::ping_pong_completion; }
/// Writes leave no trace at the passive side but the data, so their number is sent along.
bool has_tally(const Group& g) { return g.operation == Operation::write && !is_ping_pong(g); }

Opcode opcode_of(Operation op) {
  switch (op) {
    case Operation::write: return Opcode::write;
    case Operation::write_imm: return Opcode::write_imm;
    case Operation::read: return Opcode::read;
    case Operation::send: return Opcode::send;
    case Operation::fetch_add: return Opcode::fetch_add;
    case Operation::compare_swap: return Opcode::compare_swap;
    default: throw Error(ErrorKind::usage, fmt::format("operation {} is none of RDMA", plan::name_of(op)));
  }
}

std::unique_ptr<verbs::Region> register_block(const RdmaGroup::Request& request, const memory::Block& block, bool exposed) {
  Operation op = request.layout.operation;
  verbs::RegionRequest wanted{.pd = request.domain->get(),
                              .memory = block.registration(),
                              .remote_write = exposed && (op == Operation::write || op == Operation::write_imm),
                              .remote_read = exposed && op == Operation::read,
                              .remote_atomic = exposed && is_atomic(op),
                              // Looking at memory needs the last byte to land last, which relaxed ordering gives up.
                              .relaxed_ordering = request.plan->rdma.relaxed_ordering && request.layout.task != GroupTask::ping_pong_memory};
  return std::make_unique<verbs::Region>(wanted);
}

}  // namespace

RdmaGroup::RdmaGroup(const Request& request)
    : plan_(*request.plan),
      side_(request.side),
      layout_(request.layout),
      index_(request.index),
      initiating_(initiates(*request.plan, request.side) || is_ping_pong(request.layout)),
      responding_(!initiates(*request.plan, request.side) || request.plan->direction == plan::Direction::both || is_ping_pong(request.layout)) {
  if (initiating_) {
    local_ = request.source->allocate(layout_.buffer_bytes());
    local_region_ = register_block(request, *local_, false);
  }
  if (responding_) {
    exposed_ = request.source->allocate(layout_.buffer_bytes());
    exposed_region_ = register_block(request, *exposed_, true);
  }
  relaxed_ordering_ = (local_region_ && local_region_->relaxed_ordering()) || (exposed_region_ && exposed_region_->relaxed_ordering());
  bool receives = layout_.needs_receives() && responding_;
  queue_ = std::make_unique<verbs::VerbsQueue>(verbs::QueueRequest{.device = request.device,
                                                                   .pd = request.domain->get(),
                                                                   .lanes = layout_.lanes,
                                                                   .send_requests = initiating_ ? layout_.depth : 1,
                                                                   .signal_every = layout_.signal_every,
                                                                   .recv_requests = receives ? layout_.recv_depth : 1,
                                                                   .inline_bytes = initiating_ ? request.inline_bytes : 0,
                                                                   .events = plan_.rdma.events});
  messages_inline_ =
      request.inline_bytes > 0 && layout_.message_bytes <= queue_->caps().inline_bytes && layout_.message_bytes <= request.inline_bytes;
}

std::string RdmaGroup::placement() const { return (local_ ? local_ : exposed_)->placement(); }

std::uint64_t RdmaGroup::registered_bytes() const noexcept { return layout_.buffer_bytes() * ((local_ ? 1U : 0U) + (exposed_ ? 1U : 0U)); }

std::vector<transport::QpInfo> RdmaGroup::qp_infos(std::span<const std::uint32_t> psns) const {
  std::vector<transport::QpInfo> infos;
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    // The passive side of a send has no remote address to give, but its slots are agreed on the same way.
    std::uint64_t base = exposed_ ? exposed_->registration().address : local_->registration().address;
    infos.push_back({.qp_number = queue_->qp(lane)->qp_num,
                     .psn = psns[lane],
                     .remote_address = base + layout_.lane_offset(lane),
                     .remote_bytes = std::uint64_t{layout_.slots_per_lane} * layout_.stride,
                     .rkey = exposed_region_ ? exposed_region_->rkey() : 0});
  }
  return infos;
}

void RdmaGroup::prepare(std::span<const transport::QpInfo> peer) {
  auto peer_slots = static_cast<std::uint32_t>(peer.front().remote_bytes / layout_.stride);
  if (peer.front().remote_bytes % layout_.stride != 0 || peer_slots == 0)
    throw Error(ErrorKind::peer, fmt::format("the peer offers {} bytes per QP, which is no whole number of messages", peer.front().remote_bytes));
  std::uint32_t regions = 1;  // lanes after the first until the addresses begin again
  while (regions < peer.size() && peer[regions].remote_address != peer.front().remote_address) ++regions;
  layout_.agree(peer_slots, regions);
  if (fills_local()) fill(*local_, pattern_of(true));
  if (layout_.operation == Operation::read && responding_) fill(*exposed_, pattern_of(false));
  std::uint64_t peer_tallies = peer.front().remote_address - layout_.slots_offset();
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    if (initiating_) prepare_sends(lane, peer[lane], peer_tallies + layout_.tally_offset(lane));
    if (layout_.needs_receives() && responding_) prepare_receives(lane);
  }
  if (layout_.needs_receives() && responding_) loops::post_first_receives(*queue_, receive_settings());
}

memory::Pattern RdmaGroup::pattern_of(bool of_initiator_here) const {
  // One seed per group and initiating side, so that data of another thread or of the other direction is told apart.
  bool client_initiates = (side_ == Side::client) == of_initiator_here;
  return {.seed = std::uint64_t{index_} * 2 + (client_initiates ? 0 : 1)};
}

bool RdmaGroup::fills_local() const { return initiating_ && layout_.operation != Operation::read && !is_atomic(layout_.operation); }

void RdmaGroup::fill(memory::Block& block, memory::Pattern pattern) {
  std::uint64_t bytes = std::uint64_t{layout_.used_slots} * layout_.stride;
  for (std::uint32_t region = 0; region < layout_.regions(); ++region)
    block.fill(layout_.lane_offset(region), bytes, layout_.pattern_offset(region, 0), pattern);
  if (!is_ping_pong(layout_)) return;
  block.clear(layout_.lane_offset(0) + layout_.message_bytes - 1, 1);  // the stamp of no round
}

transport::WorkRequest RdmaGroup::request_of(std::uint32_t lane, std::uint32_t position, const transport::QpInfo& peer) const {
  std::uint32_t slot = position % layout_.used_slots;
  bool odd = position % 2 == 1;
  bool swap = layout_.operation == Operation::compare_swap;
  return {.op = opcode_of(layout_.operation),
          .signaled = (position + 1) % layout_.signal_every == 0,
          .inline_data = messages_inline_,
          .bytes = static_cast<std::uint32_t>(layout_.message_bytes),
          .lkey = local_region_->lkey(),
          .rkey = peer.rkey,
          .immediate = position,
          .local_address = local_->registration().address + layout_.lane_offset(lane) + slot * layout_.stride,
          // Atomics of a lane work on one word, so that its value says how many there were.
          .remote_address = peer.remote_address + (is_atomic(layout_.operation) ? 0 : slot * layout_.stride),
          .compare_add = swap ? (odd ? 1U : 0U) : 1U,
          .swap = odd ? 0U : 1U};
}

void RdmaGroup::prepare_sends(std::uint32_t lane, const transport::QpInfo& peer, std::uint64_t peer_tally) {
  std::vector<transport::WorkRequest> requests;
  for (std::uint32_t i = 0; i < layout_.ring; ++i) requests.push_back(request_of(lane, i, peer));
  if (has_tally(layout_))
    requests.push_back({.op = Opcode::write,
                        .signaled = true,
                        .inline_data = false,
                        .bytes = 8,
                        .lkey = local_region_->lkey(),
                        .rkey = peer.rkey,
                        .immediate = 0,
                        .local_address = local_->registration().address + layout_.tally_offset(lane),
                        .remote_address = peer_tally,
                        .compare_add = 0,
                        .swap = 0});
  queue_->prepare(lane, requests);
}

void RdmaGroup::prepare_receives(std::uint32_t lane) {
  std::vector<transport::RecvRequest> receives;
  for (std::uint32_t i = 0; i < layout_.recv_ring; ++i) {
    std::uint64_t address = exposed_->registration().address + layout_.lane_offset(lane) + (i % layout_.used_slots) * layout_.stride;
    bool data = layout_.operation == Operation::send;
    receives.push_back(
        {.local_address = address, .bytes = data ? static_cast<std::uint32_t>(layout_.message_bytes) : 0, .lkey = exposed_region_->lkey()});
  }
  queue_->prepare_recv(lane, receives);
}

loops::ReceiveSettings RdmaGroup::receive_settings() const {
  loops::ReceiveSettings settings;
  settings.ring = layout_.recv_ring;
  settings.depth = layout_.recv_depth;
  settings.post_batch = layout_.recv_batch;
  settings.iterations = plan_.iterations;
  settings.times = {.warm_up = plan_.warm_up, .duration = plan_.duration, .interval = plan_.interval};
  settings.events = plan_.rdma.events;
  return settings;
}

std::byte* RdmaGroup::outgoing_stamp() const noexcept { return local_->host_address() + layout_.lane_offset(0) + layout_.message_bytes - 1; }
const std::byte* RdmaGroup::incoming_stamp() const noexcept { return exposed_->host_address() + layout_.lane_offset(0) + layout_.message_bytes - 1; }

bool RdmaGroup::send_tally(std::uint32_t lane, std::uint64_t messages, Deadline deadline) noexcept {
  std::byte* host = local_->host_address();
  if (!has_tally(layout_) || host == nullptr) return true;
  std::copy_n(reinterpret_cast<const std::byte*>(&messages), sizeof messages, host + layout_.tally_offset(lane));
  if (queue_->post(lane, layout_.ring, 1).accepted != 1) return false;
  std::array<transport::Completion, 1> done;
  while (!deadline.passed()) {
    int n = queue_->poll(done);
    if (n != 0) return n == 1 && done[0].status == transport::kSuccess;
  }
  return false;
}

std::vector<std::uint64_t> RdmaGroup::read_tallies() {
  std::vector<std::uint64_t> tallies(layout_.lanes);
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) exposed_->read(layout_.tally_offset(lane), &tallies[lane], sizeof tallies[lane]);
  return tallies;
}

std::optional<results::Verification> RdmaGroup::verify(std::span<const std::uint64_t> counts, std::vector<std::string>& warnings) {
  if (is_atomic(layout_.operation)) return initiating_ ? std::optional(verify_atomics(counts)) : std::nullopt;
  if (layout_.operation == Operation::read) return initiating_ ? std::optional(verify_pattern(*local_, pattern_of(true), counts)) : std::nullopt;
  if (!responding_) return std::nullopt;
  if (!has_tally(layout_)) return verify_pattern(*exposed_, pattern_of(false), counts);
  std::vector<std::uint64_t> tallies = read_tallies();
  if (std::any_of(tallies.begin(), tallies.end(), [](std::uint64_t n) { return n == 0; })) {
    warnings.emplace_back("the peer did not leave its number of writes on every QP: only what it counted was verified");
  }
  return verify_pattern(*exposed_, pattern_of(false), tallies);
}

results::Verification RdmaGroup::verify_pattern(memory::Block& block, memory::Pattern pattern, std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> touched(layout_.regions(), 0);
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    std::uint64_t& most = touched[lane % layout_.regions()];
    most = std::max(most, std::min<std::uint64_t>(counts[lane], layout_.used_slots));
  }
  memory::PatternCheck sum;
  std::optional<std::uint64_t> first;
  for (std::uint32_t region = 0; region < layout_.regions(); ++region) {
    for (std::uint32_t slot = 0; slot < touched[region]; ++slot) {
      // The last byte of a ping-pong message is its stamp.
      std::uint64_t bytes = layout_.message_bytes - (is_ping_pong(layout_) ? 1 : 0);
      std::uint64_t at = layout_.lane_offset(region) + slot * layout_.stride;
      std::uint64_t pattern_at = layout_.pattern_offset(region, slot);
      memory::PatternCheck check = block.check(at, bytes, pattern_at, pattern);
      if (check.first_offset && !first) first = at + (*check.first_offset - pattern_at);
      sum.add(check);
    }
  }
  results::Verification v{
      .checked_bytes = sum.checked_bytes, .mismatched_bytes = sum.mismatched_bytes, .first_offset = first, .expected = {}, .found = {}};
  if (first) {
    v.expected = std::to_integer<int>(sum.expected);
    v.found = std::to_integer<int>(sum.found);
  }
  return v;
}

results::Verification RdmaGroup::verify_atomics(std::span<const std::uint64_t> counts) {
  results::Verification v;
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    // Lanes that share a word have no order among them that could be checked.
    if (layout_.contents < layout_.lanes) break;
    std::uint64_t n = counts[lane];
    for (std::uint64_t k = n - std::min<std::uint64_t>(n, layout_.used_slots); k < n; ++k) {
      std::uint64_t offset = layout_.lane_offset(lane) + (k % layout_.ring % layout_.used_slots) * layout_.stride;
      std::uint64_t found = 0;
      local_->read(offset, &found, sizeof found);
      // The k-th request finds what the k before it made: k of them, or whichever of the two values is k's turn.
      std::uint64_t expected = layout_.operation == Operation::fetch_add ? k : k % 2;
      v.checked_bytes += sizeof found;
      if (found == expected) continue;
      v.mismatched_bytes += sizeof found;
      if (v.first_offset) continue;
      v.first_offset = offset;
      v.expected = static_cast<int>(expected & 0xFF);
      v.found = static_cast<int>(found & 0xFF);
    }
  }
  return v;
}

}  // namespace railgauge::bench
