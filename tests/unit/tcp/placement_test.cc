#include "bench/tcp/placement.h"

#include <gtest/gtest.h>

namespace railgauge::bench {
namespace {

host::Snapshot host_with(const std::string& netdev, int type, const std::string& address) {
  host::Snapshot snapshot;
  snapshot.online_cpus = host::Fact<int>::of(16);
  snapshot.allowed_cpulist = host::Fact<std::string>::of("0-15");
  snapshot.numa_cpulists = {{0, "0-7"}, {1, "8-15"}};
  host::Netdev device;
  device.name = netdev;
  device.type = host::Fact<int>::of(type);
  device.numa_node = host::Fact<int>::of(1);
  device.addresses = {address};
  snapshot.netdevs = {device};
  return snapshot;
}

plan::Plan both_ways() {
  plan::Plan plan;
  plan.direction = plan::Direction::both;
  plan.streams = 3;
  plan.threads = 3;
  return plan;
}

TEST(TcpPlacement, TakesTheCpusOfThePlanInTurn) {
  auto plan = both_ways();
  plan.client.cpus = {4, 6, 9, 11};
  const auto placement = place_tcp_threads(plan, Side::client, host_with("eth3", 1, "192.0.2.5/24"), "192.0.2.5");
  EXPECT_EQ(placement.senders, (std::vector<int>{4, 6, 9}));
  EXPECT_EQ(placement.receivers, (std::vector<int>{11, 4, 6}));
}

TEST(TcpPlacement, GoesToTheInterfacesNode) {
  const auto placement = place_tcp_threads(both_ways(), Side::server, host_with("eth3", 1, "192.0.2.5/24"), "192.0.2.5");
  EXPECT_EQ(placement.interface, "eth3");
  ASSERT_EQ(placement.senders.size(), 3U);
  for (const int cpu : placement.all()) EXPECT_TRUE(cpu >= 8 && cpu <= 15) << cpu;
  EXPECT_EQ(placement.numa_node, 1);
}

TEST(TcpPlacement, DoesNotBindOnLoopback) {
  const auto placement = place_tcp_threads(both_ways(), Side::server, host_with("lo", 772, "127.0.0.1/8"), "127.0.0.1");
  EXPECT_TRUE(placement.all().empty());
  EXPECT_NE(placement.reason.find("loopback"), std::string::npos);
  EXPECT_FALSE(placement.warning);  // 6 threads, twice, on 16 CPUs
}

TEST(TcpPlacement, WarnsOfMoreThreadsThanCpus) {
  auto plan = both_ways();
  plan.streams = plan.threads = 5;
  const auto placement = place_tcp_threads(plan, Side::server, host_with("lo", 772, "127.0.0.1/8"), "127.0.0.1");
  ASSERT_TRUE(placement.warning);
  EXPECT_NE(placement.warning->find("20 measuring threads"), std::string::npos) << *placement.warning;
}

TEST(TcpPlacement, PutsSendersWhereThisSideSends) {
  plan::Plan plan;
  plan.direction = plan::Direction::from;
  plan.streams = plan.threads = 2;
  plan.client.cpus = plan.server.cpus = {3, 5};
  const auto host = host_with("eth3", 1, "192.0.2.5/24");
  EXPECT_TRUE(place_tcp_threads(plan, Side::client, host, "192.0.2.5").senders.empty());
  EXPECT_EQ(place_tcp_threads(plan, Side::server, host, "192.0.2.5").senders, (std::vector<int>{3, 5}));
}

TEST(TcpPlacement, SaysWhenTheAddressIsUnknown) {
  const auto placement = place_tcp_threads(both_ways(), Side::client, host_with("eth3", 1, "192.0.2.50/24"), "192.0.2.5");
  EXPECT_TRUE(placement.all().empty());
  EXPECT_NE(placement.reason.find("192.0.2.5"), std::string::npos);
}

}  // namespace
}  // namespace railgauge::bench
