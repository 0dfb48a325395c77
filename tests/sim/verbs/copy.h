/// Copies as a NIC stores a message: a reader that sees the last byte sees every byte before it.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

// ThreadSanitizer's, where a program has it. It sees memcpy, and would take what a device stores while the program looks at
// its memory for a race: a real device's stores it does not see at all.
extern "C" [[gnu::weak]] void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" [[gnu::weak]] void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" [[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" [[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);

namespace railgauge::simverbs {

inline void copy_unseen(void* to, const void* from, std::size_t size) noexcept {
  const bool watched = AnnotateIgnoreWritesBegin != nullptr;
  if (watched) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  std::memcpy(to, from, size);
  if (watched) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
}

/// Stores `size` bytes; the last one (the whole word for aligned 1, 2, 4 and 8 bytes) becomes visible last.
inline void copy_in_order(void* to, const void* from, std::size_t size) noexcept {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  if (size == 8 && reinterpret_cast<std::uintptr_t>(target) % 8 == 0) {
    std::uint64_t word;
    std::memcpy(&word, source, 8);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(target), word, __ATOMIC_RELEASE);
    return;
  }
  if (size == 0) return;
  const unsigned char last = source[size - 1];
  if (size == 64) {
    std::memcpy(target, source, 63);  // a known size: no call
  } else {
    copy_unseen(target, source, size - 1);
  }
#if defined(__x86_64__)
  if (size >= 4096) __builtin_ia32_sfence();  // libc may have used stores that bypass the cache
#endif
  __atomic_store_n(target + size - 1, last, __ATOMIC_RELEASE);
}

}  // namespace railgauge::simverbs
