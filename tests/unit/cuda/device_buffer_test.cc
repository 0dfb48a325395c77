#include "cuda/device_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "unit/cuda/stand_in.h"

namespace railgauge::cuda {
namespace {

using memory::Pattern;
using memory::PatternCheck;
using memory::Way;
using test::StandIn;
using testing::AllOf;
using testing::HasSubstr;

/// A described GPU and a source on it; kernels: as in a build with nvcc, or as in one without.
struct Machine {
  explicit Machine(bool kernels, const std::string& description = "", const std::string& faults = "")
      : stand_in(description, faults), source(stand_in.driver, stand_in.device(), kernels ? test::stand_in_image() : std::span<const std::byte>()) {}
  StandIn stand_in;
  DeviceSource source;
};

class DeviceBlock : public testing::TestWithParam<bool> {};

std::vector<std::byte> bytes_of(memory::Block& block, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  block.read(offset, out.data(), bytes);
  return out;
}

TEST_P(DeviceBlock, BeginsZeroedAtA64KibBoundaryAndIsWholePagesLong) {
  Machine machine(GetParam());
  auto first = machine.source.allocate(100'000);
  auto second = machine.source.allocate(1);
  EXPECT_EQ(first->address() % 65'536, 0U);
  EXPECT_EQ(second->address() % 65'536, 0U);
  EXPECT_EQ(first->host_address(), nullptr);
  EXPECT_EQ(first->registrations().offered.front().bytes, 131'072U);  // two pages of 64 KiB
  EXPECT_EQ(second->registrations().offered.front().bytes, 65'536U);
  EXPECT_EQ(bytes_of(*first, 99'000, 1'000), std::vector<std::byte>(1'000, std::byte{0}));
  EXPECT_GE(second->address(), first->address() + 131'072);
}

/// Against lib/memory/pattern, whose bytes are what a peer's host memory has. Longer than one piece of staging.
TEST_P(DeviceBlock, FillsWithThePatternOfHostMemory) {
  Machine machine(GetParam());
  auto block = machine.source.allocate(3U << 20);
  for (auto [offset, bytes, at] : {std::array<std::uint64_t, 3>{0, 64, 0}, {4'099, 2'500'003, 77}, {65'533, 1, 5}, {12'345, 40, 1'000'000'007}}) {
    block->clear(0, 3U << 20);
    block->fill(offset, bytes, at, Pattern{.seed = 9});
    std::vector<std::byte> wanted(bytes);
    memory::fill_pattern(wanted, at, Pattern{.seed = 9});
    EXPECT_EQ(bytes_of(*block, offset, bytes), wanted) << offset;
    EXPECT_EQ(bytes_of(*block, offset + bytes, 3), std::vector<std::byte>(3, std::byte{0})) << "beyond";
    const std::uint64_t before = offset > 0 ? offset - 1 : 3U << 19;  // of the first: a byte far behind it
    EXPECT_EQ(bytes_of(*block, before, 1)[0], std::byte{0}) << "before";
  }
}

TEST_P(DeviceBlock, NamesTheFirstWrongByte) {
  Machine machine(GetParam());
  auto block = machine.source.allocate(3U << 20);
  constexpr std::uint64_t kBegin = 130;
  constexpr std::uint64_t kBytes = 2'200'000;
  constexpr std::uint64_t kPatternAt = 5'003;
  const Pattern pattern{.seed = 31};
  block->fill(kBegin, kBytes, kPatternAt, pattern);
  const PatternCheck good = block->check(kBegin, kBytes, kPatternAt, pattern);
  EXPECT_EQ(good.checked_bytes, kBytes);
  EXPECT_EQ(good.mismatched_bytes, 0U);
  EXPECT_FALSE(good.first_offset);
  for (std::uint64_t wrong : {2'100'007U, 1'048'579U, 9U}) {  // later ones first: the first must win
    const std::byte spoilt = ~pattern.at(kPatternAt + wrong);
    block->write(kBegin + wrong, &spoilt, 1);
  }
  const PatternCheck bad = block->check(kBegin, kBytes, kPatternAt, pattern);
  EXPECT_EQ(bad.mismatched_bytes, 3U);
  EXPECT_EQ(bad.first_offset, kPatternAt + 9);
  EXPECT_EQ(bad.expected, pattern.at(kPatternAt + 9));
  EXPECT_EQ(bad.found, ~pattern.at(kPatternAt + 9));
}

TEST_P(DeviceBlock, FindsDataMovedByAWord) {
  Machine machine(GetParam());
  auto block = machine.source.allocate(1U << 20);
  block->fill(0, 1U << 20, 0, Pattern{.seed = 2});
  EXPECT_GT(block->check(8, 4'096, 0, Pattern{.seed = 2}).mismatched_bytes, 4'000U);
}

TEST_P(DeviceBlock, ReadsBackWhatWasWritten) {
  Machine machine(GetParam());
  auto block = machine.source.allocate(2'500'000);
  std::vector<std::uint32_t> there(600'000);
  std::iota(there.begin(), there.end(), 41U);
  block->write(100, there.data(), there.size() * 4);
  std::vector<std::uint32_t> back(there.size());
  block->read(100, back.data(), back.size() * 4);
  EXPECT_EQ(back, there);
  block->clear(104, 4);
  block->read(100, back.data(), 12);
  EXPECT_THAT(std::vector<std::uint32_t>(back.begin(), back.begin() + 3), testing::ElementsAre(41U, 0U, 43U));
}

TEST_P(DeviceBlock, ACorruptingFillIsFound) {
  Machine machine(GetParam(), "", GetParam() ? "flip launch 1 byte 777" : "flip copy 1 byte 777");
  auto block = machine.source.allocate(100'000);
  block->fill(64, 5'000, 0, Pattern{.seed = 5});
  const PatternCheck found = block->check(64, 5'000, 0, Pattern{.seed = 5});
  EXPECT_EQ(found.mismatched_bytes, 1U);
  EXPECT_EQ(found.first_offset, 777U);
}

TEST_P(DeviceBlock, FlushesANicsWritesBeforeItLooks) {
  Machine machine(GetParam());
  auto block = machine.source.allocate(4'096);
  block->fill(0, 4'096, 0, Pattern{});
  EXPECT_EQ(machine.stand_in.calls("cuFlushGPUDirectRDMAWrites"), 0U);
  block->check(0, 4'096, 0, Pattern{});
  EXPECT_EQ(machine.stand_in.calls("cuFlushGPUDirectRDMAWrites"), 1U);
  EXPECT_THAT(block->warnings(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(With, DeviceBlock, testing::Bool(), [](const auto& p) { return p.param ? "Kernels" : "Copies"; });

TEST(DeviceSource, NeedsNoFlushWhereWritesAreOrdered) {
  Machine machine(true, "[gpu]; attribute 118 = 100");
  auto block = machine.source.allocate(4'096);
  block->check(0, 4'096, 0, Pattern{});
  EXPECT_EQ(machine.stand_in.calls("cuFlushGPUDirectRDMAWrites"), 0U);
  EXPECT_THAT(block->warnings(), testing::IsEmpty());
}

TEST(DeviceSource, WarnsWhereWritesCanNeitherBeOrderedNorFlushed) {
  Machine machine(true, "[gpu]; attribute 118 = 0; attribute 117 = 2");
  EXPECT_THAT(machine.source.allocate(4'096)->warnings(), testing::ElementsAre(HasSubstr("a mismatch may be data still on its way")));
}

TEST(DeviceSource, WarnsWhereSyncMemopsCannotBeSet) {
  Machine machine(true, "", "fail cuPointerSetAttribute code 801");
  EXPECT_THAT(machine.source.allocate(4'096)->warnings(), testing::ElementsAre(AllOf(HasSubstr("SYNC_MEMOPS"), HasSubstr("CUDA_ERROR_NOT_SUPPORTED"))));
}

TEST(DeviceSource, SaysWhereKernelsDoNotRun) {
  EXPECT_THAT(Machine(true).source.allocate(1)->placement(), HasSubstr("64 KiB pages; filled and checked by kernels"));
  Machine refused(true, "", "fail cuModuleLoadData code 222");
  EXPECT_EQ(refused.source.kernels(), nullptr);
  EXPECT_THAT(refused.source.allocate(1)->placement(), AllOf(HasSubstr("through copies, because cuModuleLoadData"), HasSubstr("update the driver")));
}

TEST(DeviceSource, NamesTheDevice) {
  Machine machine(false, "[gpu]; name = X; pci = 0000:D5:00.0");
  EXPECT_EQ(machine.source.describe(), "CUDA device 0 (railgauge stand-in GPU X, 0000:d5:00.0)");
}

TEST(DeviceSource, RefusesMoreThanThereIsWithTheCodeOfHostMemory) {
  Machine machine(false, "[gpu]; memory = 8M");
  for (std::uint64_t bytes : {std::uint64_t{9} << 20, std::uint64_t{8} << 20}) {
    try {
      machine.source.allocate(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cuda);
      EXPECT_EQ(error.code(), ENOMEM);
    }
  }
  EXPECT_NO_THROW(machine.source.allocate(4U << 20));
}

TEST(DeviceSource, AFailedLaunchIsTold) {
  Machine machine(true, "", "fail cuLaunchKernel code 719 at 2");
  auto block = machine.source.allocate(4'096);
  block->fill(0, 4'096, 0, Pattern{});
  try {
    block->check(0, 4'096, 0, Pattern{});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), abi::kLaunchFailed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cuLaunchKernel of railgauge_verify"), HasSubstr("Xid")));
  }
}

std::vector<std::string> offered(const memory::Block& block) {
  std::vector<std::string> names;
  for (const auto& way : block.registrations().offered) names.emplace_back(name_of(way));
  return names;
}

/// One machine at a time: the stand-in is described anew only while nobody uses it.
TEST(Registrations, BestFirst) {
  EXPECT_THAT(offered(*Machine(false, "[gpu]; dmabuf_pcie = yes").source.allocate(1)), testing::ElementsAre("dma-buf, PCIe mapping", "dma-buf", "peermem"));
  Machine plain(false);
  auto block = plain.source.allocate(100'000);
  EXPECT_THAT(offered(*block), testing::ElementsAre("dma-buf", "peermem"));
  const memory::RegistrationWays ways = block->registrations();
  ASSERT_EQ(ways.refused.size(), 1U);
  EXPECT_EQ(ways.refused[0].name, "dma-buf, PCIe mapping");
  EXPECT_EQ(ways.refused[0].call, "cuMemGetHandleForAddressRange");
  EXPECT_EQ(ways.refused[0].code, abi::kNotSupported);
  EXPECT_EQ(ways.offered[0].way, Way::dmabuf);
  EXPECT_GE(ways.offered[0].dmabuf_fd.value_or(-1), 0);
  EXPECT_EQ(ways.offered[0].dmabuf_offset, 0U);
  EXPECT_EQ(ways.offered[0].address, block->address());
  EXPECT_FALSE(ways.offered[1].dmabuf_fd);
}

TEST(Registrations, WhatIsNotOfferedSaysWhy) {
  const memory::RegistrationWays none = Machine(false, "[gpu]; attribute 124 = 0; attribute 116 = 0").source.allocate(1)->registrations();
  EXPECT_TRUE(none.offered.empty());
  ASSERT_EQ(none.refused.size(), 3U);
  EXPECT_THAT(none.refused[1].meaning, HasSubstr("open GPU kernel modules"));
  EXPECT_EQ(none.refused[2].way, Way::peermem);
  const memory::RegistrationWays by_address = Machine(false, "driver = 11.4; [gpu]").source.allocate(1)->registrations();
  ASSERT_EQ(by_address.offered.size(), 1U);
  EXPECT_STREQ(name_of(by_address.offered[0]), "peermem");
  EXPECT_EQ(by_address.refused[0].meaning, "cuMemGetHandleForAddressRange: needs driver ≥ 11.7, this is 11.4");
  Machine middle(false, "driver = 12.4; [gpu]; dmabuf_pcie = yes");
  EXPECT_EQ(middle.source.allocate(1)->registrations().refused.at(0).meaning, "needs driver ≥ 12.8, this is 12.4");
}

}  // namespace
}  // namespace railgauge::cuda
