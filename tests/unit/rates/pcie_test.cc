#include "rates/pcie.h"

#include <gtest/gtest.h>

#include <array>

namespace railgauge::rates {
namespace {

constexpr double half_of(double unit) { return unit / 2 + 1e-9; }

TEST(Pcie, LaneRatesAgreeWithThePage) {
  // link-rates, section 2.5, GB/s per lane and direction.
  const std::array<double, 6> printed = {0.25, 0.5, 0.9846, 1.9692, 3.9385, 7.375};
  for (int generation = 1; generation <= 6; ++generation)
    EXPECT_NEAR(pcie_lane_gbyte_per_s(generation), printed[static_cast<std::size_t>(generation - 1)], half_of(0.0001));
}

struct Ceiling {
  int generation;
  int width;
  std::array<double, 3> gbyte_per_s;    // MaxPayload 128, 256, 512
  double unit;
};

class CeilingTable : public testing::TestWithParam<Ceiling> {};

TEST_P(CeilingTable, AgreesWithThePrintedFigures) {
  const std::array<int, 3> payloads = {128, 256, 512};
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const PcieLink link{GetParam().generation, GetParam().width, payloads[i]};
    EXPECT_NEAR(pcie_write_gbit_per_s(link) / 8, GetParam().gbyte_per_s[i], half_of(GetParam().unit)) << pcie_formula(link, true);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rates, CeilingTable,
    testing::Values(Ceiling{1, 1, {.21, .23, .24}, .01}, Ceiling{1, 4, {.84, .91, .96}, .01}, Ceiling{1, 8, {1.68, 1.83, 1.91}, .01},
                    Ceiling{1, 16, {3.37, 3.66, 3.82}, .01}, Ceiling{2, 1, {.42, .46, .48}, .01}, Ceiling{2, 4, {1.68, 1.83, 1.91}, .01},
                    Ceiling{2, 8, {3.37, 3.66, 3.82}, .01}, Ceiling{2, 16, {6.74, 7.31, 7.64}, .01}, Ceiling{3, 1, {.83, .90, .94}, .01},
                    Ceiling{3, 4, {3.32, 3.60, 3.76}, .01}, Ceiling{3, 8, {6.63, 7.20, 7.52}, .01},
                    Ceiling{3, 16, {13.27, 14.40, 15.05}, .01}, Ceiling{4, 1, {1.66, 1.80, 1.88}, .01},
                    Ceiling{4, 4, {6.63, 7.20, 7.52}, .01}, Ceiling{4, 8, {13.27, 14.40, 15.05}, .01},
                    Ceiling{4, 16, {26.53, 28.81, 30.10}, .01}, Ceiling{5, 1, {3.32, 3.60, 3.76}, .01},
                    Ceiling{5, 4, {13.27, 14.40, 15.05}, .01}, Ceiling{5, 8, {26.53, 28.81, 30.10}, .01},
                    Ceiling{5, 16, {53.07, 57.61, 60.19}, .01}, Ceiling{6, 1, {6.56, 6.94, 7.15}, .01},
                    Ceiling{6, 4, {26.2, 27.8, 28.6}, .1}, Ceiling{6, 8, {52.4, 55.5, 57.2}, .1}, Ceiling{6, 16, {104.9, 111.1, 114.4}, .1}));

TEST(Pcie, SixteenLanesAt256AgreeWithThePage) {
  const std::array<double, 6> printed = {29.3, 58.5, 115.2, 230.5, 460.9, 888.5};
  for (int generation = 1; generation <= 6; ++generation)
    EXPECT_NEAR(pcie_write_gbit_per_s({generation, 16, 256}), printed[static_cast<std::size_t>(generation - 1)], half_of(0.1));
}

TEST(Pcie, TlpEfficienciesAgreeWithThePage) {
  const std::array<int, 4> payloads = {64, 128, 256, 512};
  const std::array<double, 4> write = {72.7, 84.2, 91.4, 95.5}, completion = {76.2, 86.5, 92.8, 96.2};
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const double raw = pcie_lane_gbyte_per_s(4) * 16 * 8;
    EXPECT_NEAR(pcie_write_gbit_per_s({4, 16, payloads[i]}) / raw * 100, write[i], half_of(0.1));
    EXPECT_NEAR(pcie_read_gbit_per_s({4, 16, payloads[i]}) / raw * 100, completion[i], half_of(0.1));
  }
}

TEST(Pcie, GenerationFollowsTheTransferRate) {
  EXPECT_EQ(pcie_generation(2.5), 1);
  EXPECT_EQ(pcie_generation(16), 4);
  EXPECT_EQ(pcie_generation(64), 6);
  EXPECT_FALSE(pcie_generation(10));
  EXPECT_FALSE(pcie_generation(0));
}

TEST(Pcie, LinksAreParsedStrictly) {
  const auto link = pcie_link_from("gen5x8");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->generation, 5);
  EXPECT_EQ(link->width, 8);
  EXPECT_EQ(pcie_link_from("3x16")->generation, 3);
  for (const char* text : {"", "gen4", "gen4x", "gen7x16", "gen0x16", "gen4x3", "gen4x16 ", "x16", "gen-4x16", "gen4x0"})
    EXPECT_FALSE(pcie_link_from(text)) << text;
}

}  // namespace
}  // namespace railgauge::rates
