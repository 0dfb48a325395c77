#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace {
// What a file system that lacks them answers: EINVAL of rename(2)'s flags, EPERM of link(2).
int rename_refusal = 0;
int link_refusal = 0;
}  // namespace

// In place of the C library's, for the code under test in this program.
extern "C" int renameat2(int old_folder, const char* from, int new_folder, const char* to, unsigned flags) noexcept {
  errno = rename_refusal;
  return rename_refusal != 0 ? -1 : static_cast<int>(::syscall(SYS_renameat2, old_folder, from, new_folder, to, flags));
}
extern "C" int link(const char* from, const char* to) noexcept {
  errno = link_refusal;
  return link_refusal != 0 ? -1 : ::linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

namespace railgauge {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "railgauge-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    rename_refusal = link_refusal = 0;
    std::filesystem::remove_all(folder_);
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(FileTest, RoundTripsWithoutTrailingNewline) {
  write_file_atomically(path("a"), "4: ACTIVE\n\n", false);
  FileText read = read_text_file(path("a"));
  ASSERT_TRUE(read.text);
  EXPECT_EQ(*read.text, "4: ACTIVE");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, KeepsErrnoOfWhatCannotBeRead) {
  FileText read = read_text_file(path("absent"));
  EXPECT_FALSE(read.text);
  EXPECT_EQ(read.error, ENOENT);
  EXPECT_EQ(read_text_file(folder_.string()).error, EISDIR);
}

TEST_F(FileTest, IsNotHeldUpByWhatIsNoPlainFile) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(path("fifo")).error, EINVAL);
  EXPECT_EQ(read_text_file("/dev/zero").error, EINVAL);
  std::string obstacle;
  EXPECT_FALSE(open_plain_file(path("fifo"), obstacle));
  EXPECT_EQ(obstacle, "it is a FIFO, not a plain file");
  EXPECT_TRUE(read_text_file("/proc/self/stat").text);
}

TEST_F(FileTest, NeverReplacesUnlessAsked) {
  write_file_atomically(path("a"), "first", false);
  EXPECT_THROW(write_file_atomically(path("a"), "second", false), Error);
  EXPECT_EQ(*read_text_file(path("a")).text, "first");
  write_file_atomically(path("a"), "third", true);
  EXPECT_EQ(*read_text_file(path("a")).text, "third");
  EXPECT_EQ(entries(), 1u) << "a temporary file was left behind";
}

TEST_F(FileTest, FileSystemsWithoutLinkOrWithoutRenameFlagsTakeTheFile) {
  struct Case {
    const char* name;
    int rename;
    int link;
  };
  // NFS refuses flags (rename(2)), vfat links (link(2)), some FUSE and CIFS mounts both.
  for (const Case& c : {Case{"vfat", 0, EPERM}, Case{"nfs", EINVAL, 0}, Case{"fuse", ENOSYS, EOPNOTSUPP}}) {
    SCOPED_TRACE(c.name);
    rename_refusal = c.rename;
    link_refusal = c.link;
    const std::size_t before = entries();
    check_can_create(path(c.name));
    EXPECT_EQ(entries(), before);
    write_file_atomically(path(c.name), "first", false);
    EXPECT_EQ(read_text_file(path(c.name)).text, "first");
    EXPECT_THROW(write_file_atomically(path(c.name), "second", false), Error);
    EXPECT_EQ(read_text_file(path(c.name)).text, "first");
    EXPECT_EQ(entries(), before + 1) << "a temporary file was left behind";
  }
}

TEST_F(FileTest, NameTakenMeanwhileIsRefused) {
  rename_refusal = EEXIST;  // after the look at the name, before the rename
  try {
    write_file_atomically(path("a"), "second", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.code(), EEXIST);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FileTest, FullDiskNamesTheFileAndLeavesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  // A folder that does not exist stands in for every refusal of create.
  try {
    write_file_atomically(path("no/such/folder/record.json"), "x", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("record.json"), std::string::npos);
  }
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace railgauge
