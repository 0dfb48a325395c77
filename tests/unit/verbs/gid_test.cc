#include <gtest/gtest.h>

#include "base/error.h"
#include "verbs/device.h"

namespace railgauge::verbs {
namespace {

TEST(Gid, PrintsAsSysfsDoesAndReadsItBack) {
  const std::string text = "fe80:0000:0000:0000:0202:c9ff:fe12:3456";
  ibv_gid gid = parse_gid(text);
  EXPECT_EQ(gid.raw[0], 0xfe);
  EXPECT_EQ(gid.raw[11], 0xff);
  EXPECT_EQ(gid.raw[15], 0x56);
  EXPECT_EQ(format_gid(gid), text);
}

TEST(Gid, RefusesWhatIsNone) {
  for (const char* text : {"", "fe80", "fe80:::1", "192.168.1.1", "fe80:0000:0000:0000:0202:c9ff:fe12:3456:7"}) EXPECT_THROW(parse_gid(text), Error) << text;
}

TEST(Mtu, NamesTheFiveOfInfiniBand) {
  for (int bytes : {256, 512, 1024, 2048, 4096}) EXPECT_EQ(*mtu_bytes_of(mtu_of_bytes(bytes)), bytes);
  for (int bytes : {0, 128, 1500, 4095, 8192}) EXPECT_THROW(mtu_of_bytes(bytes), Error) << bytes;
}

TEST(Mtu, ACodeThatIsNoneIsMissingWithTheCode) {
  for (int code : {-1, 0, 6}) {
    auto mtu = mtu_bytes_of(static_cast<ibv_mtu>(code));
    EXPECT_FALSE(mtu);
    EXPECT_EQ(mtu.reason, "libibverbs gives MTU code " + std::to_string(code) + ", which is none of 256, 512, 1024, 2048 or 4096 bytes");
  }
}

TEST(Limit, WhatNoWorkingDeviceCanMeanIsNotTold) {
  EXPECT_EQ(told_limit(0), std::nullopt);
  EXPECT_EQ(told_limit(-1), std::nullopt);
  EXPECT_EQ(told_limit(7), 7U);
}

}  // namespace
}  // namespace railgauge::verbs
