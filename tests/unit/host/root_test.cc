#include "host/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railgauge::host {
namespace {

/// A folder that lives as long as the test.
class RootTest : public ::testing::Test {
 protected:
  RootTest() : folder_(::testing::TempDir() + "railgauge_root_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_ + "/sys/real/device");
    std::filesystem::create_directory_symlink("../real/device", folder_ + "/sys/real/link");
  }
  ~RootTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& content) { std::ofstream(folder_ + path) << content; }
  std::string folder_;
};

TEST_F(RootTest, TrimsNulAndNewline) {
  write("/sys/a", std::string("4: ACTIVE\n\0\0", 12));
  EXPECT_EQ(*Root(folder_ + "/").text("/sys/a"), "4: ACTIVE");
}

TEST_F(RootTest, KeepsAbsentUnreadableAndEmptyApart) {
  write("/sys/empty", "\n");
  Root root(folder_);
  EXPECT_EQ(root.text("/sys/nothing").reason, "absent");
  EXPECT_EQ(root.text("/sys/empty/below").reason, "absent");
  EXPECT_EQ(root.text("/sys/empty").reason, "empty");
  EXPECT_EQ(root.text("/sys/real").reason, "EISDIR (Is a directory)");
  EXPECT_FALSE(root.text("/sys/nothing").value.has_value());
}

TEST_F(RootTest, QuotesWhatIsNoNumber) {
  write("/sys/a", "N/A (no PMA)\n");
  write("/sys/b", "0x1a\n");
  EXPECT_EQ(Root(folder_).integer("/sys/a").reason, "\"N/A (no PMA)\" is no number");
  EXPECT_EQ(*Root(folder_).integer("/sys/b"), 26);
}

TEST_F(RootTest, ResolvesInsideAndNeverOutside) {
  std::filesystem::create_symlink("/etc", folder_ + "/sys/out");
  std::filesystem::create_symlink("nowhere", folder_ + "/sys/broken");
  std::filesystem::create_directories(folder_ + "x/sys");  // a neighbour whose name only begins alike
  std::filesystem::create_symlink(folder_ + "x/sys", folder_ + "/sys/neighbour");
  Root root(folder_);
  std::filesystem::rename(folder_ + "/sys/real/link", folder_ + "/sys/link");
  std::filesystem::remove(folder_ + "/sys/link");
  std::filesystem::create_symlink("real/device", folder_ + "/sys/link");
  EXPECT_EQ(root.resolve("/sys/link"), "/sys/real/device");
  EXPECT_EQ(*root.link_name("/sys/link"), "device");
  EXPECT_EQ(root.resolve("/sys/out"), std::nullopt);
  EXPECT_EQ(root.resolve("/sys/broken"), std::nullopt);
  EXPECT_EQ(root.resolve("/sys/neighbour"), std::nullopt);
  std::filesystem::remove_all(folder_ + "x");
}

TEST_F(RootTest, ReadsBytesUntouchedAndBounded) {
  write("/sys/bytes", std::string("\x01\0\0\n\0", 5));
  EXPECT_EQ(Root(folder_).read_bytes("/sys/bytes", 64).text, std::string("\x01\0\0\n\0", 5));
  EXPECT_EQ(Root(folder_).read_bytes("/sys/bytes", 2).text, std::string("\x01\0", 2));
}

TEST_F(RootTest, ListsSortedWithoutDotFiles) {
  for (const char* name : {"/sys/real/c", "/sys/real/.hidden", "/sys/real/b"}) write(name, "x");
  EXPECT_THAT(Root(folder_).list("/sys/real"), ::testing::ElementsAre("b", "c", "device", "link"));
  EXPECT_THAT(Root(folder_).list("/sys/none"), ::testing::IsEmpty());
}

TEST(Root, IsLiveWithoutPrefix) {
  EXPECT_TRUE(Root("").live());
  EXPECT_TRUE(Root("/").live());
  EXPECT_EQ(Root("/").path("/proc/self"), "/proc/self");
  EXPECT_FALSE(Root("/tmp").live());
}

TEST(ReasonOf, SaysWhatMends) {
  EXPECT_EQ(reason_of(EACCES), "EACCES (run as root)");
  EXPECT_EQ(reason_of(EIO), "EIO (Input/output error)");
}

}  // namespace
}  // namespace railgauge::host
