// The image that nvcc made at build time; CMake takes this file or absent.cc.
#include "cuda/kernels.h"

// RAILGAUGE_KERNEL_IMAGE: path of the fatbin, from CMake. An assembler's include needs no generated text of ten times the size.
asm(".pushsection .rodata\n"
    ".balign 64\n"
    "railgauge_kernel_image_begin:\n"
    ".incbin \"" RAILGAUGE_KERNEL_IMAGE "\"\n"
    "railgauge_kernel_image_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const std::byte railgauge_kernel_image_begin[];
extern const std::byte railgauge_kernel_image_end[];
}

namespace railgauge::cuda {

std::span<const std::byte> kernel_image() noexcept {
  return {railgauge_kernel_image_begin, static_cast<std::size_t>(railgauge_kernel_image_end - railgauge_kernel_image_begin)};
}

const char* why_no_kernel_image() noexcept { return ""; }

}  // namespace railgauge::cuda
