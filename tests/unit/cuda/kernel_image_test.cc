#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cuda/kernels.h"

namespace railgauge::cuda {
namespace {

std::string_view text_of(std::span<const std::byte> image) { return {reinterpret_cast<const char*>(image.data()), image.size()}; }

TEST(KernelImage, IsThereOrSaysWhyNot) { EXPECT_EQ(kernel_image().empty(), std::string_view(why_no_kernel_image()) != ""); }

/// A cubin is an ELF file: each kernel has a section .text.NAME of its own. PTX is text, with an .entry for each.
TEST(KernelImage, HasEachKernelAsCodeAndAsPtx) {
  if (kernel_image().empty()) GTEST_SKIP() << why_no_kernel_image();
  const std::string_view image = text_of(kernel_image());
  EXPECT_EQ(image.substr(0, 4), "\x50\xED\x55\xBA") << "the first bytes of a fatbin";
  for (const char* name : {kFillKernel, kVerifyKernel, kCopyKernel}) {
    EXPECT_NE(image.find(std::string(".text.") + name), std::string_view::npos) << name;
    EXPECT_NE(image.find(std::string(".entry ") + name), std::string_view::npos) << name;
  }
}

}  // namespace
}  // namespace railgauge::cuda
