#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verbs/device.h"

namespace railgauge::verbs {
namespace {

TEST(UnexplainedStandIn, SaysWhyADeviceCountsAsOneThatDoesNotSaySo) {
  host::RdmaDevice device;
  device.name = "mlx5_4";
  device.firmware = host::Fact<std::string>::of("28.39.1002");
  EXPECT_FALSE(unexplained_stand_in(device));
  device.simulated = true;
  auto warning = unexplained_stand_in(device);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, testing::AllOf(testing::HasSubstr("/sys/class/infiniband has no mlx5_4"), testing::HasSubstr("firmware 28.39.1002")));
  device.firmware = host::Fact<std::string>::of("simulated-1");  // it says so itself
  EXPECT_FALSE(unexplained_stand_in(device));
}

}  // namespace
}  // namespace railgauge::verbs
