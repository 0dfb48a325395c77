#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cuda/cuda_abi.h"

namespace railgauge::cuda {

/// An entry point that may be missing.
template <typename Call>
struct OptionalCall {
  Call call = nullptr;
  std::string why_missing;              ///< "cuMemGetHandleForAddressRange: needs driver ≥ 11.7, this is 11.4"; empty when there
  explicit operator bool() const noexcept { return call != nullptr; }
};

/// The entry points of libcuda that are used, each in the version named in driver.cc. Those of plain type are always there.
struct DriverCalls {
  abi::Result (*device_get_count)(int*) = nullptr;
  abi::Result (*device_get)(abi::DeviceHandle*, int) = nullptr;
  abi::Result (*device_get_name)(char*, int, abi::DeviceHandle) = nullptr;
  abi::Result (*device_get_uuid)(abi::Uuid*, abi::DeviceHandle) = nullptr;
  abi::Result (*device_get_pci_bus_id)(char*, int, abi::DeviceHandle) = nullptr;
  abi::Result (*device_get_attribute)(int*, int, abi::DeviceHandle) = nullptr;
  abi::Result (*device_total_mem)(std::size_t*, abi::DeviceHandle) = nullptr;
  abi::Result (*primary_context_retain)(abi::ContextHandle*, abi::DeviceHandle) = nullptr;
  abi::Result (*primary_context_release)(abi::DeviceHandle) = nullptr;
  abi::Result (*context_set_current)(abi::ContextHandle) = nullptr;
  abi::Result (*mem_alloc)(abi::DevicePointer*, std::size_t) = nullptr;
  abi::Result (*mem_free)(abi::DevicePointer) = nullptr;
  abi::Result (*mem_host_alloc)(void**, std::size_t, unsigned) = nullptr;
  abi::Result (*mem_free_host)(void*) = nullptr;
  abi::Result (*copy_host_to_device)(abi::DevicePointer, const void*, std::size_t, abi::StreamHandle) = nullptr;
  abi::Result (*copy_device_to_host)(void*, abi::DevicePointer, std::size_t, abi::StreamHandle) = nullptr;
  abi::Result (*copy_device_to_device)(abi::DevicePointer, abi::DevicePointer, std::size_t, abi::StreamHandle) = nullptr;
  abi::Result (*set_bytes)(abi::DevicePointer, unsigned char, std::size_t, abi::StreamHandle) = nullptr;
  abi::Result (*pointer_set_attribute)(const void*, int, abi::DevicePointer) = nullptr;
  abi::Result (*stream_create)(abi::StreamHandle*, unsigned) = nullptr;
  abi::Result (*stream_destroy)(abi::StreamHandle) = nullptr;
  abi::Result (*stream_query)(abi::StreamHandle) = nullptr;
  abi::Result (*event_create)(abi::EventHandle*, unsigned) = nullptr;
  abi::Result (*event_destroy)(abi::EventHandle) = nullptr;
  abi::Result (*event_record)(abi::EventHandle, abi::StreamHandle) = nullptr;
  abi::Result (*event_query)(abi::EventHandle) = nullptr;
  abi::Result (*event_elapsed_time)(float*, abi::EventHandle, abi::EventHandle) = nullptr;
  abi::Result (*module_load_data)(abi::ModuleHandle*, const void*) = nullptr;
  abi::Result (*module_unload)(abi::ModuleHandle) = nullptr;
  abi::Result (*module_get_function)(abi::FunctionHandle*, abi::ModuleHandle, const char*) = nullptr;
  abi::Result (*launch_kernel)(abi::FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, abi::StreamHandle, void**,
                               void**) = nullptr;
  OptionalCall<abi::Result (*)(void*, abi::DevicePointer, std::size_t, int, unsigned long long)> mem_get_handle_for_range;
  OptionalCall<abi::Result (*)(int, int)> flush_gpu_direct_rdma_writes;
};

/// The NVIDIA driver of this host, loaded and initialised. Nothing is linked: a host without it has this program all the same.
/// Constant once made, so any thread may use it; outlives whatever was made through it. The library stays loaded for the life
/// of the process, because what it started cannot be taken back.
class Driver {
 public:
  /// Loads `library`, else what RAILGAUGE_LIBCUDA names, else libcuda.so.1; never libcuda.so, which may be a toolkit's stub.
  /// Throws Error{unsupported} where there is no driver, no GPU, or a driver older than CUDA 11.3 (the first with
  /// cuGetProcAddress); Error{cuda} where the driver is there but does not work.
  explicit Driver(std::optional<std::string> library = {});

  const DriverCalls& calls() const noexcept { return calls_; }
  int version() const noexcept { return version_; }  ///< the newest CUDA that the driver serves: 13000 is 13.0
  const std::string& library() const noexcept { return library_; }  ///< the file that was loaded
  int device_count() const;             ///< of those that this process may see; throws Error{cuda}

 private:
  std::string library_;
  int version_ = 0;
  DriverCalls calls_;
};

/// 11040 → "11.4".
std::string version_text(int version);

}  // namespace railgauge::cuda
