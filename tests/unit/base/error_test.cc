#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/clock.h"
#include "base/log.h"

namespace railgauge {
namespace {

TEST(Error, CarriesKindCodeAndReason) {
  Error error = system_error("open /dev/infiniband/uverbs3", EACCES);
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_EQ(error.code(), EACCES);
  EXPECT_STREQ(error.what(), "open /dev/infiniband/uverbs3: Permission denied");
}

TEST(Error, SaysHowToRaiseALimit) {
  EXPECT_STREQ(system_error("socket", EMFILE).what(), "socket: Too many open files (raise the limit: ulimit -n)");
}

TEST(ErrorFrom, NamesWhatTheStandardLibraryOnlyHints) {
  // What std::thread throws where a thread limit is reached: "Resource temporarily unavailable", no more.
  std::system_error thread(EAGAIN, std::generic_category());
  EXPECT_STREQ(error_from(thread).what(), "starting a thread: Resource temporarily unavailable (fewer --threads, or raise the limit: ulimit -u, pids.max)");
  EXPECT_EQ(error_from(thread).code(), EAGAIN);
  EXPECT_STREQ(error_from(std::bad_alloc()).what(), "not enough memory");
  EXPECT_EQ(error_from(Error(ErrorKind::peer, "gone", 7)).kind(), ErrorKind::peer);
  EXPECT_STREQ(error_from(std::logic_error("so")).what(), "so");
}

TEST(ExitCodeOf, FollowsTheTableOfTheDesign) {
  EXPECT_EQ(exit_code_of(ErrorKind::usage), ExitCode::usage);
  EXPECT_EQ(exit_code_of(ErrorKind::unsupported), ExitCode::unsupported);
  EXPECT_EQ(exit_code_of(ErrorKind::peer), ExitCode::not_measured);
  EXPECT_EQ(exit_code_of(ErrorKind::data), ExitCode::below_expectation);
  EXPECT_EQ(static_cast<int>(ExitCode::unsupported), 77);
}

TEST(Deadline, CountsDownAndNeverBelowZero) {
  Deadline past = Deadline::after(std::chrono::milliseconds(-5));
  EXPECT_TRUE(past.passed());
  EXPECT_EQ(past.poll_timeout_ms(), 0);
  EXPECT_EQ(past.remaining().count(), 0);
  Deadline future = Deadline::after(std::chrono::seconds(100));
  EXPECT_FALSE(future.passed());
  EXPECT_GT(future.poll_timeout_ms(), 90'000);
  EXPECT_EQ(future.sooner(past).at(), past.at());
}

TEST(Printable, EscapesWhatAPeerCouldUseAgainstATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a\\x1b[31mb\\x0ac\\x7f");
  EXPECT_EQ(printable("München"), "München");
}

}  // namespace
}  // namespace railgauge
