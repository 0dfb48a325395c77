#include "bench/plan_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;

std::vector<plan::Plan> rdma(std::vector<std::string> arguments) {
  CLI::App app;
  PlanOptions options;
  add_rdma_plan_options(app, options);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return rdma_plans(options);
}

std::vector<plan::Plan> tcp(std::vector<std::string> arguments) {
  CLI::App app;
  PlanOptions options;
  add_tcp_plan_options(app, options);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return tcp_plans(options);
}

TEST(RdmaPlans, PerftestsLettersMeanWhatTheyMeanThere) {
  auto plans = rdma({"-s", "64K", "-n", "5000", "-q", "3", "-t", "96", "-b", "-x", "5", "-d", "mlx5_7"});
  ASSERT_EQ(plans.size(), 1u);
  const auto& p = plans[0];
  EXPECT_EQ(p.message_bytes, 65536u);
  EXPECT_EQ(p.iterations, 5000u);
  EXPECT_EQ(p.rdma.qps, 3);
  EXPECT_EQ(p.rdma.depth, 96);
  EXPECT_EQ(5000 % p.rdma.signal_every, 0);
  EXPECT_EQ(p.direction, Direction::both);
  EXPECT_EQ(p.client.gid_index, 5);
  EXPECT_EQ(p.client.device, "mlx5_7");
  EXPECT_EQ(rdma({"-D", "7"})[0].duration, std::chrono::seconds(7));
}

TEST(RdmaPlans, PresetPerftestHasItsDefaults) {
  // perftest-lessons.md section 3: 64 KiB, depth 128, one QP, cq_mod 1 at that size, one buffer of the message's size.
  auto p = rdma({"--preset", "perftest"})[0];
  EXPECT_EQ(p.message_bytes, 65536u);
  EXPECT_EQ(p.rdma.depth, 128);
  EXPECT_EQ(p.rdma.qps, 1);
  EXPECT_EQ(p.rdma.post_batch, 1);
  EXPECT_EQ(p.rdma.signal_every, 1);
  EXPECT_EQ(p.working_set_bytes, 65536u);
  EXPECT_THROW(rdma({"--preset", "netperf"}), Error);
}

TEST(RdmaPlans, PresetGivesWayToWhatIsTyped) {
  auto p = rdma({"--preset", "perftest", "-q", "3", "-t", "96", "--post-batch", "8", "--signal-every", "16", "--working-set", "5M"})[0];
  EXPECT_EQ(p.rdma.qps, 3);
  EXPECT_EQ(p.rdma.depth, 96);
  EXPECT_EQ(p.rdma.post_batch, 8);
  EXPECT_EQ(p.rdma.signal_every, 16);
  EXPECT_EQ(p.working_set_bytes, 5u << 20);
}

TEST(RdmaPlans, NumbersThatMeanNothingAreRefusedAndNotReplaced) {
  for (const char* option : {"--depth", "--threads", "--signal-every", "--max-reads", "--device-port", "--mtu", "--load-rate"})
    for (const char* number : {"0", "-3"}) EXPECT_THROW(rdma({"--metric", "latency", option, number}), Error) << option << " " << number;
  for (const char* option : {"--inline", "--gid-index", "--numa"}) EXPECT_THROW(rdma({option, "-1"}), Error) << option;
  EXPECT_EQ(rdma({"--inline", "0"})[0].rdma.inline_bytes, 0);
  EXPECT_EQ(rdma({})[0].rdma.inline_bytes, std::nullopt);
  EXPECT_EQ(rdma({})[0].client.gid_index, std::nullopt);
  EXPECT_THROW(tcp({"--threads", "0"}), Error);
  EXPECT_THROW(tcp({"--mss", "0"}), Error);
}

TEST(RdmaPlans, ADepthThatNobodyAskedForKeepsTheBytesInFlightBounded) {
  // 64 MiB: 128 of 512 KiB, 64 of 1 MiB, 8 of 8 MiB, at least 2; 8 QPs of 64 KiB still 128, 16 QPs 64.
  auto depth = [](std::vector<std::string> arguments) { return rdma(std::move(arguments))[0].rdma.depth; };
  EXPECT_EQ(depth({"-s", "512K"}), 128);
  EXPECT_EQ(depth({"-s", "1M"}), 64);
  EXPECT_EQ(depth({"-s", "8M"}), 8);
  EXPECT_EQ(depth({"-s", "1G"}), 2);
  EXPECT_EQ(depth({"-q", "8"}), 128);
  EXPECT_EQ(depth({"-q", "8", "--threads", "2"}), 64);
  EXPECT_EQ(depth({"-s", "1G", "--depth", "128"}), 128);
  EXPECT_EQ(depth({"-s", "8M", "--post-batch", "16"}), 16);
  EXPECT_EQ(depth({"-s", "8M", "--signal-every", "32"}), 32);
  EXPECT_EQ(depth({"-s", "1M", "--preset", "perftest"}), 128);
  // In whole posts: 42 of 3, 1 of 96; of 1 GiB one post.
  EXPECT_EQ(depth({"--post-batch", "3"}), 126);
  EXPECT_EQ(depth({"--post-batch", "96"}), 96);
  EXPECT_EQ(depth({"-s", "1G", "--post-batch", "3"}), 3);
  auto sweep = rdma({"-s", "512K,1G"});
  EXPECT_EQ(sweep[0].rdma.depth, 128);
  EXPECT_EQ(sweep[1].rdma.depth, 2);
}

TEST(RdmaPlans, WhatHasNoEffectIsRefused) {
  EXPECT_THROW(rdma({"-D", "1", "-n", "100"}), CLI::ExcludesError);
  EXPECT_THROW(rdma({"--op", "write", "--max-reads", "4"}), Error);
  EXPECT_EQ(rdma({"--op", "read", "--max-reads", "4"})[0].rdma.max_reads, 4U);
  EXPECT_THROW(rdma({"--connect", "rdma_cm", "--sl", "3"}), Error);
  EXPECT_THROW(rdma({"--connect", "rdma_cm", "-x", "3"}), Error);
  EXPECT_EQ(rdma({"--connect", "rdma_cm", "--peer-gid-index", "3"})[0].server.gid_index, 3);
  for (const char* option : {"--working-set", "--interval"}) {
    EXPECT_THROW(rdma({"--metric", "latency", option, "10"}), Error) << option;
    EXPECT_NO_THROW(rdma({"--metric", "latency", "--under-load", option, std::string(option) == "--interval" ? "100ms" : "1M"})) << option;
  }
  EXPECT_THROW(tcp({"--metric", "latency", "--interval", "100ms"}), Error);
}

TEST(RdmaPlans, BidirectionalContradictsADirection) { EXPECT_THROW(rdma({"--direction", "to", "-b"}), CLI::ExcludesError); }

TEST(RdmaPlans, ReadsBringTheDataHereUnlessToldOtherwise) {
  EXPECT_EQ(rdma({"--op", "read"})[0].direction, Direction::from);
  EXPECT_EQ(rdma({"--op", "read", "--direction", "to"})[0].direction, Direction::to);
  EXPECT_EQ(rdma({"--op", "write"})[0].direction, Direction::to);
}

TEST(RdmaPlans, DefaultsFollowTheMetric) {
  auto latency = rdma({"--metric", "latency"})[0];
  EXPECT_EQ(latency.message_bytes, 8u);
  EXPECT_EQ(latency.rdma.depth, 1);
  auto rate = rdma({"--metric", "rate", "--post-batch", "16"})[0];
  EXPECT_EQ(rate.message_bytes, 64u);
  EXPECT_EQ(rate.rdma.signal_every, 16);
  EXPECT_EQ(rdma({"--op", "fetch_add"})[0].message_bytes, 8u);
}

TEST(RdmaPlans, OneForEachSizeAndOrderOfOptionsDoesNotMatter) {
  auto a = rdma({"--size", "1K,3000,4K..16K", "--metric", "bandwidth", "--op", "send"});
  auto b = rdma({"--op", "send", "--metric", "bandwidth", "--size", "1K,3000,4K..16K"});
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(a[1].message_bytes, 3000u);
  EXPECT_EQ(a[4].message_bytes, 16384u);
  EXPECT_EQ(a[4].operation, Operation::send);
  EXPECT_EQ(b[4].label, a[4].label);
}

TEST(RdmaPlans, RelaxedOrderingIsOnUntilToldOtherwise) {
  EXPECT_TRUE(rdma({})[0].rdma.relaxed_ordering);
  EXPECT_TRUE(rdma({"--relaxed-ordering"})[0].rdma.relaxed_ordering);
  EXPECT_FALSE(rdma({"--no-relaxed-ordering"})[0].rdma.relaxed_ordering);
}

TEST(Plans, LatencyUnderLoadHasAScheduleOfItsOwn) {
  for (const auto& make : {rdma, tcp}) {
    EXPECT_EQ(make({"--metric", "latency", "--under-load"})[0].load_rate_per_s, 10'000);
    EXPECT_EQ(make({"--metric", "latency", "--under-load", "--load-rate", "70"})[0].load_rate_per_s, 70);
    EXPECT_EQ(make({"--metric", "latency"})[0].load_rate_per_s, std::nullopt);
  }
}

TEST(RdmaPlans, CpuListsAreExpanded) {
  EXPECT_EQ(rdma({"--cpu", "2,4-6"})[0].client.cpus, (std::vector<int>{2, 4, 5, 6}));
  EXPECT_EQ(rdma({"--peer-cpu", "9"})[0].server.cpus, (std::vector<int>{9}));
  EXPECT_EQ(rdma({"--cpu", "7,3"})[0].client.cpus, (std::vector<int>{7, 3}));  // the first thread on CPU 7
  EXPECT_THROW(rdma({"--cpu", "6-4"}), Error);
  EXPECT_THROW(rdma({"--cpu", "a"}), Error);
}

TEST(TcpPlans, ManyStreamsShareTheThreadsThereMayBe) {
  EXPECT_EQ(tcp({"--streams", "1000"})[0].threads, 256);
  EXPECT_EQ(tcp({"--streams", "7"})[0].threads, 7);
}

TEST(TcpPlans, WaitAndBlockFollowTheMetric) {
  EXPECT_EQ(tcp({"-n", "5"})[0].warm_up.count(), 0);
  EXPECT_EQ(tcp({"-n", "5", "--metric", "latency"})[0].warm_up, std::chrono::milliseconds(100));
  EXPECT_THROW(tcp({"-n", "5", "--warm-up", "1s"}), Error);
  auto stream = tcp({"--streams", "3"})[0];
  EXPECT_EQ(stream.operation, Operation::stream);
  EXPECT_EQ(stream.message_bytes, 1u << 20);
  EXPECT_EQ(stream.threads, 3);
  EXPECT_EQ(stream.tcp.wait, plan::Wait::block);
  auto latency = tcp({"--metric", "latency"})[0];
  EXPECT_EQ(latency.operation, Operation::round_trip);
  EXPECT_EQ(latency.message_bytes, 64u);
  EXPECT_EQ(latency.tcp.wait, plan::Wait::spin);
  EXPECT_EQ(tcp({"--pacing", "2.5G"})[0].tcp.pacing_gbit_per_s, 2.5);
  EXPECT_THROW(tcp({"--metric", "rate"}), Error);
  EXPECT_EQ(tcp({"--wait", "spin"})[0].tcp.wait, plan::Wait::spin);
  EXPECT_EQ(tcp({"--wait", "block", "--metric", "latency"})[0].tcp.wait, plan::Wait::block);
  EXPECT_THROW(tcp({"--wait", "block", "--metric", "latency", "--load-rate", "70"}), Error);
}

}  // namespace
}  // namespace railgauge::bench
