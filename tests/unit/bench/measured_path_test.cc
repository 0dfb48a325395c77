#include "bench/measured_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railgauge::bench {
namespace {

host::PciPath at(const char* address) {
  host::PciPath pci;
  pci.links.push_back({.address = address, .current_gt_per_s = {}, .current_width = {}, .max_gt_per_s = {}, .max_width = {}});
  return pci;
}

/// Two NICs with an RDMA device and an interface each, and a software device on the second interface.
host::Snapshot two_nics() {
  host::Snapshot facts;
  facts.hostname = "alpha";
  for (int i = 0; i < 2; ++i) {
    host::RdmaDevice device;
    device.name = "mlx5_" + std::to_string(i);
    device.pci = at(i == 0 ? "0000:41:00.0" : "0000:81:00.0");
    device.ports.resize(1);
    device.ports[0].state = host::Fact<std::string>::of("ACTIVE");
    facts.rdma_devices.push_back(device);
    host::Netdev netdev;
    netdev.name = "eth" + std::to_string(i);
    netdev.addresses = {"192.0.2." + std::to_string(i + 1) + "/24"};
    netdev.pci = device.pci;
    facts.netdevs.push_back(netdev);
  }
  host::RdmaDevice soft = facts.rdma_devices[1];
  soft.name = "rxe0";
  soft.software = true;
  soft.pci = {};
  soft.netdevs = {"eth1"};
  facts.rdma_devices.push_back(soft);
  soft.name = "sim0";
  soft.simulated = true;
  facts.rdma_devices.push_back(soft);
  return facts;
}

Nic nic(plan::Transport transport, const std::string& device_or_address) {
  const auto facts = two_nics();
  const std::string none;
  plan::Plan plan;
  plan.transport = transport;
  if (transport == plan::Transport::rdma) plan.client.device = device_or_address;
  const auto& address = transport == plan::Transport::tcp ? device_or_address : none;
  return nic_of({plan, Side::client, facts, facts, address, none});
}

TEST(NicOf, OneNicHasOneKeyByWhateverName) {
  const auto verbs = nic(plan::Transport::rdma, "mlx5_0");
  const auto sockets = nic(plan::Transport::tcp, "192.0.2.1");
  EXPECT_EQ(verbs.name, "mlx5_0");
  EXPECT_EQ(sockets.name, "eth0");
  EXPECT_EQ(verbs.key, "0000:41:00.0");
  EXPECT_EQ(sockets.key, verbs.key);
  EXPECT_EQ(nic(plan::Transport::rdma, "mlx5_1").key, "0000:81:00.0");
  EXPECT_EQ(nic(plan::Transport::rdma, "rxe0").key, "0000:81:00.0");
  EXPECT_EQ(nic(plan::Transport::rdma, "sim0").key, "sim0");
  EXPECT_EQ(nic(plan::Transport::tcp, "198.51.100.1").key, "tcp");
}

TEST(CounterWatch, CountsWhatStoodStillAsRead) {
  const std::string root = testing::TempDir() + "counter_watch." + std::to_string(::getpid());
  const std::string statistics = root + "/sys/class/net/eth3/statistics";
  std::filesystem::create_directories(statistics);
  std::ofstream(statistics + "/rx_missed_errors") << "11\n";
  std::ofstream(statistics + "/rx_fifo_errors") << "7\n";
  host::UsedPath path;
  path.netdev = "eth3";
  const CounterWatch watch{host::Root(root), path};
  results::SideResult still;
  watch.tell(still);
  EXPECT_TRUE(still.counters.empty());
  EXPECT_EQ(still.counters_read, 2U);
  std::ofstream(statistics + "/rx_missed_errors") << "14\n";
  results::SideResult moved;
  watch.tell(moved);
  ASSERT_EQ(moved.counters.size(), 1U);
  EXPECT_EQ(moved.counters[0].delta.value, 3U);
  path.netdev = "eth4";
  results::SideResult unread;
  CounterWatch(host::Root(root), path).tell(unread);
  EXPECT_EQ(unread.counters_read, std::nullopt);
  std::filesystem::remove_all(root);
}

TEST(OneHost, IsToldByAddressOrNameWhereTheKernelIsNotKnown) {
  const auto alpha = two_nics();
  auto other = alpha;
  EXPECT_TRUE(one_host(alpha, other, "192.0.2.1", "192.0.2.2"));  // two namespaces
  other.hostname = "beta";
  EXPECT_FALSE(one_host(alpha, other, "192.0.2.1", "192.0.2.2"));
  EXPECT_TRUE(one_host(alpha, other, "127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(one_host({}, {}, "", ""));
}

TEST(OneHost, IsToldByTheKernelBeforeTheName) {
  auto alpha = two_nics();
  auto other = alpha;
  alpha.boot_id = host::Fact<std::string>::of("6f1c0d9e-52b7-4c0a-9d0e-3b1f2a7c8e55");
  other.boot_id = host::Fact<std::string>::of("0b7e4a11-93cc-4f58-8a2d-d4e6f7081929");
  EXPECT_FALSE(one_host(alpha, other, "192.0.2.1", "192.0.2.2"));  // two hosts of one name
  other.boot_id = alpha.boot_id;
  other.hostname = "container-3";
  EXPECT_TRUE(one_host(alpha, other, "192.0.2.1", "192.0.2.2"));
}

}  // namespace
}  // namespace railgauge::bench
