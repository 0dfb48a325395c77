#include "rates/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "rates/infiniband.h"

namespace railgauge::rates {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
const PacketFormat kInfiniband{};
const PacketFormat kGrh{Wire::infiniband, true, false, false};
const PacketFormat kRoce{Wire::roce_v2, false, false, false};
const PacketFormat kRoceVlan{Wire::roce_v2, false, false, true};
const PacketFormat kRoceIpv6{Wire::roce_v2, false, true, false};

/// Half a unit of the last printed digit, and a little for the printing.
constexpr double half_of(double unit) { return unit / 2 + 1e-9; }

// --- lane table: printed figures of link-rates, section 1.1 ---

struct LaneRow {
  LaneSpeed speed;
  std::array<double, 5> data;   // 1x 2x 4x 8x 12x, Gbit/s
};

class LaneTable : public testing::TestWithParam<LaneRow> {};

TEST_P(LaneTable, AgreesWithThePrintedDataRates) {
  for (std::size_t i = 0; i < kWidths.size(); ++i)
    EXPECT_NEAR(infiniband_data_gbit_per_s(GetParam().speed, kWidths[i]), GetParam().data[i], half_of(0.01));
}

INSTANTIATE_TEST_SUITE_P(Rates, LaneTable,
                         testing::Values(LaneRow{LaneSpeed::sdr, {2, 4, 8, 16, 24}}, LaneRow{LaneSpeed::ddr, {4, 8, 16, 32, 48}},
                                         LaneRow{LaneSpeed::qdr, {8, 16, 32, 64, 96}}, LaneRow{LaneSpeed::fdr10, {10, 20, 40, 80, 120}},
                                         LaneRow{LaneSpeed::fdr, {13.64, 27.27, 54.55, 109.09, 163.64}},
                                         LaneRow{LaneSpeed::edr, {25, 50, 100, 200, 300}}, LaneRow{LaneSpeed::hdr, {50, 100, 200, 400, 600}},
                                         LaneRow{LaneSpeed::ndr, {100, 200, 400, 800, 1200}},
                                         LaneRow{LaneSpeed::xdr, {200, 400, 800, 1600, 2400}}));

TEST(Lanes, DataRateIsTheSignallingRateAfterItsCode) {
  for (const LaneFacts& lane : kLaneSpeeds) {
    EXPECT_EQ(&lane, &lane_facts(lane.speed)) << "the table is in the order of the enumeration";
    const std::string coding = lane.coding;
    if (coding == "8b/10b") { EXPECT_DOUBLE_EQ(lane.data_gbit_per_s, lane.signalling_gbit_per_s * 8 / 10); }
    if (coding == "64b/66b") { EXPECT_DOUBLE_EQ(lane.data_gbit_per_s, lane.signalling_gbit_per_s * 64 / 66); }
    EXPECT_LE(lane.data_gbit_per_s, lane.nominal_gbit_per_s);
  }
}

TEST(Lanes, AreFoundByNameInEitherCase) {
  EXPECT_EQ(lane_speed_from("fdr10"), LaneSpeed::fdr10);
  EXPECT_EQ(lane_speed_from("NdR"), LaneSpeed::ndr);
  EXPECT_FALSE(lane_speed_from("fdr1"));
  EXPECT_FALSE(lane_speed_from(""));
  EXPECT_FALSE(lane_speed_from("ndr "));
}

// --- packet overhead: link-rates, section 2.1 ---

TEST(PacketOverhead, AgreesWithTheSumsOfTheHeaders) {
  EXPECT_EQ(packet_overhead_bytes(kInfiniband), 28);
  EXPECT_EQ(packet_overhead_bytes(kGrh), 68);
  EXPECT_EQ(packet_overhead_bytes(kRoce), 82);
  EXPECT_EQ(packet_overhead_bytes(kRoceVlan), 86);
  EXPECT_EQ(packet_overhead_bytes(kRoceIpv6), 102);
  // RoCE v1: Ethernet with preamble and gap 38, GRH 40, BTH 12, ICRC 4.
  EXPECT_EQ(packet_overhead_bytes({Wire::roce_v1, false, false, false}), 94);
  EXPECT_EQ(packet_overhead_bytes({Wire::roce_v1, false, false, true}), 98);
}

TEST(PacketOverhead, TextNamesThePartsThatAddUp) {
  EXPECT_EQ(packet_overhead_text(kGrh), "LRH 8 + GRH 40 + BTH 12 + ICRC 4 + VCRC 2 + delimiters 2");
  EXPECT_EQ(packet_overhead_text(kRoceVlan), "Ethernet 38 + VLAN 4 + IPv4 20 + UDP 8 + BTH 12 + ICRC 4");
}

TEST(MessageOverhead, FollowsTheOperation) {
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::write, 17), 16);
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::write_imm, 17), 20);
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::send, 17), 0);
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::read, 1), 4);
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::read, 17), 8);
  EXPECT_EQ(message_overhead_bytes(RdmaOperation::atomic, 1), 28);
}

// --- payload efficiency: printed figures of link-rates, section 2.2 ---

struct EfficiencyRow {
  PacketFormat format;
  std::array<double, 5> percent;    // path MTU 256 512 1024 2048 4096
};

class EfficiencyTable : public testing::TestWithParam<EfficiencyRow> {};

TEST_P(EfficiencyTable, AgreesWithThePrintedPercentages) {
  for (std::size_t i = 0; i < kPathMtus.size(); ++i) {
    const Message message{RdmaOperation::write, kMebibyte, kPathMtus[i], GetParam().format};
    EXPECT_NEAR(wire_efficiency(message) * 100, GetParam().percent[i], half_of(0.01)) << packet_overhead_text(GetParam().format) << ", MTU " << kPathMtus[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, EfficiencyTable,
                         testing::Values(EfficiencyRow{kInfiniband, {90.14, 94.81, 97.34, 98.65, 99.32}},
                                         EfficiencyRow{kGrh, {79.01, 88.27, 93.77, 96.78, 98.37}},
                                         EfficiencyRow{kRoce, {75.74, 86.19, 92.58, 96.15, 98.04}},
                                         EfficiencyRow{kRoceVlan, {74.85, 85.62, 92.25, 95.97, 97.94}},
                                         EfficiencyRow{kRoceIpv6, {71.51, 83.39, 90.94, 95.25, 97.57}}));

struct SmallMessage {
  PacketFormat format;
  RdmaOperation operation;
  std::uint64_t bytes;
  double percent;
};

class SmallMessages : public testing::TestWithParam<SmallMessage> {};

TEST_P(SmallMessages, AgreeWithThePrintedPercentages) {
  const auto& [format, operation, bytes, percent] = GetParam();
  EXPECT_NEAR(wire_efficiency({operation, bytes, 4096, format}) * 100, percent, half_of(0.1)) << bytes;
}

INSTANTIATE_TEST_SUITE_P(
    Rates, SmallMessages,
    testing::Values(SmallMessage{kRoce, RdmaOperation::write, 64, 39.5}, SmallMessage{kRoce, RdmaOperation::write, 256, 72.3},
                    SmallMessage{kRoce, RdmaOperation::write, 1024, 91.3}, SmallMessage{kRoce, RdmaOperation::write, 4096, 97.7},
                    SmallMessage{kRoce, RdmaOperation::send, 64, 43.8}, SmallMessage{kRoce, RdmaOperation::send, 256, 75.7},
                    SmallMessage{kInfiniband, RdmaOperation::write, 64, 59.3}, SmallMessage{kInfiniband, RdmaOperation::write, 256, 85.3},
                    SmallMessage{kInfiniband, RdmaOperation::write, 1024, 95.9}, SmallMessage{kInfiniband, RdmaOperation::write, 4096, 98.9}));

TEST(WireEfficiency, HardlyDependsOnTheOperationFrom64KUp) {
  // "Write vs read vs send differ by <= 0.03 points at 64 KiB and above."
  for (const PacketFormat& format : {kInfiniband, kRoce}) {
    const double write = wire_efficiency({RdmaOperation::write, 65536, 4096, format});
    for (auto operation : {RdmaOperation::read, RdmaOperation::send})
      EXPECT_NEAR(wire_efficiency({operation, 65536, 4096, format}) * 100, write * 100, 0.03);
  }
}

TEST(WireEfficiency, CountsAnAtomicsOperandsOnce) {
  // One packet of 28 + 28 B carries 8 B of operands.
  EXPECT_DOUBLE_EQ(wire_efficiency({RdmaOperation::atomic, 8, 4096, kInfiniband}), 8.0 / 56);
}

TEST(WireEfficiency, RoundsPacketsUp) {
  EXPECT_EQ(packet_count({RdmaOperation::send, 1, 1024, kRoce}), 1U);
  EXPECT_EQ(packet_count({RdmaOperation::send, 1024, 1024, kRoce}), 1U);
  EXPECT_EQ(packet_count({RdmaOperation::send, 1025, 1024, kRoce}), 2U);
  EXPECT_EQ(wire_formula({RdmaOperation::read, 3000, 1024, kRoce}), "3000 / (3000 + 3 x 82 + 8)");
}

// --- goodput: printed figures of link-rates, section 2.3; NaN where the page prints none ---

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct GoodputRow {
  double data_gbit_per_s;
  PacketFormat format;
  std::array<double, 3> gbit_per_s;     // path MTU 1024 2048 4096
  std::array<double, 3> gbyte_per_s;
  double gbyte_unit;
};

class GoodputTable : public testing::TestWithParam<GoodputRow> {};

TEST_P(GoodputTable, AgreesWithThePrintedFigures) {
  for (std::size_t i = 0; i < 3; ++i) {
    const int mtu = kPathMtus[i + 2];
    const double goodput = GetParam().data_gbit_per_s * wire_efficiency({RdmaOperation::write, kMebibyte, mtu, GetParam().format});
    if (!std::isnan(GetParam().gbit_per_s[i])) { EXPECT_NEAR(goodput, GetParam().gbit_per_s[i], half_of(0.01)) << "MTU " << mtu; }
    if (!std::isnan(GetParam().gbyte_per_s[i])) { EXPECT_NEAR(goodput / 8, GetParam().gbyte_per_s[i], half_of(GetParam().gbyte_unit)) << "MTU " << mtu; }
  }
}

INSTANTIATE_TEST_SUITE_P(Roce, GoodputTable,
                         testing::Values(GoodputRow{10, kRoce, {9.26, 9.61, 9.80}, {1.157, kNone, 1.225}, 0.001},
                                         GoodputRow{25, kRoce, {23.15, 24.04, 24.51}, {2.893, kNone, 3.064}, 0.001},
                                         GoodputRow{40, kRoce, {37.03, 38.46, 39.21}, {4.629, kNone, 4.902}, 0.001},
                                         GoodputRow{50, kRoce, {46.29, 48.07, 49.02}, {5.787, kNone, 6.127}, 0.001},
                                         GoodputRow{100, kRoce, {92.58, 96.15, 98.04}, {11.573, kNone, 12.254}, 0.001},
                                         GoodputRow{200, kRoce, {185.17, 192.30, 196.07}, {23.146, kNone, 24.509}, 0.001},
                                         GoodputRow{400, kRoce, {370.34, 384.60, 392.14}, {46.292, kNone, 49.018}, 0.001},
                                         GoodputRow{800, kRoce, {740.68, 769.19, 784.29}, {92.585, kNone, 98.036}, 0.001}));

// EDR: the page prints 12.42 GB/s, which is 99.32/8 rounded twice; 100/8 · 1048576/1055760 is 12.4149.
INSTANTIATE_TEST_SUITE_P(Infiniband, GoodputTable,
                         testing::Values(GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::qdr, 4), kInfiniband, {kNone, 31.57, 31.78}, {kNone, kNone, 3.97}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::fdr10, 4), kInfiniband, {kNone, 39.46, 39.73}, {kNone, kNone, 4.97}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::fdr, 4), kInfiniband, {kNone, 53.81, 54.17}, {kNone, kNone, 6.77}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::edr, 4), kInfiniband, {kNone, 98.65, 99.32}, {kNone, kNone, 12.41}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::hdr, 2), kInfiniband, {kNone, 98.65, 99.32}, {kNone, kNone, 12.41}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::hdr, 4), kInfiniband, {kNone, 197.30, 198.64}, {kNone, kNone, 24.83}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::ndr, 2), kInfiniband, {kNone, 197.30, 198.64}, {kNone, kNone, 24.83}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::ndr, 4), kInfiniband, {kNone, 394.60, 397.28}, {kNone, kNone, 49.66}, 0.01},
                                         GoodputRow{infiniband_data_gbit_per_s(LaneSpeed::xdr, 4), kInfiniband, {kNone, 789.20, 794.56}, {kNone, kNone, 99.32}, 0.01}));

// --- path MTU: link-rates, section 1.5 (rxe's measured there) ---

TEST(PathMtu, FollowsTheNetdevMtu) {
  EXPECT_EQ(path_mtu_of_netdev(1500, false), 1024);
  EXPECT_EQ(path_mtu_of_netdev(9000, false), 4096);
  EXPECT_EQ(path_mtu_of_netdev(4096, false), 2048);
  EXPECT_EQ(path_mtu_of_netdev(4192, false), 4096);
  EXPECT_EQ(path_mtu_of_netdev(4191, false), 2048);
  EXPECT_EQ(path_mtu_of_netdev(2144, false), 2048);
  EXPECT_EQ(path_mtu_of_netdev(1120, false), 1024);
  EXPECT_EQ(path_mtu_of_netdev(1119, false), 512);
  EXPECT_FALSE(path_mtu_of_netdev(351, false));
}

TEST(PathMtu, IsFoundWithSmallerHeadersByRxe) {
  EXPECT_EQ(path_mtu_of_netdev(1100, true), 512);
  EXPECT_EQ(path_mtu_of_netdev(1500, true), 1024);
  EXPECT_EQ(path_mtu_of_netdev(2200, true), 2048);
  EXPECT_EQ(path_mtu_of_netdev(4200, true), 4096);
}

// --- TCP: printed figures of link-rates, section 2.4 ---

struct TcpRow {
  TcpFormat format;
  int segment_bytes;
  double percent;
};

class TcpTable : public testing::TestWithParam<TcpRow> {};

TEST_P(TcpTable, AgreesWithThePrintedFigures) {
  EXPECT_EQ(tcp_payload_bytes(GetParam().format), GetParam().segment_bytes);
  EXPECT_NEAR(tcp_efficiency(GetParam().format) * 100, GetParam().percent, half_of(0.01));
}

INSTANTIATE_TEST_SUITE_P(Rates, TcpTable,
                         testing::Values(TcpRow{{1500, false, false}, 1448, 94.15}, TcpRow{{9000, false, false}, 8948, 99.00},
                                         TcpRow{{1500, true, false}, 1428, 92.85}, TcpRow{{9000, true, false}, 8928, 98.78}));

TEST(Tcp, AVlanTagTakesFourBytesOfTheWire) {
  EXPECT_DOUBLE_EQ(tcp_efficiency({1500, false, true}), 1448.0 / 1542);
  EXPECT_EQ(tcp_formula({1500, false, true}), "1448 / 1542");
}

}  // namespace
}  // namespace railgauge::rates
