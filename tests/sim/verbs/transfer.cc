#include "transfer.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace railgauge::simverbs {

namespace {

void explain_once(std::uint32_t pid) noexcept {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::fprintf(stderr,
               "railgauge-sim: memory of process %u is neither private pages nor reachable by process_vm_writev (%s); "
               "register page-aligned private memory\n",
               pid, std::strerror(errno));
}

/// Bytes from `address` that lie in one kind of memory: within reach, or before/after it.
std::uint64_t run_length(const MrShared& mr, std::uint64_t address, std::uint64_t length, bool& in_reach) noexcept {
  in_reach = address >= mr.reach_lo && address < mr.reach_hi;
  if (in_reach) return std::min(length, mr.reach_hi - address);
  return address < mr.reach_lo ? std::min(length, mr.reach_lo - address) : length;
}

using SystemCopy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

/// Carries out a transfer piece by piece; `copy` moves between a mapped piece and the local bytes.
template <class Copy>
bool in_pieces(Target& t, const MrShared& mr, std::uint64_t address, char* local, std::uint64_t length, SystemCopy system,
               Copy copy) noexcept {
  while (length > 0) {
    bool in_reach = false;
    std::uint64_t piece = run_length(mr, address, length, in_reach);
    if (in_reach) {
      if ((address < t.window.lo || address >= t.window.hi) && !map_window(*t.peer, mr, address, t.window)) return false;
      piece = std::min(piece, t.window.hi - address);
      copy(t.window.base + (address - t.window.lo), local, piece);
    } else {
      const iovec here{local, piece};
      const iovec there{reinterpret_cast<void*>(address), piece};
      const ssize_t moved = system(static_cast<pid_t>(t.peer->pid), &here, 1, &there, 1, 0);
      if (moved <= 0) return explain_once(t.peer->pid), false;
      piece = static_cast<std::uint64_t>(moved);
    }
    address += piece;
    local += piece;
    length -= piece;
  }
  return true;
}

}  // namespace

char* reach(Target& t, const MrShared& mr, std::uint64_t address, std::uint64_t length) noexcept {
  if (char* at = direct(t, mr, address, length); at != nullptr) return at;
  if (address < mr.reach_lo || address + length > mr.reach_hi) return nullptr;
  return map_window(*t.peer, mr, address, t.window) ? direct(t, mr, address, length) : nullptr;
}

void prepare_region(Target& t, const MrShared& mr, std::uint32_t key) noexcept {
  t.prepared_key = key;
  if (t.peer->own_process) return;
  {
    const std::lock_guard guard(t.peer->mutex);
    if (!t.peer->prepared.insert(key).second) return;
  }
  for (std::uint64_t at = mr.reach_lo; at < mr.reach_hi;) {
    Window window;
    if (!map_window(*t.peer, mr, at, window)) return;
    const std::uint64_t end = std::min(mr.reach_hi, window.hi);
#ifdef MADV_POPULATE_WRITE
    madvise(window.base + (at - window.lo), end - at, MADV_POPULATE_WRITE);  // since Linux 5.14; only a help
#endif
    at = end;
  }
}

bool write_in_pieces(Target& t, const MrShared& mr, std::uint64_t address, const char* from, std::uint64_t length) noexcept {
  return in_pieces(t, mr, address, const_cast<char*>(from), length, process_vm_writev,
                   [](char* there, char* here, std::uint64_t n) { copy_in_order(there, here, n); });
}

bool read_in_pieces(Target& t, const MrShared& mr, std::uint64_t address, char* to, std::uint64_t length) noexcept {
  return in_pieces(t, mr, address, to, length, process_vm_readv,
                   [](char* there, char* here, std::uint64_t n) { copy_in_order(here, there, n); });
}

}  // namespace railgauge::simverbs
