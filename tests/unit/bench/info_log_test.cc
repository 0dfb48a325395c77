#include "bench/tcp/info_log.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>

#include "base/fd.h"

namespace railgauge::bench {
namespace {

using std::chrono::milliseconds;

/// The log of so many readings, 100 ms apart, of one socket (a socket that was never connected has a TCP_INFO as well).
std::vector<results::TcpInfoSample> samples_of(int readings, int streams) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TcpInfoLog log(std::vector<int>(static_cast<std::size_t>(streams), socket.get()));
  const auto begin = Clock::now();
  for (int i = 0; i < readings; ++i) log.take(begin + milliseconds(100) * i);
  return log.samples(begin);
}

TEST(TcpInfoLog, KeepsEveryIntervalOfTenSeconds) {
  const auto samples = samples_of(100, 1);
  ASSERT_EQ(samples.size(), 100U);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].at, milliseconds(100) * static_cast<int>(i));
}

/// It is full at 100, 200, 400 and 800 readings; each time the distance doubles: 0, 16, … 992 are left of 1000.
TEST(TcpInfoLog, TakesNoMoreMemoryForALongerRun) {
  const auto samples = samples_of(1000, 1);
  ASSERT_EQ(samples.size(), 63U);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].at, milliseconds(1600) * static_cast<int>(i));
}

/// 800 readings in all: 50 instants of 16 streams; full at 50 and 100 instants of 150, so that 0, 4, … 148 are left.
TEST(TcpInfoLog, SharesItsRoomAmongTheStreams) { EXPECT_EQ(samples_of(150, 16).size(), 38U * 16U); }

}  // namespace
}  // namespace railgauge::bench
