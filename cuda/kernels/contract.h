/* What the kernels of pattern.cu and their callers agree on. Read by nvcc and by the host's compiler; plain C++ without the
   house's headers. The stand-in of tests/sim/cuda carries out the same contract in code of its own.

   railgauge_fill(data, bytes, pattern_offset, seed)
     byte i of data becomes byte pattern_offset + i of the pattern of that seed (lib/memory/pattern.h)
   railgauge_verify(data, bytes, pattern_offset, seed, result)
     adds what differs to *result, which the caller has set to {0, kNoMismatch}
   railgauge_copy(to, from, bytes)
     by the multiprocessors and not by a copy engine; the two must not overlap

   Any alignment, any length; one-dimensional grid and blocks of any size, a multiple of 32 threads. */
#pragma once

namespace railgauge::cuda {

inline constexpr const char* kFillKernel = "railgauge_fill";
inline constexpr const char* kVerifyKernel = "railgauge_verify";
inline constexpr const char* kCopyKernel = "railgauge_copy";

/* Lies in device memory, aligned to 8 bytes. */
struct VerifyResult {
  unsigned long long mismatched_bytes;
  /* The first difference, so packed that one atomic minimum keeps offset and bytes together: offset in data << 16 |
     expected << 8 | found. Offsets so end at 2^48. */
  unsigned long long first;
};
inline constexpr unsigned long long kNoMismatch = ~0ULL;

}  // namespace railgauge::cuda
