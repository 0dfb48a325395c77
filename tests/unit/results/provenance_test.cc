#include "results/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace railgauge::results {
namespace {

TEST(ThisBuild, NamesWhatItIsMadeOf) {
  Provenance build = this_build();
  EXPECT_THAT(build.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(build.commit, testing::MatchesRegex("unknown|[0-9a-f]{40}(-dirty)?|[0-9A-Za-z._-]+"));
  EXPECT_FALSE(build.commit.empty());
  EXPECT_FALSE(build.compiler.empty());
  EXPECT_THAT(build.libraries.at("rdma-core"), testing::MatchesRegex("[0-9]+\\.[0-9.]+"));
  EXPECT_THAT(build.libraries.at("libsodium"), testing::MatchesRegex("[0-9]+\\.[0-9.]+"));
}

TEST(NewRunId, IsAUuidOfVersionSevenWithTheTimeInFront) {
  std::string id = new_run_id();
  ASSERT_THAT(id, testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  // RFC 9562 section 5.7: the first 48 bits are the Unix time in milliseconds.
  auto stamp = std::stoll(id.substr(0, 8) + id.substr(9, 4), nullptr, 16);
  auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(static_cast<double>(stamp), static_cast<double>(now), 60'000);
}

TEST(NewRunId, DoesNotRepeat) {
  std::set<std::string> ids;
  for (int i = 0; i < 500; ++i) ids.insert(new_run_id());
  EXPECT_EQ(ids.size(), 500U);
}

TEST(RecordableCommandLine, LeavesSecretsOut) {
  const char* argv[] = {"railgauge", "check", "hostB", "--token", "s3cret", "--token=s3cret", "--token-file", "/run/token", "--key", "s3cret", "--quick"};
  EXPECT_THAT(recordable_command_line(11, argv), testing::ElementsAre("railgauge", "check", "hostB", "--token", "[removed]", "--token=[removed]",
                                                                      "--token-file", "/run/token", "--key", "[removed]", "--quick"));
}

TEST(RecordableCommandLine, TakesAnOptionWithoutItsValue) {
  const char* argv[] = {"railgauge", "--token"};
  EXPECT_THAT(recordable_command_line(2, argv), testing::ElementsAre("railgauge", "--token"));
}

}  // namespace
}  // namespace railgauge::results
