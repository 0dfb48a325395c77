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

TEST(FitDepth, TakesTheSmallerOfBothHosts) {
  auto p = bandwidth();
  std::string text = fit_depth(p, host_with("a", {{"mlx5_0", 32768}}), host_with("b", {{"x_9", 50}}));
  EXPECT_EQ(p.rdma.depth, 48);  // the largest multiple of 4 up to 50
  EXPECT_EQ(text, "depth 48 instead of 128: x_9 of b holds 50 requests on a queue pair");
}

TEST(FitDepth, LeavesWhatTheDevicesHold) {
  auto p = bandwidth();
  EXPECT_EQ(fit_depth(p, host_with("a", {{"mlx5_0", 128}}), host_with("b", {})), "");
  EXPECT_EQ(fit_depth(p, host_with("a", {{"mlx5_0", 0}}), host_with("b", {{"mlx5_0", 0}})), "");  // not known
  EXPECT_EQ(p.rdma.depth, 128);
}

TEST(FitDepth, LooksAtTheDeviceThatWasNamed) {
  auto p = bandwidth();
  p.client.device = "mlx5_1";
  EXPECT_EQ(fit_depth(p, host_with("a", {{"mlx5_0", 16}, {"mlx5_1", 32768}}), host_with("b", {})), "");
}

TEST(FitDepth, LeavesARefusalToTheDeviceWhereNoWholePostFits) {
  auto p = bandwidth();
  p.rdma.post_batch = p.rdma.signal_every = 32;
  EXPECT_EQ(fit_depth(p, host_with("a", {{"x_9", 16}}), host_with("b", {})), "");
  EXPECT_EQ(p.rdma.depth, 128);
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
