#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cuda/handles.h"
#include "cuda/kernels/contract.h"

namespace railgauge::cuda {

/// Code for the device as this build has it: a fatbin of the architectures that the toolkit knew, and PTX for later ones. Empty
/// where there was no nvcc.
std::span<const std::byte> kernel_image() noexcept;

/// Why the image is empty; empty itself when it is not.
const char* why_no_kernel_image() noexcept;

/// A stretch of device memory and the place of its first byte in a pattern.
struct PatternRegion {
  abi::DevicePointer address = 0;
  std::uint64_t bytes = 0;              ///< below 2^48
  std::uint64_t pattern_offset = 0;
  std::uint64_t seed = 0;
};

/// The kernels of kernels/pattern.cu on one device. Launching does not wait. Any thread whose current context is the one they
/// were loaded in; outlives nothing but its launches.
class Kernels {
 public:
  /// Throws Error{cuda} where driver or GPU do not take the image.
  Kernels(const Context& context, std::span<const std::byte> image);

  void fill(const Stream& stream, const PatternRegion& region) const;  ///< throws Error{cuda}
  /// Adds to *result, a VerifyResult in device memory. Throws Error{cuda}.
  void verify(const Stream& stream, const PatternRegion& region, abi::DevicePointer result) const;
  struct Copy {
    abi::DevicePointer to = 0;
    abi::DevicePointer from = 0;
    std::uint64_t bytes = 0;
  };
  void copy(const Stream& stream, const Copy& wanted) const;           ///< throws Error{cuda}

 private:
  struct Launch;
  void launch(const Launch& wanted) const;

  const Context& context_;
  Module module_;
  abi::FunctionHandle fill_;
  abi::FunctionHandle verify_;
  abi::FunctionHandle copy_;
};

}  // namespace railgauge::cuda
