/* Fill, verify and copy on the GPU; contract.h says what each does. Memory-bound by construction: 16 bytes a load, four loads
   of a thread in flight, neighbouring threads at neighbouring addresses; the pattern costs one product for two
   words. Bit-identical to lib/memory/pattern.cc. Not measured on a GPU yet: neither that verify reaches 80 % of the copy rate,
   nor the grid that kernels.cc chooses. */
#include "contract.h"

namespace {

using u64 = unsigned long long;
using railgauge::cuda::VerifyResult;
using railgauge::cuda::kNoMismatch;

constexpr u64 kStep = 0x9E3779B97F4A7C15ULL; /* as in pattern.cc */
constexpr unsigned kUnroll = 4;              /* 64 bytes of a thread in flight cover the latency of HBM at full occupancy */

__device__ u64 start_of(u64 seed) {
  u64 z = seed + kStep;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/* The pattern, from the byte that a region begins with. */
struct Source {
  u64 start;
  u64 offset;
  __device__ static u64 mix(u64 x) { return x ^ (x >> 32); }
  __device__ unsigned byte(u64 i) const {
    const u64 at = offset + i;
    return static_cast<unsigned>(mix(start + at / 8 * kStep) >> (8 * (at % 8))) & 0xFF;
  }
  /* Bytes i … i+15. The shift is the same for all chunks of a launch, so no warp diverges here. */
  __device__ ulonglong2 chunk(u64 i) const {
    const u64 at = offset + i;
    const u64 x = start + at / 8 * kStep; /* the only product: an H100 has some 64 integer operations for 16 bytes of its memory */
    const unsigned shift = static_cast<unsigned>(at % 8) * 8;
    const u64 a = mix(x), b = mix(x + kStep);
    if (shift == 0) return make_ulonglong2(a, b);
    const u64 c = mix(x + 2 * kStep);
    return make_ulonglong2(a >> shift | b << (64 - shift), b >> shift | c << (64 - shift));
  }
};

/* A region cut into bytes before the first 16-byte boundary, whole chunks, and bytes behind them. */
struct Cut {
  u64 head, chunks, tail;
};
__device__ Cut cut(const unsigned char* data, u64 bytes) {
  u64 head = (16 - reinterpret_cast<u64>(data) % 16) % 16;
  if (head > bytes) head = bytes;
  return {head, (bytes - head) / 16, (bytes - head) % 16};
}

__device__ u64 thread_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 thread_count() { return static_cast<u64>(gridDim.x) * blockDim.x; }

/* Offset of the byte of head or tail that a thread has to see to, or nothing (`bytes`). There are 30 at most. */
__device__ u64 edge_byte(const Cut& c, u64 thread, u64 bytes) {
  if (thread < c.head) return thread;
  if (thread < c.head + c.tail) return thread + c.chunks * 16;
  return bytes;
}

/* What a thread has found. */
struct Found {
  u64 count = 0;
  u64 first = kNoMismatch;
  __device__ void compare(unsigned expected, unsigned found, u64 offset) {
    if (expected == found) return;
    ++count;
    const u64 packed = offset << 16 | expected << 8 | found;
    if (packed < first) first = packed;
  }
  __device__ void compare(u64 expected, u64 found, u64 offset) {
    if (expected == found) return;
    for (unsigned i = 0; i < 8; ++i)
      compare(static_cast<unsigned>(expected >> (8 * i)) & 0xFF, static_cast<unsigned>(found >> (8 * i)) & 0xFF, offset + i);
  }
  __device__ void compare(const ulonglong2& expected, const ulonglong2& found, u64 offset) {
    compare(expected.x, found.x, offset);
    compare(expected.y, found.y, offset + 8);
  }
};

/* One atomic pair a warp, and none while all agree. */
__device__ void add_to(VerifyResult* result, Found mine) {
  constexpr unsigned kAll = 0xFFFFFFFFu;
  if (__any_sync(kAll, mine.count != 0) == 0) return;
  for (int distance = 16; distance > 0; distance /= 2) {
    mine.count += __shfl_down_sync(kAll, mine.count, distance);
    const u64 other = __shfl_down_sync(kAll, mine.first, distance);
    if (other < mine.first) mine.first = other;
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&result->mismatched_bytes, mine.count);
  atomicMin(&result->first, mine.first);
}

}  // namespace

extern "C" __global__ void railgauge_fill(unsigned char* data, u64 bytes, u64 pattern_offset, u64 seed) {
  const Source source{start_of(seed), pattern_offset};
  const Cut c = cut(data, bytes);
  ulonglong2* const body = reinterpret_cast<ulonglong2*>(data + c.head);
  for (u64 i = thread_index(); i < c.chunks; i += thread_count()) body[i] = source.chunk(c.head + i * 16);
  for (u64 thread = thread_index(); thread < c.head + c.tail; thread += thread_count()) {
    const u64 at = edge_byte(c, thread, bytes);
    data[at] = static_cast<unsigned char>(source.byte(at));
  }
}

/* Plain loads, which see what a NIC has stored: the read-only path (ld.global.nc) need not. */
extern "C" __global__ void railgauge_verify(const unsigned char* data, u64 bytes, u64 pattern_offset, u64 seed, VerifyResult* result) {
  const Source source{start_of(seed), pattern_offset};
  const Cut c = cut(data, bytes);
  const ulonglong2* const body = reinterpret_cast<const ulonglong2*>(data + c.head);
  const u64 threads = thread_count();
  Found mine;
  u64 i = thread_index();
  for (; i + (kUnroll - 1) * threads < c.chunks; i += kUnroll * threads) {
    ulonglong2 loaded[kUnroll];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) loaded[k] = body[i + k * threads];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) {
      const u64 at = c.head + (i + k * threads) * 16;
      mine.compare(source.chunk(at), loaded[k], at);
    }
  }
  for (; i < c.chunks; i += threads) mine.compare(source.chunk(c.head + i * 16), body[i], c.head + i * 16);
  for (u64 thread = thread_index(); thread < c.head + c.tail; thread += threads) {
    const u64 at = edge_byte(c, thread, bytes);
    mine.compare(source.byte(at), static_cast<unsigned>(data[at]), at);
  }
  add_to(result, mine);
}

extern "C" __global__ void railgauge_copy(unsigned char* to, const unsigned char* from, u64 bytes) {
  const u64 threads = thread_count();
  const bool aligned = (reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from)) % 16 == 0;
  const u64 chunks = aligned ? bytes / 16 : 0;
  ulonglong2* const target = reinterpret_cast<ulonglong2*>(to);
  const ulonglong2* const source = reinterpret_cast<const ulonglong2*>(from);
  u64 i = thread_index();
  for (; i + (kUnroll - 1) * threads < chunks; i += kUnroll * threads) {
    ulonglong2 loaded[kUnroll];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) loaded[k] = source[i + k * threads];
#pragma unroll
    for (unsigned k = 0; k < kUnroll; ++k) target[i + k * threads] = loaded[k];
  }
  for (; i < chunks; i += threads) target[i] = source[i];
  for (u64 at = chunks * 16 + thread_index(); at < bytes; at += threads) to[at] = from[at];
}
