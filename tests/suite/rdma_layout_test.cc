#include "bench/rdma/layout.h"

#include <gtest/gtest.h>

#include <set>

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Operation;

plan::Plan plan_of(Operation op, std::uint64_t bytes, int qps, int depth, int batch, int signal) {
  plan::Plan p;
  p.transport = plan::Transport::rdma;
  p.operation = op;
  p.message_bytes = bytes;
  p.rdma.qps = qps;
  p.rdma.depth = depth;
  p.rdma.post_batch = batch;
  p.rdma.signal_every = signal;
  return p;
}

TEST(Layout, ReadsAreInitiatedByTheSideThatReceives) {
  plan::Plan p = plan_of(Operation::write, 64, 1, 8, 1, 1);
  for (auto [op, direction, client] : std::vector<std::tuple<Operation, Direction, bool>>{
           {Operation::write, Direction::to, true}, {Operation::write, Direction::from, false}, {Operation::read, Direction::from, true},
           {Operation::read, Direction::to, false}, {Operation::send, Direction::to, true}, {Operation::fetch_add, Direction::from, false}}) {
    p.operation = op;
    p.direction = direction;
    EXPECT_EQ(initiates(p, Side::client), client);
    EXPECT_EQ(initiates(p, Side::server), !client);
  }
  p.direction = Direction::both;
  EXPECT_TRUE(initiates(p, Side::client) && initiates(p, Side::server));
}

TEST(Layout, TheDefaultMessageCoversTheWorkingSet) {
  Group g = lay_out(plan_of(Operation::write, 65536, 1, 128, 1, 4), 256ULL << 20, 4096).front();
  // 4096 messages of 64 KiB; 1365 slots in 3 versions, rounded down to whole signals.
  EXPECT_EQ(g.versions, 3U);
  EXPECT_EQ(g.used_slots, 1364U);
  EXPECT_EQ(g.ring, 4092U);
  EXPECT_EQ(g.buffer_bytes(Use::source), 4096U + (4092ULL << 16));
  EXPECT_EQ(g.buffer_bytes(Use::target), 4096U + (1364ULL << 16));
  EXPECT_EQ(g.slots_offset(), 4096U);  // one line of 64 bytes for its tally, on a page of its own
}

TEST(Layout, NoMoreMessagesAreOnTheWayThanThereAreSlotsToCheckThemIn) {
  for (Operation op : {Operation::send, Operation::write_imm, Operation::read})
    for (std::uint64_t bytes : {64ULL, 4096ULL, 65537ULL, 8ULL << 20})
      for (std::uint64_t set : {1ULL << 20, 64ULL << 20}) {
        plan::Plan p = plan_of(op, bytes, 2, 24, 3, 4);
        p.verify_each = true;
        Group g = lay_out(p, std::max(set, bytes), 700).front();
        SCOPED_TRACE(testing::Message() << bytes << " B, " << set);
        EXPECT_EQ(g.recv_ring % std::max(1U, g.recv_batch), 0U);
        if (g.needs_receives()) {
          if (g.can_check_each()) { EXPECT_LE(g.recv_depth, g.used_slots); }
          EXPECT_EQ(g.recv_depth % g.recv_batch, 0U);
          EXPECT_GE(g.recv_depth, 1U);
        }
        // Lanes that share slots write over each other; reads in flight must have a slot each, and so must write_imm beside
        // those that have arrived, because they write before they need a receive.
        bool apart = g.regions() == g.lanes;
        bool room = op == Operation::send || (op == Operation::read ? g.used_slots >= g.depth : g.used_slots >= g.depth + g.recv_depth);
        EXPECT_EQ(g.can_check_each(), apart && room);
        if (bytes <= 4096 && set == 64ULL << 20) { EXPECT_TRUE(g.can_check_each()); }
      }
  EXPECT_FALSE(lay_out(plan_of(Operation::send, 64, 1, 24, 3, 4), 1 << 20, 700).front().can_check_each());
  plan::Plan write = plan_of(Operation::write, 64, 1, 24, 3, 4);
  write.verify_each = true;
  EXPECT_FALSE(lay_out(write, 1 << 20, 700).front().can_check_each());  // nobody sees a write arrive
}

TEST(Layout, FewerReceivesArePaidOnlyWhereEachMessageCanBeChecked) {
  plan::Plan p = plan_of(Operation::send, 1 << 20, 4, 8, 1, 1);
  p.verify_each = true;
  p.working_set_bytes = 2 << 20;  // two slots for four QPs, which share them
  Group shared = lay_out(p, 2 << 20, 700).front();
  EXPECT_FALSE(shared.can_check_each());
  EXPECT_EQ(shared.recv_depth, 512U);
  p.rdma.qps = 1;  // one QP has both
  Group alone = lay_out(p, 2 << 20, 700).front();
  EXPECT_TRUE(alone.can_check_each());
  EXPECT_EQ(alone.recv_depth, 2U);
  p.operation = Operation::write_imm;  // eight may land before they have a receive
  Group ahead = lay_out(p, 2 << 20, 700).front();
  EXPECT_FALSE(ahead.can_check_each());
  EXPECT_EQ(ahead.recv_depth, 512U);
}

TEST(Layout, AnOpenLoopHasSlotsWhereEachMessageIsChecked) {
  plan::Plan p = plan_of(Operation::send, 8, 1, 1, 1, 1);
  p.metric = plan::Metric::latency;
  p.load_rate_per_s = 50;
  p.verify = true;
  // 128 may be in flight; a write_imm lands before its receive is there, so as many again.
  for (auto [op, slots, each] : std::vector<std::tuple<Operation, std::uint32_t, bool>>{
           {Operation::send, 128, true}, {Operation::write_imm, 256, true}, {Operation::write, 1, false}, {Operation::read, 1, false}}) {
    p.operation = op;
    Group g = lay_out(p, 1 << 20, 700).front();
    SCOPED_TRACE(testing::Message() << plan::name_of(op));
    EXPECT_EQ(g.task, GroupTask::open_loop);
    EXPECT_EQ(g.depth, 128U);
    EXPECT_EQ(g.used_slots, slots);
    EXPECT_EQ(g.can_check_each(), each);
    if (each) { EXPECT_EQ(g.recv_depth, 128U); }
  }
}

TEST(Layout, KeepsEveryRuleTheLoopsRelyOn) {
  for (std::uint64_t bytes : {1ULL, 63ULL, 65ULL, 4096ULL, 65537ULL, 8ULL << 20})
    for (int qps : {1, 3, 100, 1000})
      for (auto [depth, batch, signal] : std::vector<std::tuple<int, int, int>>{{1, 1, 1}, {24, 3, 4}, {128, 16, 64}, {96, 32, 3}})
        for (std::uint64_t set : {1ULL << 16, 32ULL << 20}) {
          Group g = lay_out(plan_of(Operation::send, bytes, qps, depth, batch, signal), std::max(set, bytes), 700).front();
          SCOPED_TRACE(testing::Message() << bytes << " B, " << qps << " QPs, " << depth << '/' << batch << '/' << signal << ", " << set);
          EXPECT_EQ(g.ring % static_cast<std::uint32_t>(batch), 0U);
          EXPECT_EQ(g.ring % static_cast<std::uint32_t>(signal), 0U);
          EXPECT_EQ(g.ring % g.source_slots(), 0U);
          EXPECT_EQ(g.recv_ring % g.source_slots(), 0U);
          EXPECT_EQ(g.recv_ring % g.recv_batch, 0U);
          EXPECT_EQ(g.recv_depth % g.recv_batch, 0U);
          EXPECT_GE(g.recv_depth, 1U);
          EXPECT_LE(g.recv_depth, 700U);
          EXPECT_GE(g.stride, bytes);
          EXPECT_EQ(g.stride % 64, 0U);
          EXPECT_EQ(g.slots % g.slots_per_lane, 0U);
          for (std::uint32_t lane : {0U, g.lanes - 1}) {
            EXPECT_LE(g.lane_offset(Use::target, lane) + g.used_slots * g.stride, g.buffer_bytes(Use::target));
            EXPECT_LE(g.lane_offset(Use::source, lane) + g.source_slots() * g.stride, g.buffer_bytes(Use::source));
          }
          // Slots take what was allowed, or one region where even that is too small.
          EXPECT_LE(g.slots * g.stride * g.most_versions, std::max<std::uint64_t>({set, g.slots_per_lane * g.stride * g.most_versions, bytes + 64}));
        }
}

TEST(Layout, HostsWithDifferentWorkingSetsAgree) {
  plan::Plan p = plan_of(Operation::write, 65536, 4, 24, 3, 4);
  Group large = lay_out(p, 64ULL << 20, 512).front();
  Group small = lay_out(p, 1ULL << 20, 512).front();
  std::uint32_t large_slots = large.slots_per_lane;
  std::uint32_t large_regions = large.regions();
  large.agree(small.slots_per_lane, small.regions());
  small.agree(large_slots, large_regions);
  EXPECT_EQ(large.used_slots, small.used_slots);
  EXPECT_EQ(large.ring, small.ring);
  EXPECT_EQ(large.contents, small.contents);
  for (std::uint32_t lane = 0; lane < 4; ++lane) EXPECT_EQ(large.pattern_offset(lane, 1), small.pattern_offset(lane, 1));
}

TEST(Layout, LanesThatShareSlotsShareTheirPayload) {
  plan::Plan p = plan_of(Operation::write, 1 << 20, 8, 4, 1, 1);
  Group sharing = lay_out(p, 6ULL << 20, 512).front();
  ASSERT_LT(sharing.regions(), 8U);
  for (std::uint32_t a = 0; a < 8; ++a)
    for (std::uint32_t b = 0; b < 8; ++b)
      if (sharing.lane_offset(Use::target, a) == sharing.lane_offset(Use::target, b)) {
        EXPECT_EQ(sharing.pattern_offset(a, 0), sharing.pattern_offset(b, 0));
      }
  // And where only the peer shares: 4 regions there, 6 here, so lanes equal modulo 2 may meet.
  Group here = lay_out(p, 64ULL << 20, 512).front();
  here.agree(here.slots_per_lane, 4);
  EXPECT_EQ(here.contents, 4U);
  Group both = sharing;
  both.slots = 6 * both.slots_per_lane;
  both.agree(both.slots_per_lane, 4);
  EXPECT_EQ(both.contents, 2U);
}

TEST(Layout, LoadStandsBesideTheLatency) {
  plan::Plan p = plan_of(Operation::write, 8, 3, 1, 1, 1);
  p.metric = plan::Metric::latency;
  p.under_load = true;
  p.load_rate_per_s = plan::kLoadedRate;
  std::vector<Group> groups = lay_out(p, 32ULL << 20, 512);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].task, GroupTask::open_loop);
  EXPECT_EQ(groups[0].lanes, 1U);
  EXPECT_EQ(groups[1].task, GroupTask::stream);
  EXPECT_EQ(groups[1].lanes, 3U);
  EXPECT_TRUE(groups[1].load);
}

/// Where it cannot be known whose message was the last in a slot, or no memory is left for more, all are alike.
TEST(Layout, ASlotHasAsManyVersionsAsCanBeTold) {
  auto versions = [](Operation op, std::uint64_t bytes, int qps, std::optional<std::uint64_t> chosen) {
    plan::Plan p = plan_of(op, bytes, qps, 12, 1, 1);
    p.working_set_bytes = chosen;
    return lay_out(p, chosen.value_or(32ULL << 20), 512).front().versions;
  };
  for (Operation op : {Operation::write, Operation::write_imm, Operation::send, Operation::read, Operation::compare_swap, Operation::fetch_add})
    EXPECT_EQ(versions(op, 8, 1, std::nullopt), 3U) << plan::name_of(op);
  EXPECT_EQ(versions(Operation::write, 1 << 20, 1, 8 << 20), 3U);
  EXPECT_EQ(versions(Operation::write, 1 << 20, 1, 2 << 20), 2U);
  EXPECT_EQ(versions(Operation::write, 1 << 20, 1, 1 << 20), 1U);
  EXPECT_EQ(versions(Operation::write, 1 << 20, 4, 16 << 20), 3U);
  EXPECT_EQ(versions(Operation::write, 8 << 20, 8, std::nullopt), 1U);  // four MiB for each of eight QPs
  Group apart = lay_out(plan_of(Operation::write, 65536, 4, 12, 1, 1), 32ULL << 20, 512).front();
  ASSERT_EQ(apart.versions, 3U);
  apart.agree(apart.slots_per_lane, 2);  // four QPs share two regions over there
  EXPECT_EQ(apart.versions, 1U);
  EXPECT_EQ(apart.ring % apart.used_slots, 0U);
  plan::Plan each = plan_of(Operation::send, 64, 1, 12, 1, 1);
  each.verify_each = true;
  EXPECT_EQ(lay_out(each, 1 << 20, 512).front().versions, 1U);  // a checked slot is spoilt instead
}

TEST(Layout, MessagesThatFollowEachOtherInASlotDiffer) {
  Group g = lay_out(plan_of(Operation::write, 1000, 2, 12, 3, 4), 1 << 20, 512).front();
  std::set<std::uint64_t> offsets;
  for (std::uint32_t lane : {0U, 1U})
    for (std::uint32_t k = 0; k < g.source_slots(); ++k) EXPECT_TRUE(offsets.insert(g.pattern_offset(lane, k)).second) << k;
  EXPECT_EQ(g.source_slots(), 3 * g.used_slots);
}

TEST(Layout, ALatencyTakesWhatTheDeviceHolds) {
  plan::Plan p = plan_of(Operation::send, 8, 1, 1, 1, 1);
  p.metric = plan::Metric::latency;
  EXPECT_EQ(lay_out(p, 1 << 20, 4096).front().depth, plan::kLatencyDepth);
  Group few = lay_out(p, 1 << 20, 11).front();
  EXPECT_EQ(few.depth, 8U);  // the largest power of two up to 11
  EXPECT_LE(few.ring, 8U);   // never more in flight than the ring has
  EXPECT_LE(few.recv_depth, 11U);
  p.under_load = true;
  p.load_rate_per_s = 1000;
  auto groups = lay_out(p, 1 << 20, 2);
  EXPECT_EQ(groups.front().depth, 2U);
  EXPECT_EQ(groups.back().depth, 2U);
  EXPECT_EQ(groups.back().signal_every, 2U);
}

}  // namespace
}  // namespace railgauge::bench
