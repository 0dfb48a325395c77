// The stand-in driver of tests/sim/cuda, described and scripted anew for each test.
#pragma once
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <span>
#include <string>

#include "cuda/device.h"
#include "cuda/driver.h"

namespace railgauge::cuda::test {

/// Code that the stand-in takes for the kernels, where the build has no nvcc.
inline std::span<const std::byte> stand_in_image() {
  static constexpr char kText[] = "railgauge stand-in kernels";
  return std::as_bytes(std::span(kText));
}

struct StandIn {
  explicit StandIn(const std::string& description = "", const std::string& faults = "", const char* library = RAILGAUGE_STAND_IN_CUDA)
      : driver(prepared(description, faults, library)) {}
  Device device(int ordinal = 0) const { return devices(driver)[static_cast<std::size_t>(ordinal)]; }
  /// Made since the driver was loaded.
  unsigned long calls(const char* name) const {
    void* library = dlopen(driver.library().c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto count = reinterpret_cast<unsigned long (*)(const char*)>(dlsym(library, "railgauge_simcuda_calls"));
    return count != nullptr ? count(name) : ~0UL;
  }

  Driver driver;

 private:
  static std::string prepared(const std::string& description, const std::string& faults, const char* library) {
    setenv("RAILGAUGE_SIM_CUDA", description.c_str(), 1);
    setenv("RAILGAUGE_SIM_CUDA_FAULTS", faults.c_str(), 1);
    return library;
  }
};

}  // namespace railgauge::cuda::test
