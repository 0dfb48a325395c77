#include "host/netdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::ElementsAre;

TEST(ParseNetdevSpeed, TakesEveryFormOfUnknown) {
  EXPECT_EQ(*parse_netdev_speed("400000"), 400.0);
  EXPECT_EQ(*parse_netdev_speed("2500"), 2.5);
  for (const char* text : {"-1", "0", "4294967295", "Unknown!", ""}) EXPECT_FALSE(parse_netdev_speed(text)) << text;
}

TEST(ParseIpAddresses, ReadsTheOneLineForm) {
  auto addresses = parse_ip_addresses(
      "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n"
      "3: eth0.7@eth0    inet 10.0.7.5/24 brd 10.0.7.255 scope global eth0.7\n"
      "3: eth0.7@eth0    inet6 fe80::5/64 scope link \n"
      "4: br0    link/ether 02:00:00:00:00:01\n");
  EXPECT_EQ(addresses.size(), 2u);
  EXPECT_THAT(addresses["eth0.7"], ElementsAre("10.0.7.5/24", "fe80::5/64"));
}

TEST(ReadNetdevs, ReadsAnInterface) {
  Snapshot s = snapshot_of("a100_roce");
  const Netdev& netdev = *find_netdev(s, "enp65s0f0np0");
  EXPECT_EQ(*netdev.mtu_bytes, 9000);
  EXPECT_EQ(*netdev.speed_gbit_per_s, 200);
  EXPECT_EQ(*netdev.operstate, "up");
  EXPECT_TRUE(*netdev.carrier);
  EXPECT_EQ(*netdev.carrier_changes, 2u);
  EXPECT_EQ(*netdev.type, 1);
  EXPECT_EQ(*netdev.numa_node, 1);
  EXPECT_FALSE(netdev.virtual_device);
  EXPECT_THAT(netdev.addresses, ElementsAre("10.7.3.21/24", "fe80::e42:a1ff:fe91:be54/64"));
  EXPECT_EQ(netdev.firmware.reason, "only known on the running host");
}

TEST(ReadNetdevs, KeepsUnknownUnknown) {
  Snapshot s = snapshot_of("a100_roce");
  const Netdev& down = *find_netdev(s, "eno1");
  EXPECT_FALSE(down.speed_gbit_per_s);
  EXPECT_FALSE(down.carrier);
  EXPECT_EQ(*down.operstate, "down");
  EXPECT_EQ(down.pci.links[1].current_width.reason, "absent");
  EXPECT_TRUE(find_netdev(s, "enp65s0f0np0.700")->virtual_device);
  EXPECT_FALSE(snapshot_of("vm_no_pci").netdevs.at(0).speed_gbit_per_s);  // 4294967295
}

TEST(ReadNetdevs, LeavesOutTheBondingFileAndKeepsLoopback) {
  Snapshot s = snapshot_of("h100_ib");
  EXPECT_EQ(find_netdev(s, "bonding_masters"), nullptr);
  EXPECT_EQ(*find_netdev(s, "lo")->type, 772);
  EXPECT_EQ(*find_netdev(s, "lo")->operstate, "unknown");
  EXPECT_EQ(*find_netdev(s, "ib2")->type, 32);
}

}  // namespace
}  // namespace railgauge::host
