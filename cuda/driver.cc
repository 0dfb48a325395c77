#include "cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/env.h"
#include "base/error.h"
#include "cuda/result.h"

namespace railgauge::cuda {
namespace {

constexpr const char* kSoname = "libcuda.so.1";

/// A name, and the version of CUDA whose binary interface is wanted: the number behind PFN_…_v in cudaTypedefs.h 13.0, and so
/// the first version that has it.
struct EntryPoint {
  const char* name;
  int version;
};

/// The two forms of cuGetProcAddress (11.3, and 12.0 with a status), behind one face.
class Symbols {
 public:
  explicit Symbols(void* library)
      : with_status_(reinterpret_cast<WithStatus>(dlsym(library, "cuGetProcAddress_v2"))),
        plain_(reinterpret_cast<Plain>(dlsym(library, "cuGetProcAddress"))) {}
  bool there() const noexcept { return with_status_ != nullptr || plain_ != nullptr; }
  /// Null when the driver has no such entry point; drivers differ in whether they also return an error then.
  void* find(const EntryPoint& entry) const {
    void* found = nullptr;
    int status = 0;
    const abi::Result result = with_status_ != nullptr ? with_status_(entry.name, &found, entry.version, abi::kProcAddressDefault, &status)
                                                       : plain_(entry.name, &found, entry.version, abi::kProcAddressDefault);
    return result == abi::kSuccess ? found : nullptr;
  }

 private:
  using WithStatus = abi::Result (*)(const char*, void**, int, std::uint64_t, int*);
  using Plain = abi::Result (*)(const char*, void**, int, std::uint64_t);
  WithStatus with_status_;
  Plain plain_;
};

std::string why_missing(const EntryPoint& entry, int version) {
  if (version < entry.version) return fmt::format("{}: needs driver ≥ {}, this is {}", entry.name, version_text(entry.version), version_text(version));
  return fmt::format("{}: not in this driver, although it is of {} and should have it", entry.name, version_text(version));
}

/// Fills entry points, one statement each.
class LookUp {
 public:
  LookUp(const Symbols& symbols, int version) : symbols_(symbols), version_(version) {}
  template <typename Call>
  void operator()(Call& call, const EntryPoint& entry) const {
    call = reinterpret_cast<Call>(symbols_.find(entry));
    if (call == nullptr) throw Error(ErrorKind::unsupported, fmt::format("{}: update the NVIDIA driver", why_missing(entry, version_)));
  }
  template <typename Call>
  void operator()(OptionalCall<Call>& optional, const EntryPoint& entry) const {
    optional.call = reinterpret_cast<Call>(symbols_.find(entry));
    if (!optional) optional.why_missing = why_missing(entry, version_);
  }

 private:
  const Symbols& symbols_;
  int version_;
};

DriverCalls look_up_all(const LookUp& find) {
  DriverCalls c;
  find(c.device_get_count, {"cuDeviceGetCount", 2000});
  find(c.device_get, {"cuDeviceGet", 2000});
  find(c.device_get_name, {"cuDeviceGetName", 2000});
  find(c.device_get_uuid, {"cuDeviceGetUuid", 9020});
  find(c.device_get_pci_bus_id, {"cuDeviceGetPCIBusId", 4010});
  find(c.device_get_attribute, {"cuDeviceGetAttribute", 2000});
  find(c.device_total_mem, {"cuDeviceTotalMem", 3020});
  // The primary context, shared with NCCL: creating one of our own has another signature since CUDA 13 (perftest-lessons, 5).
  find(c.primary_context_retain, {"cuDevicePrimaryCtxRetain", 7000});
  find(c.primary_context_release, {"cuDevicePrimaryCtxRelease", 11000});
  find(c.context_set_current, {"cuCtxSetCurrent", 4000});
  find(c.mem_alloc, {"cuMemAlloc", 3020});
  find(c.mem_free, {"cuMemFree", 3020});
  find(c.mem_host_alloc, {"cuMemHostAlloc", 2020});
  find(c.mem_free_host, {"cuMemFreeHost", 2000});
  find(c.copy_host_to_device, {"cuMemcpyHtoDAsync", 3020});
  find(c.copy_device_to_host, {"cuMemcpyDtoHAsync", 3020});
  find(c.copy_device_to_device, {"cuMemcpyDtoDAsync", 3020});
  find(c.set_bytes, {"cuMemsetD8Async", 3020});
  find(c.pointer_set_attribute, {"cuPointerSetAttribute", 6000});
  find(c.stream_create, {"cuStreamCreate", 2000});
  find(c.stream_destroy, {"cuStreamDestroy", 4000});
  find(c.stream_query, {"cuStreamQuery", 2000});
  find(c.event_create, {"cuEventCreate", 2000});
  find(c.event_destroy, {"cuEventDestroy", 4000});
  find(c.event_record, {"cuEventRecord", 2000});
  find(c.event_query, {"cuEventQuery", 2000});
  find(c.event_elapsed_time, {"cuEventElapsedTime", 2000});
  find(c.module_load_data, {"cuModuleLoadData", 2000});
  find(c.module_unload, {"cuModuleUnload", 2000});
  find(c.module_get_function, {"cuModuleGetFunction", 2000});
  find(c.launch_kernel, {"cuLaunchKernel", 4000});
  find(c.mem_get_handle_for_range, {"cuMemGetHandleForAddressRange", 11070});
  find(c.flush_gpu_direct_rdma_writes, {"cuFlushGPUDirectRDMAWrites", 11030});
  return c;
}

void* load(const std::string& file) {
  if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* why = dlerror();
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: no usable NVIDIA driver on this host (install it, or name its library in RAILGAUGE_LIBCUDA)", why != nullptr ? why : file));
}

/// The file behind the library, for the record; what it was asked for by where the system does not say.
std::string file_of(void* symbol, const std::string& asked_for) {
  Dl_info info{};
  return symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : asked_for;
}

template <typename Call>
Call first_call(void* library, const char* name, const std::string& file) {
  if (void* symbol = dlsym(library, name)) return reinterpret_cast<Call>(symbol);
  throw Error(ErrorKind::unsupported, fmt::format("{} has no {}: it is no CUDA driver", file, name));
}

}  // namespace

Driver::Driver(std::optional<std::string> library) {
  if (!library) library = read_environment().libcuda;
  const std::string file = library.value_or(kSoname);
  void* const handle = load(file);
  const auto init = first_call<abi::Result (*)(unsigned)>(handle, "cuInit", file);
  const auto get_version = first_call<abi::Result (*)(int*)>(handle, "cuDriverGetVersion", file);
  library_ = file_of(reinterpret_cast<void*>(init), file);
  const bool told = get_version(&version_) == abi::kSuccess;  // works before cuInit, and where that fails
  const std::string name = fmt::format("{} (CUDA {})", library_, told ? version_text(version_) : "of unknown version");
  check(init(0), fmt::format("cuInit of {}", name));
  const Symbols symbols(handle);
  if (!symbols.there()) throw Error(ErrorKind::unsupported, fmt::format("{} is too old: driver ≥ 11.3 is needed (cuGetProcAddress); update the NVIDIA driver", name));
  calls_ = look_up_all(LookUp(symbols, version_));
}

int Driver::device_count() const {
  int count = 0;
  check(calls_.device_get_count(&count), "cuDeviceGetCount");
  return count;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace railgauge::cuda
