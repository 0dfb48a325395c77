#include "bench/rdma/slot_check.h"

#include "base/clock.h"

namespace railgauge::bench {
namespace {

/// How long bytes that land after the last one are waited for before they count as wrong: a thousand times what the parts of
/// one write are apart on a PCIe bus, and paid for a mismatch only.
constexpr std::chrono::milliseconds kLate{1};

/// The smallest path MTU (IBTA: 256, 512, 1024, 2048 or 4096 bytes): every packet covers the begin of such a piece, but for a last one
/// that covers the last byte.
constexpr std::uint64_t kPacket = 256;

}  // namespace

memory::PatternCheck SlotCheck::compare(std::uint64_t offset, std::uint64_t pattern_offset) const noexcept {
  return memory::check_pattern({request_.block + offset, request_.bytes}, pattern_offset, request_.pattern);
}

void SlotCheck::check(std::uint32_t lane, std::uint32_t slot) noexcept {
  const Group& g = request_.layout;
  const std::uint64_t offset = g.lane_offset(Use::target, lane) + slot % g.used_slots * g.stride;
  const std::uint64_t pattern_offset = g.pattern_offset(lane, slot % g.source_slots());
  memory::PatternCheck found = compare(offset, pattern_offset);
  if (found.first_offset && request_.may_land_late)
    for (Deadline deadline = Deadline::after(kLate); found.first_offset && !deadline.passed();) found = compare(offset, pattern_offset);
  ++messages_;
  if (found.first_offset && !first_offset_) first_offset_ = offset + (*found.first_offset - pattern_offset);
  sum_.add(found);
  spoil(offset);
}

void SlotCheck::spoil(std::uint64_t offset) noexcept {
  if (request_.bytes == 0) return;
  for (std::uint64_t i = 0; i < request_.bytes - 1; i += kPacket) request_.block[offset + i] ^= std::byte{0xFF};
  request_.block[offset + request_.bytes - 1] ^= std::byte{0xFF};
}

results::Verification SlotCheck::found() const {
  results::Verification v;
  v.checked_bytes = sum_.checked_bytes;
  v.mismatched_bytes = sum_.mismatched_bytes;
  v.checked_messages = messages_;
  if (!first_offset_) return v;
  v.first_offset = first_offset_;
  v.expected = std::to_integer<int>(sum_.expected);
  v.found = std::to_integer<int>(sum_.found);
  return v;
}

}  // namespace railgauge::bench
