/// Exported calls: how programs find the others, and how tests see which were made.
#include <cstring>

#include "state.h"

using namespace railgauge::simcuda;

#define RAILGAUGE_SIM_CALLS(X)                                                                                          \
  X(cuInit, cuInit, 2000) X(cuDriverGetVersion, cuDriverGetVersion, 2020) X(cuDeviceGetCount, cuDeviceGetCount, 2000)   \
  X(cuDeviceGet, cuDeviceGet, 2000) X(cuDeviceGetName, cuDeviceGetName, 2000) X(cuDeviceGetUuid, cuDeviceGetUuid, 9020) \
  X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010) X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000)                 \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020) X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)            \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000) X(cuCtxSetCurrent, cuCtxSetCurrent, 4000)           \
  X(cuCtxSynchronize, cuCtxSynchronize, 2000) X(cuMemAlloc, cuMemAlloc_v2, 3020) X(cuMemFree, cuMemFree_v2, 3020)       \
  X(cuMemHostAlloc, cuMemHostAlloc, 2020) X(cuMemFreeHost, cuMemFreeHost, 2000)                                         \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020) X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020)                     \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020) X(cuMemsetD8Async, cuMemsetD8Async, 3020)                            \
  X(cuPointerSetAttribute, cuPointerSetAttribute, 6000) X(cuStreamCreate, cuStreamCreate, 2000)                         \
  X(cuStreamDestroy, cuStreamDestroy_v2, 4000) X(cuStreamQuery, cuStreamQuery, 2000)                                    \
  X(cuStreamSynchronize, cuStreamSynchronize, 2000) X(cuEventCreate, cuEventCreate, 2000)                               \
  X(cuEventDestroy, cuEventDestroy_v2, 4000) X(cuEventRecord, cuEventRecord, 2000) X(cuEventQuery, cuEventQuery, 2000)  \
  X(cuEventElapsedTime, cuEventElapsedTime, 2000) X(cuModuleLoadData, cuModuleLoadData, 2000)                           \
  X(cuModuleUnload, cuModuleUnload, 2000) X(cuModuleGetFunction, cuModuleGetFunction, 2000)                             \
  X(cuLaunchKernel, cuLaunchKernel, 4000) X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070)        \
  X(cuFlushGPUDirectRDMAWrites, cuFlushGPUDirectRDMAWrites, 11030)

// Addresses are all that is wanted here.
#define DECLARE(name, symbol, since) extern "C" void symbol();
RAILGAUGE_SIM_CALLS(DECLARE)
#undef DECLARE

namespace {

struct Entry {
  const char* name;
  void (*address)();
  int since;  ///< the version of CUDA that brought this form (cudaTypedefs.h 13.0)
};

#define ENTRY(name, symbol, since) {#name, symbol, since},
constexpr Entry kEntries[] = {RAILGAUGE_SIM_CALLS(ENTRY)};
#undef ENTRY

enum Status { kFound = 0, kUnknownName = 1, kVersionTooLow = 2 };

Status look_up(const char* name, int version, void** address) {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  *address = nullptr;
  for (const auto& e : kEntries) {
    if (std::strcmp(e.name, name) != 0 || e.since > s.description.driver) continue;
    if (e.since > version) return kVersionTooLow;
    *address = reinterpret_cast<void*>(e.address);
    return kFound;
  }
  return kUnknownName;
}

}  // namespace

RAILGAUGE_SIM_EXPORT Result cuGetProcAddress(const char* name, void** address, int version, std::uint64_t) {
  return look_up(name, version, address) == kFound ? kSuccess : kNotFound;
}

/// Drivers from 12.0 on say it in the status and succeed.
RAILGAUGE_SIM_EXPORT Result cuGetProcAddress_v2(const char* name, void** address, int version, std::uint64_t, int* status) {
  const Status found = look_up(name, version, address);
  if (status != nullptr) *status = found;
  return kSuccess;
}

/// How often the call of that name (without _v2) was made since cuInit: for tests.
RAILGAUGE_SIM_EXPORT unsigned long railgauge_simcuda_calls(const char* name) {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  const auto known = s.calls.find(name);
  return known == s.calls.end() ? 0 : known->second;
}
