#include "control/token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/secret.h"
#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class TokenFile : public ::testing::Test {
 protected:
  TokenFile() { ::close(::mkstemp(path_.data())); }
  ~TokenFile() override { ::unlink(path_.c_str()); }
  void write(const std::string& content, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::binary) << content;
    ::chmod(path_.c_str(), mode);
  }
  std::string path_ = "/tmp/railgauge-token-XXXXXX";
};

TEST(Token, HasSevenReadableGroupsAndIsNew) {
  std::set<std::string> seen;
  for (int i = 0; i < 300; ++i) {
    std::string token = make_token();
    EXPECT_THAT(token, MatchesRegex("([0-9a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]-)*[0-9a-z]+"));
    EXPECT_EQ(token.size(), 34u);  // 7 groups of 4 and 6 dashes: 28 letters × 5 bits = 140 bits ≥ 128
    EXPECT_EQ(weakness_of(token), std::nullopt);
    seen.insert(token);
  }
  EXPECT_EQ(seen.size(), 300u);
}

TEST(Token, EveryLetterOfTheAlphabetOccurs) {
  std::set<char> letters;
  for (int i = 0; i < 300; ++i) {
    for (char c : make_token()) letters.insert(c);
  }
  EXPECT_EQ(letters.size(), 33u);  // 32 and the dash; 8400 draws miss one of 32 with probability 10⁻¹¹⁴
}

TEST(Token, ShortOnesAreWeak) {
  EXPECT_THAT(weakness_of("secret").value_or(""), HasSubstr("6 characters"));
  EXPECT_EQ(weakness_of(""), std::nullopt);
}

TEST_F(TokenFile, FirstLineTrimmed) {
  write("  abcd-efgh-1234-tail \t\r\nsecond line\n");
  EXPECT_EQ(read_token_file(path_), "abcd-efgh-1234-tail");
  write("no-newline-at-the-end");
  EXPECT_EQ(read_token_file(path_), "no-newline-at-the-end");
}

TEST_F(TokenFile, BadFilesAreUsageErrorsThatDoNotShowTheContent) {
  for (const std::string& content : {std::string(), std::string(" \n"), std::string("\nsecret-in-line-2"), std::string(1025, 's')}) {
    write(content);
    Error error = thrown_by([&] { read_token_file(path_); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), Not(HasSubstr("sss")));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(thrown_by([] { read_token_file("/nonexistent/token"); }).what(), HasSubstr("No such file"));
}

TEST_F(TokenFile, OnlyAPlainFileWillDo) {
  std::string fifo = path_ + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(thrown_by([&] { read_token_file(fifo); }).what(), HasSubstr("--token-file " + fifo + ": it is a FIFO, not a plain file"));
  ::unlink(fifo.c_str());
  EXPECT_THAT(thrown_by([] { read_token_file("/tmp"); }).what(), HasSubstr("--token-file /tmp: it is a directory, not a plain file"));
  EXPECT_THAT(thrown_by([] { read_token_file("/dev/zero"); }).what(), HasSubstr("it is a device"));
}

TEST_F(TokenFile, ReadableByOthersIsWarnedOf) {
  write("abcd-efgh-1234-tail", 0644);
  ::testing::internal::CaptureStderr();
  read_token_file(path_);
  std::string warned = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(warned, HasSubstr("chmod 600"));
  EXPECT_THAT(warned, Not(HasSubstr("abcd")));
  write("abcd-efgh-1234-tail", 0600);
  ::testing::internal::CaptureStderr();
  read_token_file(path_);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Secret, ComparesWholeContent) {
  std::array<std::uint8_t, 16> nonce{};
  fill_random(nonce);
  auto other = nonce;
  EXPECT_TRUE(equal_constant_time(nonce, other));
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    other = nonce;
    other[i] ^= 0x40;
    EXPECT_FALSE(equal_constant_time(nonce, other)) << i;
  }
  EXPECT_FALSE(equal_constant_time(nonce, std::span(nonce).first(15)));
  wipe(nonce);
  EXPECT_EQ(nonce, (std::array<std::uint8_t, 16>{}));
}

}  // namespace
}  // namespace railgauge::control
