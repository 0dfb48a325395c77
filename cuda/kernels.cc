#include "cuda/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cuda/result.h"

namespace railgauge::cuda {
namespace {

constexpr unsigned kBlockThreads = 256;
/// With 256 threads each they fill a multiprocessor of every architecture from sm_80 on (2048 threads; CUDA C++ Programming Guide,
/// table of compute capabilities). Not tuned on a GPU.
constexpr unsigned kBlocksPerMultiprocessor = 8;
/// What a thread has in flight at once (pattern.cu).
constexpr std::uint64_t kThreadBytes = 64;

/// Enough blocks for the bytes, at most what the GPU runs at once: the kernels go through the rest in strides.
unsigned blocks_for(std::uint64_t bytes, int multiprocessors) {
  const std::uint64_t useful = bytes / (kBlockThreads * kThreadBytes) + 1;
  const std::uint64_t most = static_cast<std::uint64_t>(std::max(1, multiprocessors)) * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(std::min(useful, most));
}

}  // namespace

struct Kernels::Launch {
  abi::FunctionHandle function;
  const char* name;
  std::uint64_t bytes;
  const Stream& stream;
  std::span<void*> arguments;
};

Kernels::Kernels(const Context& context, std::span<const std::byte> image)
    : context_(context),
      module_(context, image),
      fill_(module_.function(kFillKernel)),
      verify_(module_.function(kVerifyKernel)),
      copy_(module_.function(kCopyKernel)) {}

void Kernels::launch(const Launch& wanted) const {
  if (wanted.bytes == 0) return;
  const unsigned blocks = blocks_for(wanted.bytes, context_.device().multiprocessors);
  check(context_.driver().calls().launch_kernel(wanted.function, blocks, 1, 1, kBlockThreads, 1, 1, 0, wanted.stream.get(), wanted.arguments.data(), nullptr),
        fmt::format("cuLaunchKernel of {} on {}", wanted.name, describe(context_.device())));
}

void Kernels::fill(const Stream& stream, const PatternRegion& region) const {
  PatternRegion r = region;
  std::array<void*, 4> arguments = {&r.address, &r.bytes, &r.pattern_offset, &r.seed};
  launch({.function = fill_, .name = kFillKernel, .bytes = r.bytes, .stream = stream, .arguments = arguments});
}

void Kernels::verify(const Stream& stream, const PatternRegion& region, abi::DevicePointer result) const {
  PatternRegion r = region;
  std::array<void*, 5> arguments = {&r.address, &r.bytes, &r.pattern_offset, &r.seed, &result};
  launch({.function = verify_, .name = kVerifyKernel, .bytes = r.bytes, .stream = stream, .arguments = arguments});
}

void Kernels::copy(const Stream& stream, const Copy& wanted) const {
  Copy c = wanted;
  std::array<void*, 3> arguments = {&c.to, &c.from, &c.bytes};
  launch({.function = copy_, .name = kCopyKernel, .bytes = c.bytes, .stream = stream, .arguments = arguments});
}

}  // namespace railgauge::cuda
