#include "tcp/limiter.h"

#include <gtest/gtest.h>

namespace railgauge::tcp {
namespace {

TEST(Limiter, NamesPacingBeforeAll) {
  const auto limiter = name_limiter({.busiest_thread_share = 0.99, .busy_us = 1000000, .rwnd_limited_us = 900000, .sndbuf_limited_us = 0,
                                     .bytes_per_s = 119e6, .pacing_bytes_per_s = 125e6});
  EXPECT_EQ(limiter.word, "pacing");  // 119/125 = 95.2 %
}

TEST(Limiter, IgnoresPacingThatIsFarAway) {
  const auto limiter = name_limiter({.busiest_thread_share = 0.2, .busy_us = 1000000, .rwnd_limited_us = 600000, .sndbuf_limited_us = 100000,
                                     .bytes_per_s = 100e6, .pacing_bytes_per_s = 125e6});
  EXPECT_EQ(limiter.word, "receive window");  // 100/125 = 80 %; 600/1000 ms = 60 %
  EXPECT_NE(limiter.sentence.find("60 %"), std::string::npos);
}

TEST(Limiter, NamesTheCpuFrom95Percent) {
  EXPECT_EQ(name_limiter({.busiest_thread_share = 0.951, .busy_us = 7000, .rwnd_limited_us = 6999, .sndbuf_limited_us = 1, .bytes_per_s = 1, .pacing_bytes_per_s = {}}).word, "cpu");
  EXPECT_EQ(name_limiter({.busiest_thread_share = 0.949, .busy_us = 7000, .rwnd_limited_us = 0, .sndbuf_limited_us = 5000, .bytes_per_s = 1, .pacing_bytes_per_s = {}}).word, "send buffer");
}

TEST(Limiter, TakesTheNetworkWhereNeitherBufferHeldForHalf) {
  const auto limiter = name_limiter({.busiest_thread_share = 0.3, .busy_us = 800000, .rwnd_limited_us = 200000, .sndbuf_limited_us = 360000, .bytes_per_s = 1, .pacing_bytes_per_s = {}});
  EXPECT_EQ(limiter.word, "network");  // 25 % and 45 %
  EXPECT_NE(limiter.sentence.find("25 %"), std::string::npos);
  EXPECT_NE(limiter.sentence.find("45 %"), std::string::npos);
}

TEST(Limiter, NamesAWindowThatTheUserSetFromAThird) {
  const auto word = [](bool asked, std::uint64_t window_us, std::uint64_t buffer_us) {
    return name_limiter({.busiest_thread_share = 0.3, .busy_us = 800000, .rwnd_limited_us = window_us, .sndbuf_limited_us = buffer_us, .window_asked_for = asked,
                         .bytes_per_s = 1, .pacing_bytes_per_s = {}}).word;
  };
  EXPECT_EQ(word(true, 328000, 0), "receive window");  // 41 %
  EXPECT_EQ(word(false, 328000, 0), "network");
  EXPECT_EQ(word(true, 266000, 8000), "network");  // 33.25 %
  EXPECT_EQ(word(true, 272000, 280000), "send buffer");  // 34 % and 35 %
}

TEST(Limiter, SaysNothingOfAnIdleReceiverAndOfAnOldKernel) {
  EXPECT_EQ(name_limiter({.busiest_thread_share = 0.5, .busy_us = {}, .rwnd_limited_us = {}, .sndbuf_limited_us = {}, .bytes_per_s = 5, .pacing_bytes_per_s = {}}).word, "");
  EXPECT_EQ(name_limiter({.busiest_thread_share = 0.5, .busy_us = 77, .rwnd_limited_us = {}, .sndbuf_limited_us = {}, .bytes_per_s = 5, .pacing_bytes_per_s = {}}).word, "");
}

TEST(Limiter, DoesNotTakeASpinningThreadForABusyOne) {
  const auto spins = [](double queued, std::uint64_t window_us) {
    return name_limiter({.busiest_thread_share = 0.99, .busiest_thread_queue_share = queued, .spinning = true, .busy_us = 1000,
                         .rwnd_limited_us = window_us, .sndbuf_limited_us = 0, .bytes_per_s = 1, .pacing_bytes_per_s = {}}).word;
  };
  EXPECT_EQ(spins(0, 300), "");
  EXPECT_EQ(spins(0, 700), "receive window");
  EXPECT_EQ(spins(0.2, 300), "cpu");
}

TEST(Limiter, CountsWaitingForACpuAsCpu) {
  // 0.41 + 0.55 = 0.96
  const auto limiter = name_limiter({.busiest_thread_share = 0.41, .busiest_thread_queue_share = 0.55, .busy_us = 900, .rwnd_limited_us = 800,
                                     .sndbuf_limited_us = 0, .bytes_per_s = 1, .pacing_bytes_per_s = {}});
  EXPECT_EQ(limiter.word, "cpu");
  EXPECT_NE(limiter.sentence.find("41 %"), std::string::npos);
  EXPECT_NE(limiter.sentence.find("55 %"), std::string::npos);
}

}  // namespace
}  // namespace railgauge::tcp
