#include "results/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace railgauge::results {
namespace {

Record between(const std::string& a, const std::string& b) {
  Record record;
  record.started_utc = "2026-11-30T09:32:17.123Z";
  record.peer = "192.0.2.7";
  record.nodes.resize(b.empty() ? 1 : 2);
  record.nodes[0].role = "client";
  record.nodes[0].facts.hostname = a;
  if (!b.empty()) record.nodes[1].role = "server", record.nodes[1].facts.hostname = b;
  return record;
}

class WriteRecord : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "railgauge-write-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

template <typename Call>
ErrorKind kind_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing thrown";
  return ErrorKind::cuda;
}

TEST(RecordFileName, IsTimeAndBothHosts) {
  EXPECT_EQ(record_file_name(between("node-07", "node-12.rack3")), "railgauge-20261130T093217.123Z-node-07-node-12.rack3.json");
}

TEST(RecordFileName, TakesThePeerAsTypedWhenItWasNeverReached) {
  EXPECT_EQ(record_file_name(between("node-07", "")), "railgauge-20261130T093217.123Z-node-07-192.0.2.7.json");
}

TEST(RecordFileName, HasNoCharacterThatAFileSystemCouldMistake) {
  std::string name = record_file_name(between("../../etc", std::string(300, 'b') + "\n"));
  EXPECT_EQ(name, "railgauge-20261130T093217.123Z-.._.._etc-" + std::string(64, 'b') + ".json");
}

TEST_F(WriteRecord, ChoosesNameInADirectory) {
  Record record = between("a1", "b2");
  EXPECT_EQ(record_path(record, ""), record_file_name(record));
  EXPECT_EQ(record_path(record, directory_), directory_ + "/" + record_file_name(record));
  EXPECT_EQ(record_path(record, directory_ + "/"), directory_ + "/" + record_file_name(record));
  EXPECT_EQ(record_path(record, directory_ + "/x.json"), directory_ + "/x.json");
}

TEST_F(WriteRecord, NeverReplacesAFile) {
  std::string path = directory_ + "/kept.json";
  std::ofstream(path) << "kept";
  EXPECT_EQ(kind_of([&] { check_output(path); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { write_record_text(path, "new"); }), ErrorKind::usage);
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(WriteRecord, RefusesAMissingDirectoryBeforeMeasuring) {
  EXPECT_EQ(kind_of([&] { check_output(directory_ + "/no/such/"); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { check_output(directory_ + "/no/such/file.json"); }), ErrorKind::usage);
  EXPECT_NO_THROW(check_output(directory_));
  EXPECT_NO_THROW(check_output(directory_ + "/new.json"));
  EXPECT_NO_THROW(check_output(""));
}

TEST_F(WriteRecord, TriesThePlaceBeforeMeasuring) {
  // NAME_MAX is 255; access(2) sees nothing wrong with the directory.
  EXPECT_EQ(kind_of([&] { check_output(directory_ + "/" + std::string(252, 'n') + ".json"); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { check_output("/proc/x.json"); }), ErrorKind::usage);  // no file can be made there, root or not
  EXPECT_NO_THROW(check_output(directory_ + "/new.json"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "the trial left something behind";
}

TEST_F(WriteRecord, NamesTheFileAndTheReasonWhenItCannot) {
  std::string path = directory_ + "/gone/x.json";
  try {
    write_record_text(path, "{}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("No such file or directory")));
  }
}

/// Files may not grow beyond `bytes` while this lives: what a full disk looks like to write(2).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

TEST_F(WriteRecord, NamesTheFileWhenTheDiskIsFullAndLeavesNothing) {
  std::string path = directory_ + "/full.json";
  std::string message = "nothing thrown";
  {
    FileSizeLimit limit(100);
    try {
      write_record_text(path, std::string(5000, 'x'));
    } catch (const Error& error) {
      message = error.what();
    }
  }
  EXPECT_THAT(message, testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("File too large")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(WriteRecord, LeavesNoTemporaryFileBeside) {
  write_record_text(directory_ + "/one.json", "{}\n");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_)) ++files;
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace railgauge::results
