#include "tcp/tcp_info.h"

#include <gtest/gtest.h>

#include <cstring>

namespace railgauge::tcp {
namespace {

/// Offsets counted by hand from struct tcp_info of include/uapi/linux/tcp.h: eight single bytes, then u32 in order (rto at
/// 8), u64 pacing_rate at 104, delivery_rate at 160, busy_time 168, rwnd_limited 176, sndbuf_limited 184.
template <typename T>
void put(TcpInfoReading& reading, std::size_t offset, T value) {
  std::memcpy(reading.raw.data() + offset, &value, sizeof value);
}

TcpInfoReading reading_of(std::size_t length) {
  TcpInfoReading reading;
  reading.length = length;
  put<std::uint32_t>(reading, 8, 204000);                 // rto
  put<std::uint32_t>(reading, 68, 89);                    // rtt
  put<std::uint32_t>(reading, 76, 0x7fffffff);            // snd_ssthresh: infinite
  put<std::uint32_t>(reading, 80, 68);                    // snd_cwnd
  put<std::uint64_t>(reading, 104, 56250000000ULL);       // pacing_rate
  put<std::uint64_t>(reading, 112, ~0ULL);                // max_pacing_rate: none
  put<std::uint32_t>(reading, 148, 0xffffffffU);          // min_rtt: unknown
  put<std::uint64_t>(reading, 160, 962500000ULL);         // delivery_rate
  put<std::uint64_t>(reading, 168, 728000ULL);            // busy_time
  put<std::uint64_t>(reading, 176, 31000ULL);             // rwnd_limited
  put<std::uint64_t>(reading, 184, 7000ULL);              // sndbuf_limited
  return reading;
}

TEST(TcpInfo, ReadsFieldsAtTheKernelsOffsets) {
  const auto all = fields(reading_of(232));
  EXPECT_EQ(all.at("rto_us"), 204000U);
  EXPECT_EQ(all.at("rtt_us"), 89U);
  EXPECT_EQ(all.at("snd_cwnd"), 68U);
  EXPECT_EQ(all.at("pacing_rate_bytes_per_s"), 56250000000U);
  EXPECT_EQ(all.at("delivery_rate_bytes_per_s"), 962500000U);
  EXPECT_EQ(all.at("busy_time_us"), 728000U);
  EXPECT_EQ(all.at("rwnd_limited_us"), 31000U);
  EXPECT_EQ(all.at("sndbuf_limited_us"), 7000U);
}

TEST(TcpInfo, LeavesOutWhatTheKernelCallsUnlimitedOrUnknown) {
  const auto all = fields(reading_of(232));
  EXPECT_FALSE(all.contains("snd_ssthresh"));
  EXPECT_FALSE(all.contains("max_pacing_rate_bytes_per_s"));
  EXPECT_FALSE(all.contains("min_rtt_us"));
}

TEST(TcpInfo, HasOnlyTheFieldsOfAnOlderKernel) {
  // Linux 4.9 ends with delivery_rate (168 bytes), 2.6 with total_retrans (104).
  const auto middle = reading_of(168);
  EXPECT_EQ(field(middle, "delivery_rate_bytes_per_s"), 962500000U);
  EXPECT_EQ(field(middle, "busy_time_us"), std::nullopt);
  const auto old = fields(reading_of(104));
  EXPECT_TRUE(old.contains("total_retrans"));
  EXPECT_FALSE(old.contains("pacing_rate_bytes_per_s"));
  EXPECT_TRUE(fields(reading_of(0)).empty());
  EXPECT_EQ(field(reading_of(171), "busy_time_us"), std::nullopt);  // half a field is none
}

TEST(TcpInfo, KnowsNoOtherKeys) { EXPECT_EQ(field(reading_of(232), "rtt"), std::nullopt); }

TEST(TcpInfo, IsEmptyForSomethingThatIsNoSocket) { EXPECT_FALSE(read_tcp_info(-1)); }

}  // namespace
}  // namespace railgauge::tcp
