// What every WorkQueue does alike: LoopbackQueue in this process, VerbsQueue on the stand-in device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "fakes/loopback_queue.h"
#include "memory/buffer.h"
#include "verbs/check.h"
#include "verbs/device.h"
#include "verbs/memory_region.h"
#include "verbs/verbs_queue.h"

namespace railgauge {
namespace {

using transport::Completion;
using transport::Opcode;
using transport::WorkRequest;

constexpr std::uint32_t kLanes = 2;
constexpr std::uint64_t kBytes = 1 << 16;

/// Two connected queues with one buffer each.
class Pair {
 public:
  virtual ~Pair() = default;
  virtual transport::WorkQueue& near() = 0;
  virtual transport::WorkQueue& far() = 0;
  virtual std::uint32_t near_key() const { return 0; }
  virtual std::uint32_t far_key() const { return 0; }
  memory::Buffer near_buffer{{.bytes = kBytes, .huge_pages = false, .numa_node = {}}};
  memory::Buffer far_buffer{{.bytes = kBytes, .huge_pages = false, .numa_node = {}}};
};

class LoopbackPair final : public Pair {
 public:
  LoopbackPair() { near_.connect(far_); }
  transport::WorkQueue& near() override { return near_; }
  transport::WorkQueue& far() override { return far_; }

 private:
  testing_support::LoopbackQueue near_{kLanes};
  testing_support::LoopbackQueue far_{kLanes};
};

class VerbsPair final : public Pair {
 public:
  VerbsPair()
      : device_(verbs::Device::open(verbs::describe_devices().front().name)),
        pd_(verbs::check_pointer(ibv_alloc_pd(device_.context()), "ibv_alloc_pd")),
        near_region_(request(near_buffer)),
        far_region_(request(far_buffer)),
        near_(queue_request()),
        far_(queue_request()) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      bring_up(near_.qp(lane), far_.qp(lane));
      bring_up(far_.qp(lane), near_.qp(lane));
    }
  }
  transport::WorkQueue& near() override { return near_; }
  transport::WorkQueue& far() override { return far_; }
  std::uint32_t near_key() const override { return near_region_.lkey(); }
  std::uint32_t far_key() const override { return far_region_.rkey(); }

 private:
  verbs::RegionRequest request(memory::Buffer& buffer) const {
    memory::Registration r;
    r.address = reinterpret_cast<std::uintptr_t>(buffer.data());
    r.bytes = buffer.bytes();
    return {.pd = pd_.get(), .memory = {.offered = {r}, .refused = {}}, .remote_write = true, .remote_read = true, .remote_atomic = true, .relaxed_ordering = true};
  }
  verbs::QueueRequest queue_request() const {
    return {.device = &device_, .pd = pd_.get(), .lanes = kLanes, .send_requests = 16, .signal_every = 1, .recv_requests = 8, .inline_bytes = 0, .events = true};
  }
  void bring_up(ibv_qp* own, const ibv_qp* other) const {
    host::Gid gid = device_.query_gids(1).back();
    verbs::reset_to_init(own, {.port = 1, .pkey_index = 0, .remote_write = true, .remote_read = true, .remote_atomic = true});
    verbs::init_to_rtr(own, {.port = 1, .dlid = device_.query_port(1).lid, .global = true, .gid_index = gid.index, .gid = gid.gid, .local_gid = gid.gid,
                             .mtu_bytes = 1024, .qp_number = other->qp_num, .psn = 77, .service_level = 0, .traffic_class = 0, .responder_reads = 4});
    verbs::rtr_to_rts(own, {.psn = 77, .timeout_code = 14, .retry_count = 3, .rnr_retry = 7, .initiator_reads = 4});
  }
  verbs::Device device_;
  verbs::PdHandle pd_;
  verbs::Region near_region_;
  verbs::Region far_region_;
  verbs::VerbsQueue near_;
  verbs::VerbsQueue far_;
};

struct Maker {
  const char* name;
  std::function<std::unique_ptr<Pair>()> make;
};

class WorkQueueSuite : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override { pair = GetParam().make(); }

  /// `count` requests of 100 bytes, slot i at offset 128·i of both buffers, the last of each `signal_every` signalled.
  std::vector<WorkRequest> requests(Opcode op, std::uint32_t count, std::uint32_t signal_every) {
    std::vector<WorkRequest> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      bool atomic = op == Opcode::fetch_add || op == Opcode::compare_swap;
      all.push_back({.op = op, .signaled = (i + 1) % signal_every == 0, .inline_data = false, .bytes = atomic ? 8U : 100U, .lkey = pair->near_key(),
                     .rkey = pair->far_key(), .immediate = 7000 + i, .local_address = address(pair->near_buffer, 128 * i),
                     .remote_address = address(pair->far_buffer, atomic ? 0 : 128 * i), .compare_add = 3, .swap = 0});
    }
    return all;
  }
  static std::uint64_t address(const memory::Buffer& buffer, std::uint64_t offset) { return reinterpret_cast<std::uintptr_t>(buffer.data()) + offset; }
  static void fill(memory::Buffer& buffer, int salt) {
    for (std::uint64_t i = 0; i < buffer.bytes(); ++i) buffer.data()[i] = static_cast<std::byte>((i * 31 + i / 251 + static_cast<std::uint64_t>(salt)) & 0xFF);
  }
  /// Polls until `count` have come, at most 5 s.
  static std::vector<Completion> collect(std::size_t count, const std::function<int(std::span<Completion>)>& poll) {
    std::vector<Completion> all;
    Deadline deadline = Deadline::after(std::chrono::seconds(5));
    while (all.size() < count && !deadline.passed()) {
      std::array<Completion, 4> some;
      int n = poll(some);
      EXPECT_GE(n, 0);
      for (int i = 0; i < n; ++i) all.push_back(some[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }
  std::vector<Completion> sent(std::size_t count) {
    return collect(count, [this](std::span<Completion> out) { return pair->near().poll(out); });
  }
  std::vector<Completion> received(std::size_t count) {
    return collect(count, [this](std::span<Completion> out) { return pair->far().poll_recv(out); });
  }
  bool same(std::uint64_t slot) const { return std::memcmp(pair->near_buffer.data() + 128 * slot, pair->far_buffer.data() + 128 * slot, 100) == 0; }

  std::unique_ptr<Pair> pair;
};

TEST_P(WorkQueueSuite, WritesLandAndOnlySignalledOnesComplete) {
  fill(pair->near_buffer, 5);
  pair->near().prepare(1, requests(Opcode::write, 9, 3));
  EXPECT_EQ(pair->near().post(1, 0, 9).accepted, 9U);
  std::vector<Completion> done = sent(3);
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].status, transport::kSuccess);
    EXPECT_EQ(done[i].lane, 1U);
    EXPECT_EQ(done[i].slot, 3 * i + 2);
  }
  for (std::uint64_t slot = 0; slot < 9; ++slot) EXPECT_TRUE(same(slot)) << slot;
}

TEST_P(WorkQueueSuite, APartOfTheRingIsPostedAlone) {
  fill(pair->near_buffer, 6);
  pair->near().prepare(0, requests(Opcode::write, 12, 1));
  EXPECT_EQ(pair->near().post(0, 4, 3).accepted, 3U);
  std::vector<Completion> done = sent(3);
  EXPECT_EQ(done[2].slot, 6U);
  EXPECT_FALSE(same(3));
  EXPECT_TRUE(same(4));
  EXPECT_TRUE(same(6));
  EXPECT_FALSE(same(7));
  // The chain is whole again afterwards.
  EXPECT_EQ(pair->near().post(0, 0, 12).accepted, 12U);
  EXPECT_EQ(sent(12).back().slot, 11U);
  EXPECT_TRUE(same(7));
}

TEST_P(WorkQueueSuite, ReadsFetch) {
  fill(pair->far_buffer, 9);
  pair->near().prepare(0, requests(Opcode::read, 5, 5));
  pair->near().post(0, 0, 5);
  sent(1);
  for (std::uint64_t slot = 0; slot < 5; ++slot) EXPECT_TRUE(same(slot)) << slot;
}

TEST_P(WorkQueueSuite, SendsTakeReceivesInOrder) {
  fill(pair->near_buffer, 11);
  std::vector<transport::RecvRequest> slots;
  for (std::uint64_t i = 0; i < 6; ++i) slots.push_back({.local_address = address(pair->far_buffer, 128 * i), .bytes = 128, .lkey = pair->far_key()});
  pair->far().prepare_recv(0, slots);
  EXPECT_EQ(pair->far().post_recv(0, 0, 6).accepted, 6U);
  pair->near().prepare(0, requests(Opcode::send, 6, 6));
  pair->near().post(0, 0, 6);
  std::vector<Completion> got = received(6);
  for (std::uint32_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].slot, i);
    EXPECT_EQ(got[i].bytes, 100U);
    EXPECT_TRUE(same(i));
  }
  sent(1);
}

TEST_P(WorkQueueSuite, WriteWithImmediateWakesTheReceiver) {
  fill(pair->near_buffer, 12);
  pair->far().prepare_recv(1, std::vector<transport::RecvRequest>(3));
  pair->far().post_recv(1, 0, 3);
  pair->near().prepare(1, requests(Opcode::write_imm, 3, 1));
  pair->near().post(1, 0, 3);
  std::vector<Completion> got = received(3);
  EXPECT_EQ(got[2].immediate, 7002U);
  EXPECT_EQ(got[2].lane, 1U);
  EXPECT_TRUE(same(2));
  sent(3);
}

TEST_P(WorkQueueSuite, AtomicsReturnWhatWasThere) {
  std::uint64_t start = 1000;
  std::memcpy(pair->far_buffer.data(), &start, sizeof start);
  pair->near().prepare(0, requests(Opcode::fetch_add, 4, 4));
  pair->near().post(0, 0, 4);
  sent(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    std::uint64_t old = 0;
    std::memcpy(&old, pair->near_buffer.data() + 128 * i, sizeof old);
    EXPECT_EQ(old, 1000 + 3 * i);
  }
}

TEST_P(WorkQueueSuite, AnEmptyQueueHasNothingAndDoesNotWait) {
  std::array<Completion, 3> none;
  EXPECT_EQ(pair->near().poll(none), 0);
  EXPECT_EQ(pair->near().poll_recv(none), 0);
}

TEST_P(WorkQueueSuite, EventsWakeTheSleeper) {
  pair->near().prepare(0, requests(Opcode::write, 1, 1));
  ASSERT_EQ(pair->near().arm(), 0);
  pair->near().post(0, 0, 1);
  EXPECT_EQ(pair->near().wait(Deadline::after(std::chrono::seconds(5))), 1);
  sent(1);
}

const Maker kLoopback{"Loopback", [] { return std::make_unique<LoopbackPair>(); }};
const Maker kVerbs{"Verbs", [] { return std::make_unique<VerbsPair>(); }};

INSTANTIATE_TEST_SUITE_P(Fakes, WorkQueueSuite, testing::Values(kLoopback), [](const auto& param) { return param.param.name; });
INSTANTIATE_TEST_SUITE_P(Sim, WorkQueueSuite, testing::Values(kVerbs), [](const auto& param) { return param.param.name; });

// ---- what only verbs has

class VerbsOnSim : public testing::Test {};

TEST_F(VerbsOnSim, AWrongKeyFailsWithItsNameAndHint) {
  VerbsPair pair;
  WorkRequest request{.op = Opcode::write, .signaled = true, .inline_data = false, .bytes = 64, .lkey = pair.near_key(), .rkey = pair.far_key() + 0x1234, .immediate = 0,
                      .local_address = reinterpret_cast<std::uintptr_t>(pair.near_buffer.data()), .remote_address = reinterpret_cast<std::uintptr_t>(pair.far_buffer.data()),
                      .compare_add = 0, .swap = 0};
  pair.near().prepare(0, std::span(&request, 1));
  pair.near().post(0, 0, 1);
  std::array<Completion, 1> done;
  Deadline deadline = Deadline::after(std::chrono::seconds(5));
  while (pair.near().poll(done) == 0 && !deadline.passed()) {
  }
  EXPECT_EQ(done[0].status, 10U);  // REM_ACCESS_ERR
  EXPECT_THAT(pair.near().describe(done[0]), testing::AllOf(testing::HasSubstr("REM_ACCESS_ERR (10)"), testing::HasSubstr("rkey")));
}

TEST_F(VerbsOnSim, AnUnknownDeviceNamesThoseThatAre) {
  try {
    verbs::Device::open("mlx5_77");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);  // the host's facts showed it
    EXPECT_THAT(error.what(), testing::HasSubstr(verbs::describe_devices().front().name));
  }
}

TEST_F(VerbsOnSim, DescribesItsDeviceAndMergesItIntoASnapshot) {
  host::Snapshot snapshot;
  verbs::merge_into(snapshot);
  ASSERT_FALSE(snapshot.rdma_devices.empty());
  const host::RdmaDevice& device = snapshot.rdma_devices.front();
  EXPECT_TRUE(device.simulated);
  ASSERT_FALSE(device.ports.empty());
  EXPECT_TRUE(device.ports.front().active_mtu_bytes);
  EXPECT_FALSE(device.ports.front().gids.empty());
  EXPECT_EQ(device.hca_type.reason, "no /sys/class/infiniband/" + device.name);
  EXPECT_EQ(device.pci.max_payload_bytes.reason, device.hca_type.reason);
  EXPECT_GT(*device.max_qps, 0);
  EXPECT_GT(*device.max_cq_entries, 0);
  // What sysfs said stays.
  host::Snapshot known;
  known.rdma_devices.push_back(device);
  known.rdma_devices.front().firmware = host::Fact<std::string>::of("from sysfs");
  known.rdma_devices.front().ports.front().active_mtu_bytes = host::Fact<int>::missing("only verbs knows");
  verbs::merge_into(known);
  EXPECT_EQ(known.rdma_devices.size(), snapshot.rdma_devices.size());
  EXPECT_EQ(*known.rdma_devices.front().firmware, "from sysfs");
  EXPECT_TRUE(known.rdma_devices.front().ports.front().active_mtu_bytes);
  // Of another machine's tree only the devices that it shows.
  host::Snapshot other;
  verbs::merge_into(other, verbs::Merge::known);
  EXPECT_TRUE(other.rdma_devices.empty());
  known.rdma_devices.front().ports.front().gids.erase(known.rdma_devices.front().ports.front().gids.begin());
  verbs::merge_into(known, verbs::Merge::known);
  EXPECT_EQ(known.rdma_devices.front().ports.front().gids, device.ports.front().gids);
}

TEST_F(VerbsOnSim, PortFactsAreInPlainWords) {
  // The device that the stand-in makes without a description (tests/sim/verbs/device.h).
  verbs::Device device = verbs::Device::open(verbs::describe_devices().front().name);
  verbs::PortFacts port = device.port_facts(1);
  EXPECT_EQ(port.state, "ACTIVE");
  EXPECT_TRUE(port.active);
  EXPECT_EQ(port.link_layer, host::LinkLayer::ethernet);
  EXPECT_EQ(port.active_mtu_bytes.value, 4096);
  EXPECT_EQ(port.max_message_bytes, std::uint64_t{1} << 30);
  EXPECT_TRUE(device.has_atomics());
  EXPECT_THROW(device.port_facts(7), Error);
}

TEST_F(VerbsOnSim, QueuesTooLargeForTheDeviceNameTheOption) {
  verbs::Device device = verbs::Device::open(verbs::describe_devices().front().name);
  verbs::PdHandle pd(verbs::check_pointer(ibv_alloc_pd(device.context()), "ibv_alloc_pd"));
  verbs::QueueRequest request{.device = &device, .pd = pd.get(), .lanes = 1, .send_requests = static_cast<std::uint32_t>(device.limits().max_qp_wr) + 1,
                              .signal_every = 1, .recv_requests = 1, .inline_bytes = 0, .events = false};
  try {
    verbs::VerbsQueue queue(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::verbs);  // a limit of the device, none of ours
    EXPECT_THAT(error.what(), testing::HasSubstr("--depth"));
  }
}

TEST_F(VerbsOnSim, InlineIsAskedDownToWhatTheDeviceGives) {
  verbs::Device device = verbs::Device::open(verbs::describe_devices().front().name);
  verbs::PdHandle pd(verbs::check_pointer(ibv_alloc_pd(device.context()), "ibv_alloc_pd"));
  verbs::VerbsQueue queue({.device = &device, .pd = pd.get(), .lanes = 2, .send_requests = 4, .signal_every = 1, .recv_requests = 1, .inline_bytes = 1U << 20, .events = false});
  EXPECT_GT(queue.caps().inline_bytes, 0U);
  EXPECT_LT(queue.caps().inline_bytes, 1U << 20);
}

TEST_F(VerbsOnSim, ARefusalThatNamesNoRequestTookNone) {
  verbs::Device device = verbs::Device::open(verbs::describe_devices().front().name);
  verbs::PdHandle pd(verbs::check_pointer(ibv_alloc_pd(device.context()), "ibv_alloc_pd"));
  verbs::VerbsQueue queue({.device = &device, .pd = pd.get(), .lanes = 1, .send_requests = 4, .signal_every = 1, .recv_requests = 4, .inline_bytes = 0, .events = false});
  queue.prepare(0, std::vector<WorkRequest>(3));
  queue.prepare_recv(0, std::vector<transport::RecvRequest>(3));
  // A provider that leaves bad_wr alone, as none should (ibv_post_send(3)).
  device.context()->ops.post_send = [](ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return EIO; };
  device.context()->ops.post_recv = [](ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return EIO; };
  for (auto result : {queue.post(0, 0, 3), queue.post_recv(0, 0, 3)}) {
    EXPECT_EQ(result.accepted, 0U);
    EXPECT_EQ(result.error, EIO);
  }
}

TEST_F(VerbsOnSim, AnIllegalStateChangeIsRefusedByName) {
  verbs::Device device = verbs::Device::open(verbs::describe_devices().front().name);
  verbs::PdHandle pd(verbs::check_pointer(ibv_alloc_pd(device.context()), "ibv_alloc_pd"));
  verbs::VerbsQueue queue({.device = &device, .pd = pd.get(), .lanes = 1, .send_requests = 4, .signal_every = 1, .recv_requests = 1, .inline_bytes = 0, .events = false});
  try {
    verbs::rtr_to_rts(queue.qp(0), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), EINVAL);
    EXPECT_THAT(error.what(), testing::HasSubstr("RTR to RTS"));
  }
}

}  // namespace
}  // namespace railgauge
