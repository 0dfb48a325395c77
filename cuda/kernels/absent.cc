// In place of embedded.cc where there was no nvcc at build time.
#include "cuda/kernels.h"

namespace railgauge::cuda {

std::span<const std::byte> kernel_image() noexcept { return {}; }

const char* why_no_kernel_image() noexcept { return "this build has no kernels for the GPU (there was no nvcc)"; }

}  // namespace railgauge::cuda
