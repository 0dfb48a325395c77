#include "verbs/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace railgauge::verbs {
namespace {

// Numbers of man ibv_poll_cq, written out: the enum must not be compared with itself.
TEST(Status, NamesWhatTheManualNames) {
  EXPECT_EQ(status_name(0), "SUCCESS");
  EXPECT_EQ(status_name(4), "LOC_PROT_ERR");
  EXPECT_EQ(status_name(5), "WR_FLUSH_ERR");
  EXPECT_EQ(status_name(9), "REM_INV_REQ_ERR");
  EXPECT_EQ(status_name(10), "REM_ACCESS_ERR");
  EXPECT_EQ(status_name(12), "RETRY_EXC_ERR");
  EXPECT_EQ(status_name(13), "RNR_RETRY_EXC_ERR");
  EXPECT_EQ(status_name(99), "status 99");
}

TEST(Status, HintsAtWhatAUserCanLookAt) {
  EXPECT_EQ(status_hint(0, {}), "");
  EXPECT_THAT(status_hint(12, {}), testing::HasSubstr("4791"));
  EXPECT_THAT(status_hint(12, {.infiniband = true}), testing::AllOf(testing::HasSubstr("P_Keys"), testing::Not(testing::HasSubstr("4791"))));  // field case F59
  EXPECT_THAT(status_hint(1, {}), testing::HasSubstr("different path MTUs"));  // F38
  EXPECT_THAT(status_hint(10, {}), testing::HasSubstr("rkey"));
  EXPECT_THAT(status_hint(99, {}), testing::Not(testing::IsEmpty()));
  for (std::uint32_t status = 1; status <= IBV_WC_GENERAL_ERR; ++status) EXPECT_FALSE(status_hint(status, {}).empty()) << status;
}

TEST(Status, SoftRoceMeansOtherThingsByThreeOfThem) {
  for (std::uint32_t status : {2U, 5U, 11U}) EXPECT_NE(status_hint(status, {.software = true}), status_hint(status, {})) << status;
  EXPECT_EQ(status_hint(10, {.software = true}), status_hint(10, {}));
}

}  // namespace
}  // namespace railgauge::verbs
