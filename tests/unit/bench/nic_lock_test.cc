#include "bench/nic_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NicLockTest : public testing::Test {
 protected:
  // No NIC of this name; '/' and '.' may not reach the path.
  std::string nic_ = "unit/test." + std::to_string(::getpid());
  std::string path_ = "/tmp/railgauge-unit_test_" + std::to_string(::getpid()) + ".lock";
  void SetUp() override { std::filesystem::remove_all(path_); }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::string refused() {
    try {
      NicLock lock({"mlx5_0", nic_}, "a measurement of the test", Clock::now());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(NicLockTest, TellsTheSecondWhoMeasures) {
  {
    NicLock first({"eth0", nic_}, "a measurement for 192.0.2.7, pid 4711", Clock::now() + std::chrono::hours(2) - std::chrono::milliseconds(500));
    EXPECT_THAT(refused(), AllOf(HasSubstr("mlx5_0 is busy with a measurement for 192.0.2.7, pid 4711, for about 7"), HasSubstr(" s more; one measurement at a time")));
  }
  EXPECT_EQ(refused(), "");
}

TEST_F(NicLockTest, IsNotMisledByWhatElseStandsInTheFile) {
  NicLock first({"eth0", nic_}, "a measurement", Clock::now());
  std::ofstream(path_) << "-9223372036854775808 a time whose rest would overflow";
  EXPECT_THAT(refused(), HasSubstr("mlx5_0 is busy with another railgauge;"));
}

TEST_F(NicLockTest, LeavesTheFileBehindALinkAlone) {
  std::string victim = path_ + ".victim";
  std::ofstream(victim) << "precious";
  ASSERT_EQ(::chmod(victim.c_str(), 0600), 0);
  ASSERT_EQ(::link(victim.c_str(), path_.c_str()), 0);
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_), HasSubstr("no"), HasSubstr("remove")));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::symlink(victim.c_str(), path_.c_str()), 0);
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_), HasSubstr("remove")));
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "precious");
  struct stat found {};
  ASSERT_EQ(::stat(victim.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
  std::filesystem::remove(victim);
}

TEST_F(NicLockTest, IsNotHeldUpByAFifo) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0666), 0);
  EXPECT_THAT(refused(), HasSubstr("not a plain file"));
}

}  // namespace
}  // namespace railgauge::bench
