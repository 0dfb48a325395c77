#include "bench/tcp/info_log.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>

#include "base/fd.h"

namespace railgauge::bench {
namespace {

using std::chrono::milliseconds;

struct Kept {
  std::vector<results::TcpInfoSample> samples;
  std::size_t every;
  std::size_t limit;
};

/// The log of so many readings, 100 ms apart, of one socket (a socket that was never connected has a TCP_INFO as well).
Kept samples_of(int readings, int streams) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TcpInfoLog log(std::vector<int>(static_cast<std::size_t>(streams), socket.get()));
  const auto begin = Clock::now();
  for (int i = 0; i < readings; ++i) log.take(begin + milliseconds(100) * i);
  return {log.samples(begin), log.every(), log.limit()};
}

TEST(TcpInfoLog, KeepsEveryIntervalOfTenSeconds) {
  const auto samples = samples_of(100, 1).samples;
  ASSERT_EQ(samples.size(), 100U);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].at, milliseconds(100) * static_cast<int>(i));
}

/// It is full at 100, 200, 400 and 800 readings; each time the distance doubles: 0, 16, … 992 are left of 1000. Reading 999,
/// the end of the window, stands behind them: without it the record would stop 0.7 s short of what it says.
TEST(TcpInfoLog, TakesNoMoreMemoryForALongerRunAndEndsWithIt) {
  const auto kept = samples_of(1000, 1);
  ASSERT_EQ(kept.samples.size(), 63U + 1U);
  for (std::size_t i = 0; i < 63; ++i) EXPECT_EQ(kept.samples[i].at, milliseconds(1600) * static_cast<int>(i));
  EXPECT_EQ(kept.samples.back().at, milliseconds(99900));
  EXPECT_EQ(kept.every, 16U);
  EXPECT_EQ(kept.limit, 100U);
}

/// Of 993 readings the last, 992, is one of those kept: it does not stand there twice.
TEST(TcpInfoLog, DoesNotRepeatTheLastReading) { EXPECT_EQ(samples_of(993, 1).samples.size(), 63U); }

/// 800 readings in all: 50 instants of 16 streams; full at 50 and 100 instants of 150, so that 0, 4, … 148 are left, and 149.
TEST(TcpInfoLog, SharesItsRoomAmongTheStreams) {
  const auto kept = samples_of(150, 16);
  EXPECT_EQ(kept.samples.size(), 39U * 16U);
  EXPECT_EQ(kept.limit, 50U);
}

}  // namespace
}  // namespace railgauge::bench
