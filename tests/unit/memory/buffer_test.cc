#include "memory/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "memory/buffer_source.h"

namespace railgauge::memory {
namespace {

TEST(Buffer, IsPageAlignedZeroedAndAsLargeAsAsked) {
  Buffer buffer({.bytes = 100'003, .huge_pages = false, .numa_node = {}});
  EXPECT_EQ(buffer.bytes(), 100'003U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0U);
  EXPECT_TRUE(std::all_of(buffer.span().begin(), buffer.span().end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Buffer, MovesItsMemory) {
  Buffer a({.bytes = 5000, .huge_pages = false, .numa_node = {}});
  a.data()[4999] = std::byte{7};
  Buffer b = std::move(a);
  EXPECT_EQ(b.data()[4999], std::byte{7});
  b = Buffer({.bytes = 3, .huge_pages = false, .numa_node = {}});
  EXPECT_EQ(b.bytes(), 3U);
}

TEST(Buffer, RefusesNothing) { EXPECT_THROW(Buffer({.bytes = 0, .huge_pages = false, .numa_node = {}}), Error); }

TEST(Buffer, SaysHowManyBytesCouldNotBeHad) {
  try {
    Buffer({.bytes = 1ULL << 56, .huge_pages = false, .numa_node = {}});  // more than any address space here
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_THAT(error.what(), testing::HasSubstr("mmap of 65536 TiB"));
  }
}

TEST(Buffer, SaysHowToReserveHugePages) {
  try {
    Buffer({.bytes = 1ULL << 46, .huge_pages = true, .numa_node = {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nr_hugepages"));
  }
}

TEST(Buffer, SaysThatANodeIsNotThere) {
  try {
    Buffer({.bytes = 4096, .huge_pages = false, .numa_node = 917});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_THAT(error.what(), testing::HasSubstr("NUMA node 917"));
  }
}

TEST(HostSource, BlocksFillCheckAndClear) {
  HostSource source({});
  auto block = source.allocate(10'000);
  block->fill(64, 1'000, 64, Pattern{4});
  EXPECT_EQ(block->check(64, 1'000, 64, Pattern{4}).mismatched_bytes, 0U);
  block->clear(100, 8);
  EXPECT_GT(block->check(64, 1'000, 64, Pattern{4}).mismatched_bytes, 0U);
  EXPECT_EQ(block->address(), reinterpret_cast<std::uintptr_t>(block->host_address()));
  const RegistrationWays ways = block->registrations();
  ASSERT_EQ(ways.offered.size(), 1U);
  EXPECT_STREQ(name_of(ways.offered[0]), "host");
  EXPECT_EQ(ways.offered[0].address, block->address());
  EXPECT_EQ(ways.offered[0].bytes, 12'288U);  // three whole pages of 4 KiB: a NIC knows pages only
}

}  // namespace
}  // namespace railgauge::memory
