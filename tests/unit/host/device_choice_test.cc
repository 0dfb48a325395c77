#include "host/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/inactive_port.h"
#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(const Snapshot& snapshot, const DeviceWish& wish, ErrorKind kind) {
  try {
    choose_device(snapshot, wish);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(ChooseDevice, TakesWhatTheUserAsksFor) {
  DeviceChoice choice = choose_device(snapshot_of("h100_ib"), {.device = "mlx5_7", .port = {}, .local_ip = "10.40.7.17", .common = {}});
  EXPECT_EQ(choice.device, "mlx5_7");
  EXPECT_EQ(choice.port, 1);
  EXPECT_EQ(choice.reason, "mlx5_7 port 1 (400 Gb/sec (4X NDR)): asked for");
}

TEST(ChooseDevice, FollowsTheControlConnection) {
  Snapshot s = snapshot_of("h100_ib");
  EXPECT_EQ(choose_device(s, {.device = {}, .port = {}, .local_ip = "10.40.7.17", .common = {}}).device, "mlx5_bond_0");
  DeviceChoice ipoib = choose_device(s, {.device = {}, .port = {}, .local_ip = "10.50.3.17", .common = {}});
  EXPECT_EQ(ipoib.device, "mlx5_5");  // ib3 is the fourth
  EXPECT_THAT(ipoib.reason, HasSubstr("carries the control connection (10.50.3.17)"));
}

TEST(ChooseDevice, TakesTheFastestOfThePeersLinkLayer) {
  Snapshot s = snapshot_of("h100_ib");
  DeviceChoice any = choose_device(s, {});
  EXPECT_EQ(any.device, "mlx5_0");
  EXPECT_THAT(any.reason, HasSubstr("the first of the fastest of the 9 ACTIVE ports"));
  DeviceChoice ethernet = choose_device(s, {.device = {}, .port = {}, .local_ip = {}, .common = {.link_layer = LinkLayer::ethernet, .subnet = {}}});
  EXPECT_EQ(ethernet.device, "mlx5_bond_0");
  DeviceChoice infiniband = choose_device(s, {.device = {}, .port = {}, .local_ip = "10.40.7.17", .common = {.link_layer = LinkLayer::infiniband, .subnet = {}}});
  EXPECT_EQ(infiniband.device, "mlx5_0");  // the control connection runs over Ethernet, which the peer's port does not
}

TEST(ChooseDevice, TakesTheOnlyActiveOne) {
  DeviceChoice choice = choose_device(snapshot_of("degraded_x8"), {.device = {}, .port = {}, .local_ip = "192.0.2.1", .common = {}});
  EXPECT_EQ(choice.device, "mlx5_0");
  EXPECT_THAT(choice.reason, HasSubstr("the only ACTIVE port"));
}

TEST(ChooseDevice, PrefersHardwareToSoftware) {
  Snapshot s = snapshot_of("rxe_host");
  s.rdma_devices.push_back(snapshot_of("a100_roce").rdma_devices.at(0));
  s.rdma_devices.back().ports[0].rate_gbit_per_s = Fact<double>::of(5);  // slower than the software device claims
  EXPECT_EQ(choose_device(s, {}).device, "mlx5_0");
}

TEST(ChooseDevice, ListsWhatIsThere) {
  Snapshot s = snapshot_of("restricted");
  EXPECT_EQ(message_of(s, {.device = "mlx5_9", .port = {}, .local_ip = {}, .common = {}}, ErrorKind::usage),
            "no RDMA device mlx5_9; present: hfi1_0, mlx4_0");
  EXPECT_EQ(message_of(s, {.device = "mlx4_0", .port = 3, .local_ip = {}, .common = {}}, ErrorKind::usage),
            "mlx4_0 has no port 3; present: 1, 2");
  EXPECT_EQ(choose_device(s, {.device = "mlx4_0", .port = 2, .local_ip = {}, .common = {}}).port, 2);
}

TEST(ChooseDevice, SaysWhyNoneIsActive) {
  EXPECT_EQ(message_of(snapshot_of("down_polling"), {}, ErrorKind::system),
            "no RDMA port is ACTIVE on " + snapshot_of("down_polling").hostname +
                ": mlx5_0 port 1 is DOWN, physical state Polling (no signal reaches " + snapshot_of("down_polling").hostname +
                ": check the cable, the far port, breakout or split, speed and FEC)");
  EXPECT_THAT(message_of(snapshot_of("init_no_sm"), {}, ErrorKind::system),
              AllOf(HasSubstr("INIT, physical state LinkUp"), HasSubstr("no subnet manager")));
}

TEST(ChooseDevice, SaysThatNoneIsPresent) {
  EXPECT_THAT(message_of(snapshot_of("no_rdma"), {}, ErrorKind::unsupported),
              AllOf(HasSubstr("no RDMA device is present"), HasSubstr("`modprobe mlx5_ib`")));
  EXPECT_THAT(message_of(snapshot_of("no_rdma"), {.device = "mlx5_0", .port = {}, .local_ip = {}, .common = {}}, ErrorKind::usage),
              HasSubstr("present: none"));
}

TEST(CommonLinkLayer, IsTheOneOnWhichTheSlowerEndIsFastest) {
  Snapshot both = snapshot_of("h100_ib");  // InfiniBand at 400 Gb/s, and Ethernet of mlx5_bond_0
  Snapshot ethernet = both;
  for (RdmaDevice& device : ethernet.rdma_devices)
    std::erase_if(device.ports, [](const RdmaPort& port) { return port.link_layer == LinkLayer::infiniband; });
  EXPECT_EQ(common_ground(both, {}, both, {}).link_layer, LinkLayer::infiniband);
  EXPECT_EQ(common_ground(both, {}, ethernet, {}).link_layer, LinkLayer::ethernet);
  EXPECT_EQ(common_ground(ethernet, {}, both, {}).link_layer, LinkLayer::ethernet);
  EXPECT_EQ(common_ground(both, {.device = "mlx5_0", .port = {}, .local_ip = {}, .common = {}}, ethernet, {}).link_layer, std::nullopt);
  EXPECT_EQ(common_ground(both, {}, snapshot_of("no_rdma"), {}).link_layer, std::nullopt);
}

TEST(CommonLinkLayer, FollowsTheAddressThatWasCalledWhereBothEndsHaveIt) {
  Snapshot s = snapshot_of("h100_ib");
  DeviceWish over_ethernet{.device = {}, .port = {}, .local_ip = "10.40.7.17", .common = {}};  // of mlx5_bond_0
  DeviceWish elsewhere{.device = {}, .port = {}, .local_ip = "192.0.2.1", .common = {}};
  EXPECT_EQ(common_ground(s, over_ethernet, s, over_ethernet).link_layer, LinkLayer::ethernet);
  EXPECT_EQ(common_ground(s, over_ethernet, s, elsewhere).link_layer, LinkLayer::infiniband);
}

/// Two RoCE ports with one address each, /24; the control connection runs elsewhere.
Snapshot two_rails(const char* first, const char* second) {
  Snapshot s = snapshot_of("a100_roce");
  RdmaDevice device = s.rdma_devices.at(0);
  s.rdma_devices.clear();
  s.netdevs.resize(1);
  s.netdevs[0].addresses = {std::string(first) + "/24", std::string(second) + "/24"};
  for (auto [name, ip] : {std::pair("mlx5_0", first), std::pair("mlx5_1", second)}) {
    device.name = name;
    device.ports.at(0).gids = {{.index = 3, .gid = {}, .type = GidType::roce_v2, .netdev = {}, .ip = ip}};
    s.rdma_devices.push_back(device);
  }
  return s;
}

// Field case F27: the cables of two ports are crossed.
TEST(CommonGround, IsTheSubnetInWhichPortsOfBothLie) {
  const Snapshot a = two_rails("10.1.0.1", "10.2.0.1");
  const Snapshot b = two_rails("10.2.0.2", "10.1.0.2");
  const DeviceWish anywhere{.device = {}, .port = {}, .local_ip = "192.0.2.1", .common = {}};
  for (bool swapped : {false, true}) {
    CommonGround common = swapped ? common_ground(b, anywhere, a, anywhere) : common_ground(a, anywhere, b, anywhere);
    ASSERT_TRUE(common.subnet);
    EXPECT_EQ(text_of(*common.subnet), "10.1.0.0/24");  // of equals the lowest
    DeviceWish wish = anywhere;
    wish.common = common;
    EXPECT_EQ(choose_device(a, wish).device, "mlx5_0");
    EXPECT_EQ(choose_device(b, wish).device, "mlx5_1");
    EXPECT_THAT(choose_device(b, wish).reason, HasSubstr("of the ACTIVE ports in 10.1.0.0/24, where the peer has one too"));
  }
}

TEST(CommonGround, FollowsAWishAndThePortThatCarriesTheControlConnection) {
  const Snapshot a = two_rails("10.1.0.1", "10.2.0.1");
  const Snapshot b = two_rails("10.2.0.2", "10.1.0.2");
  const DeviceWish anywhere{.device = {}, .port = {}, .local_ip = "192.0.2.1", .common = {}};
  DeviceWish second = anywhere;
  second.device = "mlx5_1";
  EXPECT_EQ(text_of(common_ground(a, second, b, anywhere).subnet.value()), "10.2.0.0/24");
  DeviceWish called = anywhere;
  called.local_ip = "10.2.0.2";
  EXPECT_EQ(text_of(common_ground(a, anywhere, b, called).subnet.value()), "10.2.0.0/24");
  EXPECT_EQ(common_ground(a, second, b, second).subnet, std::nullopt);  // 10.2.0.1 and 10.1.0.2
}

TEST(WhyNotActive, TellsWhatAVirtualFunctionLacks) {  // field case F78
  RdmaDevice device = snapshot_of("h100_ib").rdma_devices.at(0);
  device.pci.virtual_function = "0000:1b:00.1";
  device.node_guid = Fact<std::string>::of("0000:0000:0000:0000");
  RdmaPort& port = device.ports.at(0);
  port.state = Fact<std::string>::of("DOWN");
  port.physical_state = Fact<std::string>::of("Disabled");
  EXPECT_THAT(why_not_active("node-12", device, port), AllOf(HasSubstr("virt_enabled"), HasSubstr("GUID, now zero,"), Not(HasSubstr("ibportstate"))));
  device.node_guid = Fact<std::string>::of("0c42:a103:00ab:cdef");
  EXPECT_THAT(why_not_active("node-12", device, port), Not(HasSubstr("now zero")));
}

TEST(WhyNotActive, IsEmptyForAnActivePort) {
  const RdmaDevice device = snapshot_of("a100_roce").rdma_devices.at(0);
  EXPECT_EQ(why_not_active("node-07", device, device.ports.at(0)), "");
}

/// mlx5_3 port 2, switched off on its own host (physical state 3: field case F79).
std::string why_disabled(LinkLayer layer) {
  RdmaDevice device;
  device.name = "mlx5_3";
  device.netdevs = {"ens5f1"};
  RdmaPort port;
  port.port = 2;
  port.link_layer = layer;
  port.state = Fact<std::string>::of("DOWN");
  port.physical_state = Fact<std::string>::of("Disabled");
  return why_not_active("node-12", device, port);
}

TEST(WhyNotActive, NamesTheHostAndTheInterfaceOfAnEthernetPort) {
  EXPECT_EQ(why_disabled(LinkLayer::ethernet), "DOWN, physical state Disabled (switched off on node-12, there: `ip link set ens5f1 up`)");
}

TEST(WhyNotActive, HasNoInterfaceToSwitchOnForAnInfiniBandPort) {
  EXPECT_EQ(why_disabled(LinkLayer::infiniband),
            "DOWN, physical state Disabled (switched off on node-12, there: `mlxlink -d mlx5_3 -a UP`, or `ibportstate -C mlx5_3 -P 2 -D 0 2 enable`)");
}

TEST(ChooseDevice, SaysWhyADeviceShowsNoPort) {
  Snapshot s = snapshot_of("h100_ib");
  s.rdma_devices.resize(1);
  s.rdma_devices[0].ports.clear();
  s.rdma_devices[0].char_device = Fact<std::string>::missing("ibv_open_device mlx5_0: Permission denied");
  EXPECT_THAT(message_of(s, {}, ErrorKind::system), AllOf(HasSubstr("mlx5_0 shows no port"), HasSubstr("Permission denied")));
}

}  // namespace
}  // namespace railgauge::host
