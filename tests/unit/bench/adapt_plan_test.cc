#include "bench/adapt_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::bench {
namespace {

results::Node host_with(const std::string& name, const std::vector<std::pair<std::string, int>>& devices) {
  results::Node node;
  node.facts.hostname = name;
  for (const auto& [device, depth] : devices) {
    node.facts.rdma_devices.emplace_back();
    node.facts.rdma_devices.back().name = device;
    if (depth > 0) node.facts.rdma_devices.back().max_qp_depth = host::Fact<int>::of(depth);
  }
  return node;
}

plan::Plan bandwidth() {
  plan::Plan p;
  p.transport = plan::Transport::rdma;
  p.operation = plan::Operation::write;
  p.rdma.depth = 128;
  p.rdma.signal_every = 4;
  return p;
}

TEST(FitQueues, TakesTheSmallerOfBothHosts) {
  auto p = bandwidth();
  std::string text = fit_queues(p, {}, host_with("a", {{"mlx5_0", 32768}}), host_with("b", {{"x_9", 50}}));
  EXPECT_EQ(p.rdma.depth, 48);  // the largest multiple of 4 up to 50
  EXPECT_EQ(text, "depth 48 instead of 128: x_9 of b holds 50 requests on a queue pair");
}

TEST(FitQueues, LeavesWhatTheDevicesHold) {
  auto p = bandwidth();
  EXPECT_EQ(fit_queues(p, {}, host_with("a", {{"mlx5_0", 128}}), host_with("b", {})), "");
  EXPECT_EQ(fit_queues(p, {}, host_with("a", {{"mlx5_0", 0}}), host_with("b", {{"mlx5_0", 0}})), "");  // not known
  EXPECT_EQ(p.rdma.depth, 128);
}

TEST(FitQueues, LooksAtTheDeviceThatWasNamed) {
  auto p = bandwidth();
  p.client.device = "mlx5_1";
  EXPECT_EQ(fit_queues(p, {}, host_with("a", {{"mlx5_0", 16}, {"mlx5_1", 32768}}), host_with("b", {})), "");
}

TEST(FitQueues, LeavesARefusalToTheDeviceWhereNoWholePostFits) {
  auto p = bandwidth();
  p.rdma.post_batch = p.rdma.signal_every = 32;
  Typed typed{.qps = true, .depth = false, .post_batch = true, .signal_every = true};
  EXPECT_EQ(fit_queues(p, typed, host_with("a", {{"x_9", 16}}), host_with("b", {})), "");
  EXPECT_EQ(p.rdma.depth, 128);
  typed.depth = true;
  EXPECT_EQ(fit_queues(p, typed, host_with("a", {{"x_9", 64}}), host_with("b", {})), "");
}

TEST(FitQueues, SignalsMoreOftenWhereAQueueIsShallow) {
  auto p = bandwidth();
  p.rdma.signal_every = 32;
  p.iterations = 96;
  std::string text = fit_queues(p, {.qps = true, .post_batch = true}, host_with("a", {{"x_9", 8}}), host_with("b", {}));
  EXPECT_EQ(p.rdma.depth, 8);
  EXPECT_EQ(p.rdma.signal_every, 4);  // two signals in a queue of 8, so that one half works while the other is posted
  EXPECT_EQ(text, "depth 8 instead of 128, a signal every 4 instead of 32: x_9 of a holds 8 requests on a queue pair");
  // The rate's posts of 16, which nobody typed either: 8 of them, twice.
  p = bandwidth();
  p.rdma.post_batch = p.rdma.signal_every = 16;
  text = fit_queues(p, {}, host_with("a", {{"x_9", 16}}), host_with("b", {}));
  EXPECT_EQ(text, "depth 16 instead of 128, posts of 8 instead of 16, a signal every 8 instead of 16: x_9 of a holds 16 requests on a queue pair");
}

TEST(FitQueues, TakesFewerQpsWhereThereAreFew) {
  auto p = bandwidth();
  p.rdma.qps = 8;
  p.rdma.depth = 32;
  auto few = host_with("b", {{"x_9", 32768}});
  few.facts.rdma_devices[0].max_qps = host::Fact<int>::of(4);
  std::string text = fit_queues(p, {}, host_with("a", {}), few);
  EXPECT_EQ(p.rdma.qps, 4);
  EXPECT_THAT(p.label, testing::HasSubstr("4 QPs"));
  EXPECT_EQ(text, "QPs 4 instead of 8: x_9 of b holds 4 queue pairs");
  // Both sides on one host take from one device.
  p.rdma.qps = 8;
  fit_queues(p, {}, few, few);
  EXPECT_EQ(p.rdma.qps, 2);
  p.rdma.qps = 8;
  EXPECT_EQ(fit_queues(p, {.qps = true}, host_with("a", {}), few), "");  // typed: the device refuses it by name
}

TEST(FitQueues, SharesACompletionQueueOfFewEntries) {
  auto p = bandwidth();
  p.rdma.qps = 8;
  p.rdma.depth = 32;
  auto few = host_with("b", {{"x_9", 16}});
  few.facts.rdma_devices[0].max_cq_entries = host::Fact<int>::of(16);
  std::string text = fit_queues(p, {}, host_with("a", {}), few);
  EXPECT_EQ(p.rdma.qps * p.rdma.depth, 16);  // two requests of each of the eight
  EXPECT_EQ(p.rdma.signal_every, 1);
  EXPECT_EQ(text, "depth 2 instead of 32, a signal every 1 instead of 4: x_9 of b holds 16 requests on a queue pair, and x_9 of b holds 16 entries "
                  "in a completion queue");
  // 1000 QPs with four signalled requests each fit where 128 entries each would not (rxe: 32767).
  p = bandwidth();
  p.rdma.qps = 1000;
  p.rdma.signal_every = 32;
  few.facts.rdma_devices[0].max_qp_depth = host::Fact<int>::of(1024);
  few.facts.rdma_devices[0].max_cq_entries = host::Fact<int>::of(32767);
  EXPECT_EQ(fit_queues(p, {.qps = true}, host_with("a", {}), few), "");
}

TEST(SpareSoftwareDevice, KeepsAMebibyteInFlight) {
  auto soft = host_with("b", {{"rxe0", 0}});
  soft.facts.rdma_devices[0].software = true;
  auto p = bandwidth();
  EXPECT_THAT(spare_software_device(p, host_with("a", {}), soft), testing::HasSubstr("depth 16 instead of 128"));  // 16 of 64 KiB
  EXPECT_EQ(p.rdma.depth, 16);
  auto hard = bandwidth();
  EXPECT_EQ(spare_software_device(hard, host_with("a", {}), host_with("b", {})), "");
  EXPECT_EQ(hard.rdma.depth, 128);
}

}  // namespace
}  // namespace railgauge::bench
