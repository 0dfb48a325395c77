#pragma once
#include <cstdint>

namespace railgauge::transport {

/// What a work request does. `write_imm` and `send` consume a receive on the other side.
enum class Opcode : std::uint8_t { write, write_imm, read, send, fetch_add, compare_swap };

/// One slot of a lane's send ring, complete before the measuring loop starts. Its slot number comes back in its completion.
struct WorkRequest {
  Opcode op = Opcode::write;
  bool signaled = true;                 ///< asks for a completion
  bool inline_data = false;             ///< the payload is copied at the post (`bytes` within the queue's inline limit)
  std::uint32_t bytes = 0;              ///< payload; 8 for atomics; 0 moves nothing
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
  std::uint32_t immediate = 0;          ///< host order; write_imm only
  std::uint64_t local_address = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t compare_add = 0;        ///< atomics: addend or value compared
  std::uint64_t swap = 0;
};

/// One slot of a lane's receive ring. `bytes` 0 takes no data (write_imm).
struct RecvRequest {
  std::uint64_t local_address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
};

/// Completion status that every queue uses alike; any other non-zero value is the queue's own and has a text there.
inline constexpr std::uint32_t kSuccess = 0;
inline constexpr std::uint32_t kFlushed = 5;  ///< IBV_WC_WR_FLUSH_ERR: the queue pair was in error before this request's turn

/// One completion. Of a failed one only lane, slot, status and vendor_error say anything.
struct Completion {
  std::uint32_t lane = 0;
  std::uint32_t slot = 0;
  std::uint32_t status = kSuccess;
  std::uint32_t vendor_error = 0;
  std::uint32_t bytes = 0;              ///< received; receive completions only
  std::uint32_t immediate = 0;          ///< host order; receives of write_imm only
};

/// What a post achieved: the first `accepted` requests are in the queue; `error` is the errno of the refusal, or 0.
struct PostResult {
  std::uint32_t accepted = 0;
  int error = 0;
};

}  // namespace railgauge::transport
