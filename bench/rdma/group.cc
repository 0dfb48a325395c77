#include "bench/rdma/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using plan::Operation;
using transport::Opcode;

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
                              .memory = block.registrations(),
                              .remote_write = exposed && (op == Operation::write || op == Operation::write_imm),
                              .remote_read = exposed && op == Operation::read,
                              .remote_atomic = exposed && request.layout.is_atomic(),
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
      initiating_(initiates(*request.plan, request.side) || request.layout.is_ping_pong()),
      responding_(!initiates(*request.plan, request.side) || request.plan->direction == plan::Direction::both || request.layout.is_ping_pong()) {
  if (initiating_) {
    local_ = request.source->allocate(layout_.buffer_bytes(layout_.local_use()));
    local_region_ = register_block(request, *local_, false);
  }
  if (responding_) {
    exposed_ = request.source->allocate(layout_.buffer_bytes(layout_.exposed_use()));
    exposed_region_ = register_block(request, *exposed_, true);
  }
  relaxed_ordering_ = (local_region_ && local_region_->relaxed_ordering()) || (exposed_region_ && exposed_region_->relaxed_ordering());
}

void RdmaGroup::create_queue(const verbs::Device& device, const verbs::ProtectionDomain& domain, std::uint32_t inline_bytes) {
  bool receives = layout_.needs_receives() && responding_;
  queue_ = std::make_unique<verbs::VerbsQueue>(verbs::QueueRequest{.device = &device,
                                                                   .pd = domain.get(),
                                                                   .lanes = layout_.lanes,
                                                                   .send_requests = initiating_ ? layout_.depth : 1,
                                                                   .signal_every = layout_.signal_every,
                                                                   .recv_requests = receives ? layout_.recv_depth : 1,
                                                                   .inline_bytes = initiating_ ? inline_bytes : 0,
                                                                   .events = plan_.rdma.events});
  messages_inline_ = inline_bytes > 0 && layout_.message_bytes <= queue_->caps().inline_bytes && layout_.message_bytes <= inline_bytes;
}

std::string RdmaGroup::placement() const { return (local_ ? local_ : exposed_)->placement(); }

std::uint64_t RdmaGroup::registered_bytes() const noexcept {
  return (local_ ? layout_.buffer_bytes(layout_.local_use()) : 0) + (exposed_ ? layout_.buffer_bytes(layout_.exposed_use()) : 0);
}

std::vector<transport::QpInfo> RdmaGroup::qp_infos(std::span<const std::uint32_t> psns) const {
  std::vector<transport::QpInfo> infos;
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    // The passive side of a send has no remote address to give, but its slots are agreed on the same way.
    const memory::Block& block = exposed_ ? *exposed_ : *local_;
    const Use use = exposed_ ? layout_.exposed_use() : layout_.local_use();
    infos.push_back({.qp_number = queue_->qp(lane)->qp_num,
                     .psn = psns[lane],
                     .remote_address = block.address() + layout_.lane_offset(use, lane),
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
  check_each_message();
}

memory::Pattern RdmaGroup::pattern_of(bool of_initiator_here) const {
  // One seed per group and initiating side, so that data of another thread or of the other direction is told apart.
  bool client_initiates = (side_ == Side::client) == of_initiator_here;
  return {.seed = std::uint64_t{index_} * 2 + (client_initiates ? 0 : 1)};
}

bool RdmaGroup::fills_local() const { return initiating_ && layout_.operation != Operation::read && !layout_.is_atomic(); }

void RdmaGroup::fill(memory::Block& block, memory::Pattern pattern) {
  std::uint64_t bytes = std::uint64_t{layout_.source_slots()} * layout_.stride;
  for (std::uint32_t region = 0; region < layout_.regions(); ++region)
    block.fill(layout_.lane_offset(Use::source, region), bytes, layout_.pattern_offset(region, 0), pattern);
  if (layout_.task != GroupTask::ping_pong_memory) return;
  for (std::uint32_t slot = 0; slot < layout_.used_slots; ++slot)
    block.clear(layout_.lane_offset(Use::source, 0) + slot * layout_.stride + layout_.message_bytes - 1, 1);  // the stamp of no round
}

transport::WorkRequest RdmaGroup::request_of(std::uint32_t lane, std::uint32_t position, const transport::QpInfo& peer) const {
  const std::uint64_t source = std::uint64_t{position % layout_.source_slots()} * layout_.stride;
  const std::uint64_t target = std::uint64_t{position % layout_.used_slots} * layout_.stride;
  const bool from_source = layout_.local_use() == Use::source;
  const bool swap = layout_.operation == Operation::compare_swap;
  return {.op = opcode_of(layout_.operation),
          .signaled = (position + 1) % layout_.signal_every == 0,
          .inline_data = messages_inline_,
          .bytes = static_cast<std::uint32_t>(layout_.message_bytes),
          .lkey = local_region_->lkey(),
          .rkey = peer.rkey,
          .immediate = position,
          .local_address = local_->address() + layout_.lane_offset(layout_.local_use(), lane) + (from_source ? source : target),
          // Atomics of a lane work on one word, so that its value says how many there were.
          .remote_address = peer.remote_address + (layout_.is_atomic() ? 0 : from_source ? target : source),
          .compare_add = swap ? position % layout_.source_slots() : 1U,
          .swap = (position + 1) % layout_.source_slots()};
}

void RdmaGroup::prepare_sends(std::uint32_t lane, const transport::QpInfo& peer, std::uint64_t peer_tally) {
  std::vector<transport::WorkRequest> requests;
  for (std::uint32_t i = 0; i < layout_.ring; ++i) requests.push_back(request_of(lane, i, peer));
  if (layout_.has_tally())
    requests.push_back({.op = Opcode::write,
                        .signaled = true,
                        .inline_data = false,
                        .bytes = 8,
                        .lkey = local_region_->lkey(),
                        .rkey = peer.rkey,
                        .immediate = 0,
                        .local_address = local_->address() + layout_.tally_offset(lane),
                        .remote_address = peer_tally,
                        .compare_add = 0,
                        .swap = 0});
  queue_->prepare(lane, requests);
}

void RdmaGroup::prepare_receives(std::uint32_t lane) {
  std::vector<transport::RecvRequest> receives;
  for (std::uint32_t i = 0; i < layout_.recv_ring; ++i) {
    std::uint64_t address = exposed_->address() + layout_.lane_offset(Use::target, lane) + (i % layout_.used_slots) * layout_.stride;
    bool data = layout_.operation == Operation::send;
    receives.push_back(
        {.local_address = address, .bytes = data ? static_cast<std::uint32_t>(layout_.message_bytes) : 0, .lkey = exposed_region_->lkey()});
  }
  queue_->prepare_recv(lane, receives);
}

loops::ReceiveSettings RdmaGroup::receive_settings() const {
  loops::ReceiveSettings settings;
  settings.message_bytes = layout_.message_bytes;
  settings.ring = layout_.recv_ring;
  settings.depth = layout_.recv_depth;
  settings.post_batch = layout_.recv_batch;
  settings.iterations = plan_.iterations.value_or(0);
  settings.times = {.warm_up = plan_.warm_up, .duration = plan_.duration, .interval = plan_.interval};
  settings.events = plan_.rdma.events;
  settings.check = check_.get();
  return settings;
}

loops::Stamps RdmaGroup::stamps() const noexcept {
  const std::uint64_t last_byte = layout_.lane_offset(Use::target, 0) + layout_.message_bytes - 1;  // of a source too: one version
  return {.outgoing = local_->host_address() + last_byte,
          .incoming = exposed_->host_address() + last_byte,
          .stride = layout_.used_slots > 1 ? static_cast<std::ptrdiff_t>(layout_.stride) : 0};
}

bool RdmaGroup::send_tally(std::uint32_t lane, std::uint64_t messages, Deadline deadline) {
  if (!layout_.has_tally()) return true;
  local_->write(layout_.tally_offset(lane), &messages, sizeof messages);
  if (queue_->post(lane, layout_.ring, 1).accepted != 1) return false;
  std::array<transport::Completion, 1> done;
  while (!deadline.passed()) {
    int n = queue_->poll(done);
    if (n != 0) return n == 1 && done[0].status == transport::kSuccess;
  }
  return false;
}

}  // namespace railgauge::bench
