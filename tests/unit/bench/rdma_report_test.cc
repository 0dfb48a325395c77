#include "bench/rdma/report.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.h"

namespace railgauge::bench {
namespace {

TEST(RdmaReport, KeepsTheKindOfWhatEndedAThread) {
  std::vector<GroupOutcome> outcomes(2);
  outcomes[1].thrown = Error(ErrorKind::verbs, "ibv_req_notify_cq: Input/output error", EIO);
  outcomes[1].error = outcomes[1].thrown->what();
  results::SideResult result;
  result.role = "server";
  report(outcomes, plan::Plan{}, true, result);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, "verbs");
  EXPECT_EQ(result.error->code, EIO);
  EXPECT_EQ(result.error->side, "server");
  EXPECT_EQ(result.error->text, "ibv_req_notify_cq: Input/output error");
}

}  // namespace
}  // namespace railgauge::bench
