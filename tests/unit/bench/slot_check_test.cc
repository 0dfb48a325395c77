#include "bench/rdma/slot_check.h"

#include <gtest/gtest.h>

#include <vector>

namespace railgauge::bench {
namespace {

class SlotChecks : public testing::Test {
 protected:
  SlotChecks() {
    layout.message_bytes = 100;
    layout.stride = 128;
    layout.lanes = 3;
    layout.slots_per_lane = layout.used_slots = 4;
    layout.slots = 12;
    layout.contents = 3;
    block.resize(layout.buffer_bytes(Use::target));
  }
  SlotCheck make(bool late = false) {
    return SlotCheck({.block = block.data(), .layout = layout, .pattern = pattern, .bytes = 100, .may_land_late = late});
  }
  std::uint64_t offset(std::uint32_t lane, std::uint32_t slot) const { return layout.lane_offset(Use::target, lane) + slot * layout.stride; }
  void arrive(std::uint32_t lane, std::uint32_t slot) {
    memory::fill_pattern({block.data() + offset(lane, slot), 100}, layout.pattern_offset(lane, slot), pattern);
  }
  Group layout;
  memory::Pattern pattern{.seed = 77};
  std::vector<std::byte> block;
};

TEST_F(SlotChecks, CountsWhatIsRight) {
  SlotCheck check = make();
  for (std::uint32_t round = 0; round < 5; ++round) {
    arrive(2, 3);
    check.check(2, 3 + 4 * round);  // positions of a longer ring share the slot
  }
  results::Verification found = check.found();
  EXPECT_EQ(found.checked_bytes, 500U);
  EXPECT_EQ(found.checked_messages, 5U);
  EXPECT_EQ(found.mismatched_bytes, 0U);
  EXPECT_FALSE(found.first_offset);
}

TEST_F(SlotChecks, NamesTheFirstWrongByte) {
  SlotCheck check = make();
  arrive(1, 2);
  block[offset(1, 2) + 61] ^= std::byte{0x40};
  const std::byte wrong = block[offset(1, 2) + 61];
  check.check(1, 2);
  results::Verification found = check.found();
  EXPECT_EQ(found.mismatched_bytes, 1U);
  EXPECT_EQ(found.first_offset, offset(1, 2) + 61);
  EXPECT_EQ(found.found, std::to_integer<int>(wrong));
  EXPECT_EQ(found.expected, std::to_integer<int>(wrong ^ std::byte{0x40}));
}

TEST_F(SlotChecks, FindsAMessageThatBroughtNothing) {
  SlotCheck check = make();
  arrive(0, 1);
  check.check(0, 1);
  check.check(0, 1);  // said to have arrived again, but nothing was written
  EXPECT_EQ(check.found().mismatched_bytes, 2U);  // its first byte and its last
  EXPECT_EQ(check.found().first_offset, offset(0, 1));
}

TEST_F(SlotChecks, FindsAMessageOfWhichOnePacketIsMissing) {
  layout.message_bytes = 1000;
  layout.stride = 1024;
  block.resize(layout.buffer_bytes(Use::target));
  const memory::Pattern data{.seed = 78};
  // 256 bytes is the smallest path MTU: packets of 256, 256, 256 and 232 bytes.
  for (std::uint64_t missing : {0U, 256U, 512U, 768U}) {
    SlotCheck check({.block = block.data(), .layout = layout, .pattern = data, .bytes = 1000, .may_land_late = false});
    const std::span<std::byte> slot(block.data() + offset(1, 2), 1000);
    memory::fill_pattern(slot, layout.pattern_offset(1, 2), data);
    check.check(1, 2);
    std::vector<std::byte> left(slot.begin() + static_cast<std::ptrdiff_t>(missing), slot.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(missing + 256, 1000)));
    memory::fill_pattern(slot, layout.pattern_offset(1, 2), data);  // the next message, but for the missing packet
    std::copy(left.begin(), left.end(), slot.begin() + static_cast<std::ptrdiff_t>(missing));
    check.check(1, 2);
    EXPECT_GE(check.found().mismatched_bytes, 1U) << missing;
    EXPECT_EQ(check.found().first_offset, offset(1, 2) + missing);
  }
}

TEST_F(SlotChecks, AMessageOfOneByteIsSpoiltOnce) {
  SlotCheck check({.block = block.data(), .layout = layout, .pattern = pattern, .bytes = 1, .may_land_late = false});
  arrive(0, 1);
  check.check(0, 1);
  check.check(0, 1);
  EXPECT_EQ(check.found().mismatched_bytes, 1U);
}

TEST_F(SlotChecks, AByteThatStaysWrongIsWrongHoweverLongItIsWaitedFor) {
  SlotCheck check = make(true);
  arrive(0, 0);
  block[offset(0, 0) + 9] ^= std::byte{1};
  check.check(0, 0);
  EXPECT_EQ(check.found().mismatched_bytes, 1U);
  EXPECT_EQ(check.found().checked_bytes, 100U);  // once, not once a look
}

}  // namespace
}  // namespace railgauge::bench
