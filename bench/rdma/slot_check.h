#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/rdma/layout.h"
#include "loops/message_check.h"
#include "memory/pattern.h"
#include "results/record.h"

namespace railgauge::bench {

/// Compares each message with the pattern of its slot as it arrives, then spoils a byte of each packet that it can have had, so
/// that a message which brings nothing, or only part of itself, is found where the one before it was right. Host memory only.
/// One thread.
class SlotCheck final : public loops::MessageCheck {
 public:
  struct Request {
    std::byte* block = nullptr;         ///< begin of the group's buffer; outlives this
    Group layout;
    memory::Pattern pattern;
    std::uint64_t bytes = 0;            ///< compared of each message, from its begin
    bool may_land_late = false;         ///< the arrival was seen in memory: other bytes may land after the one that was looked at
  };
  explicit SlotCheck(const Request& request) : request_(request) {}

  void check(std::uint32_t lane, std::uint32_t slot) noexcept override;
  /// After the loop. How many messages there were, and so the words for it, only the loop knows.
  results::Verification found() const;

 private:
  void spoil(std::uint64_t offset) noexcept;
  memory::PatternCheck compare(std::uint64_t offset, std::uint64_t pattern_offset) const noexcept;

  const Request request_;
  std::uint64_t messages_ = 0;
  memory::PatternCheck sum_;
  std::optional<std::uint64_t> first_offset_;   ///< in the buffer
};

}  // namespace railgauge::bench
