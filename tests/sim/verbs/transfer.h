/// Moving bytes between this process and a peer's registered memory.
#pragma once
#include <algorithm>

#include "copy.h"
#include "fabric.h"
#include "memory.h"
#include "objects.h"

namespace railgauge::simverbs {

/// With `payload = short` a message of up to 256 B is moved: flags, counters and small tests work, what is large costs nothing.
inline bool moves(const SimQp& qp, std::uint64_t total) noexcept {
  constexpr std::uint64_t kShortBytes = 256;
  return qp.context->copy_payload || total <= kShortBytes;
}

/// Of `length` bytes that begin at `offset` of a message: how many arrive.
inline std::uint64_t arriving(const Tamper& tamper, std::uint64_t offset, std::uint64_t length) noexcept {
  if (tamper.kind == Tamper::Kind::none) return length;
  if (tamper.kind == Tamper::Kind::drop) return 0;
  if (tamper.kind != Tamper::Kind::torn) return length;
  return offset >= tamper.byte ? 0 : std::min(length, tamper.byte - offset);
}

/// Owner address of an address the peer's key covers.
inline std::uint64_t owner_address(const MrShared& mr, std::uint64_t iova) noexcept {
  return mr.address + (iova - mr.iova);
}

/// Maps the pages of a region before its first use, as a NIC has them translated before the first message: page faults
/// are no part of what is measured.
void prepare_region(Target& t, const MrShared& mr, std::uint32_t key) noexcept;

/// Where [address, +length) of the owner can be touched directly, or null.
inline char* direct(Target& t, const MrShared& mr, std::uint64_t address, std::uint64_t length) noexcept {
  if (t.peer->own_process) return reinterpret_cast<char*>(address);
  if (address < mr.reach_lo || address + length > mr.reach_hi) return nullptr;
  if (address < t.window.lo || address + length > t.window.hi) return nullptr;
  return t.window.base + (address - t.window.lo);
}

/// As direct(), mapping the piece of memory first when needed. Null when it spans two pieces or cannot be mapped.
char* reach(Target& t, const MrShared& mr, std::uint64_t address, std::uint64_t length) noexcept;

/// The general case: pieces, and memory that only the system can reach. False when it cannot be done.
bool write_in_pieces(Target& t, const MrShared& mr, std::uint64_t address, const char* from, std::uint64_t length) noexcept;
bool read_in_pieces(Target& t, const MrShared& mr, std::uint64_t address, char* to, std::uint64_t length) noexcept;

inline bool write_peer(Target& t, const MrShared& mr, std::uint64_t address, const char* from, std::uint64_t length) noexcept {
  if (char* to = direct(t, mr, address, length); to != nullptr) {
    copy_in_order(to, from, length);
    return true;
  }
  return write_in_pieces(t, mr, address, from, length);
}

inline bool read_peer(Target& t, const MrShared& mr, std::uint64_t address, char* to, std::uint64_t length) noexcept {
  if (const char* from = direct(t, mr, address, length); from != nullptr) {
    copy_in_order(to, from, length);
    return true;
  }
  return read_in_pieces(t, mr, address, to, length);
}

}  // namespace railgauge::simverbs
