// What a group has to say about its data: the part of class RdmaGroup that compares.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "bench/rdma/group.h"

namespace railgauge::bench {

using plan::Operation;

namespace {

std::uint64_t sum_of(std::span<const std::uint64_t> counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

/// A one-byte message seen in memory.
results::Verification nothing_to_compare(std::uint64_t messages) {
  results::Verification v;
  v.checked_messages = 0;
  v.messages = messages;
  v.scope = fmt::format("{}the only byte of each message is the mark that is waited for", results::kNothingToCompare);
  return v;
}

/// The passive side of writes where the other one did not say how many there were.
results::Verification nothing_known() {
  results::Verification v;
  v.checked_messages = 0;
  v.scope = "none, because the other side did not say how many messages it completed";
  return v;
}

/// In words that say what of the older messages a slot's content excludes.
std::string scope_of(const Group& layout) {
  if (layout.versions > 2) return fmt::format("the last message in each slot, told from the {} before it there", layout.versions - 1);
  if (layout.versions > 1) return "the last message in each slot, told from the one before it there";
  return "what the messages left in each slot, where all are alike";
}

/// An atomic's word of which some bytes differ.
struct Word {
  std::uint64_t offset;
  std::uint64_t expected;
  std::uint64_t found;
};

/// Byte by byte as they lie in memory, like any other data.
void note_word(const Word& word, results::Verification& v) {
  const auto expected = std::as_bytes(std::span(&word.expected, 1));
  const auto found = std::as_bytes(std::span(&word.found, 1));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) continue;
    ++v.mismatched_bytes;
    if (v.first_offset) continue;
    v.first_offset = word.offset + i;
    v.expected = std::to_integer<int>(expected[i]);
    v.found = std::to_integer<int>(found[i]);
  }
}

}  // namespace

std::optional<std::string> RdmaGroup::what_is_lost(std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received) {
  for (std::uint32_t lane = 0; lane < layout_.lanes; ++lane) {
    if (!received.empty() && received[lane] != sent[lane])
      return fmt::format("{} messages arrived on QP {} of thread {}, but {} completed with success on the other side", received[lane], lane, index_,
                         sent[lane]);
    if (!layout_.has_tally()) continue;
    std::uint64_t tally = 0;
    exposed_->read(layout_.tally_offset(lane), &tally, sizeof tally);
    if (tally != sent[lane])
      return fmt::format("the last write on QP {} of thread {} completed with success on the other side, but did not arrive: it says how many came before "
                         "it, expected {}, found {}",
                         lane, index_, sent[lane], tally);
  }
  return std::nullopt;
}

void RdmaGroup::check_each_message() {
  const bool reads = layout_.operation == Operation::read;
  memory::Block* block = reads ? local_.get() : exposed_.get();
  if (!layout_.can_check_each() || compared_bytes() == 0 || !(reads ? initiating_ : responding_) || block->host_address() == nullptr) return;
  const bool seen_in_memory = layout_.task == GroupTask::ping_pong_memory;
  check_ = std::make_unique<SlotCheck>(SlotCheck::Request{.block = block->host_address(),
                                                          .layout = layout_,
                                                          .pattern = pattern_of(reads),
                                                          .bytes = compared_bytes(),
                                                          .may_land_late = seen_in_memory});
}

std::uint64_t RdmaGroup::compared_bytes() const noexcept {
  // The last byte of a ping-pong message seen in memory is its stamp.
  return layout_.message_bytes - (layout_.task == GroupTask::ping_pong_memory ? 1 : 0);
}

/// Empty where it was not asked for, or where nobody here sees a message arrive.
std::string RdmaGroup::why_not_each() const {
  const bool reads = layout_.operation == Operation::read;
  if (!layout_.check_each || layout_.is_atomic() || !(reads ? initiating_ : responding_)) return {};
  if (layout_.regions() < layout_.lanes) return "its QPs share memory; use a larger --working-set or fewer --qps";
  if (layout_.task == GroupTask::open_loop) return "an open loop does not look at what it moves";
  if (layout_.operation == Operation::write) return {};
  return fmt::format("{} slots hold no more than the messages on their way; use a larger --working-set or a smaller --depth", layout_.used_slots);
}

std::optional<results::Verification> RdmaGroup::damaged_mark(std::uint64_t rounds) const {
  // A slot that was never checked has no spoilt byte.
  if (!check_ || layout_.task != GroupTask::ping_pong_memory || rounds < layout_.used_slots) return std::nullopt;
  const std::uint32_t slot = loops::slot_of(rounds + 1);
  const std::uint64_t offset = layout_.lane_offset(Use::target, 0) + slot * layout_.stride;
  const std::span<const std::byte> message(exposed_->host_address() + offset, layout_.message_bytes);
  const std::byte wanted = loops::stamp_of(rounds + 1);
  const std::byte found = message.back();
  if (found == wanted || memory::check_pattern(message.first(compared_bytes()), layout_.pattern_offset(0, slot), pattern_of(false)).first_offset)
    return std::nullopt;
  results::Verification v;
  v.checked_bytes = layout_.message_bytes;
  v.mismatched_bytes = 1;
  v.first_offset = offset + layout_.message_bytes - 1;
  v.expected = std::to_integer<int>(wanted);
  v.found = std::to_integer<int>(found);
  return v;
}

std::optional<results::Verification> RdmaGroup::verify(std::span<const std::uint64_t> counts, std::vector<std::string>& warnings) {
  if (check_) {
    results::Verification found = check_->found();
    if (!counts.empty()) found.messages = sum_of(counts);
    if (auto damaged = damaged_mark(found.messages.value_or(*found.checked_messages))) {
      ++*found.checked_messages;
      if (found.messages) ++*found.messages;
      found.checked_bytes += damaged->checked_bytes;
      found.mismatched_bytes += damaged->mismatched_bytes;
      if (!found.first_offset) std::tie(found.first_offset, found.expected, found.found) = std::tie(damaged->first_offset, damaged->expected, damaged->found);
    }
    found.scope = found.checked_messages == found.messages ? "every message" : "messages as they were seen to arrive";
    return found;
  }
  if (compared_bytes() == 0) return nothing_to_compare(sum_of(counts));
  if (std::string why = why_not_each(); !why.empty() && index_ == 0)
    warnings.push_back(fmt::format("not every message was verified, only the last one in each slot: {}", why));
  const bool reads = layout_.operation == Operation::read;
  if (!(reads || layout_.is_atomic() ? initiating_ : responding_)) return std::nullopt;
  if (counts.empty()) return nothing_known();
  if (layout_.is_atomic()) return verify_atomics(counts);
  return verify_pattern(reads ? *local_ : *exposed_, pattern_of(reads), counts);
}

results::Verification RdmaGroup::verify_pattern(memory::Block& block, memory::Pattern pattern, std::span<const std::uint64_t> counts) {
  memory::PatternCheck sum;
  std::optional<std::uint64_t> first;
  std::uint64_t messages = 0;
  for (std::uint32_t region = 0; region < std::min(layout_.regions(), layout_.lanes); ++region) {
    std::uint64_t most = 0;  // of the lanes that share the region: then all their messages are alike
    for (std::uint32_t lane = region; lane < layout_.lanes; lane += layout_.regions()) most = std::max(most, counts[lane]);
    for (std::uint64_t k = most - std::min<std::uint64_t>(most, layout_.used_slots); k < most; ++k, ++messages) {
      const std::uint64_t at = layout_.lane_offset(Use::target, region) + k % layout_.used_slots * layout_.stride;
      const std::uint64_t pattern_at = layout_.pattern_offset(region, static_cast<std::uint32_t>(k % layout_.source_slots()));
      memory::PatternCheck check = block.check(at, compared_bytes(), pattern_at, pattern);
      if (check.first_offset && !first) first = at + (*check.first_offset - pattern_at);
      sum.add(check);
    }
  }
  results::Verification v;
  v.checked_bytes = sum.checked_bytes;
  v.mismatched_bytes = sum.mismatched_bytes;
  v.first_offset = first;
  v.checked_messages = messages;
  v.messages = sum_of(counts);
  v.scope = scope_of(layout_);
  if (first) {
    v.expected = std::to_integer<int>(sum.expected);
    v.found = std::to_integer<int>(sum.found);
  }
  return v;
}

results::Verification RdmaGroup::verify_atomics(std::span<const std::uint64_t> counts) {
  results::Verification v;
  // Lanes that share a word have no order among them that could be checked.
  const bool shared = layout_.contents < layout_.lanes;
  v.scope = shared ? fmt::format("{}QPs share the word that they work on", results::kNothingToCompare) : "the last value in each slot";
  v.checked_messages = 0;
  v.messages = sum_of(counts);
  for (std::uint32_t lane = 0; lane < layout_.lanes && !shared; ++lane) {
    std::uint64_t n = counts[lane];
    for (std::uint64_t k = n - std::min<std::uint64_t>(n, layout_.used_slots); k < n; ++k) {
      std::uint64_t offset = layout_.lane_offset(Use::target, lane) + k % layout_.used_slots * layout_.stride;
      std::uint64_t found = 0;
      local_->read(offset, &found, sizeof found);
      // The k-th request finds what the k before it made: k of them, or the value that is k's turn.
      std::uint64_t expected = layout_.operation == Operation::fetch_add ? k : k % layout_.source_slots();
      v.checked_bytes += sizeof found;
      ++*v.checked_messages;
      if (found != expected) note_word({.offset = offset, .expected = expected, .found = found}, v);
    }
  }
  return v;
}

}  // namespace railgauge::bench
