#include "host/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace railgauge::host {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(TryOpenDevice, GivesItsNameWhenItOpens) { EXPECT_EQ(*try_open_device("/dev/null"), "/dev/null"); }

TEST(TryOpenDevice, SaysWhatMends) {
  Fact<std::string> absent = try_open_device("/dev/railgauge_none/uverbs7");
  EXPECT_FALSE(absent);
  EXPECT_THAT(absent.reason, HasSubstr("`modprobe ib_uverbs`"));
  EXPECT_THAT(try_open_device("/").reason, HasSubstr("EISDIR"));
}

TEST(TryOpenDevice, ExplainsAMissingPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may open everything";
  std::string path = ::testing::TempDir() + "railgauge_closed_" + std::to_string(::getpid());
  std::ofstream(path) << "x";
  ::chmod(path.c_str(), 0);
  EXPECT_THAT(try_open_device(path).reason, HasSubstr("chmod 0666"));
  ::unlink(path.c_str());
}

TEST(LiveAddresses, KnowTheLoopback) {
  auto addresses = live_addresses();
  if (addresses.count("lo") == 0) GTEST_SKIP() << "no loopback interface here";
  EXPECT_THAT(addresses["lo"], Contains("127.0.0.1/8"));
}

TEST(LiveStatistics, AreNoneWhereThereIsNoInterface) {
  EXPECT_TRUE(live_ethtool_statistics("railgauge_none7").empty());
  EXPECT_TRUE(live_ethtool_statistics("a_name_too_long_for_an_interface").empty());
  EXPECT_FALSE(live_firmware("railgauge_none7"));
}

}  // namespace
}  // namespace railgauge::host
