// Compares cuda/cuda_abi.h and the prototypes of cuda/driver.h with the cuda.h of the toolkit at hand: while this compiles, they
// agree. Without a toolkit this file is left out.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "cuda/driver.h"

namespace railgauge::cuda {
namespace {

/// Passed alike: of the same size, and both pointers, both floating or both neither.
template <typename A, typename B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A1) == sizeof...(A2)) return passed_alike<R1, R2> && (passed_alike<A1, A2> && ...);
    return false;
  }();
};

#define SAME_CALL(member, call) static_assert(SameCall<decltype(DriverCalls::member), decltype(&call)>::value, #call)
SAME_CALL(device_get_count, cuDeviceGetCount);
SAME_CALL(device_get, cuDeviceGet);
SAME_CALL(device_get_name, cuDeviceGetName);
SAME_CALL(device_get_uuid, cuDeviceGetUuid);
SAME_CALL(device_get_pci_bus_id, cuDeviceGetPCIBusId);
SAME_CALL(device_get_attribute, cuDeviceGetAttribute);
SAME_CALL(device_total_mem, cuDeviceTotalMem);
SAME_CALL(primary_context_retain, cuDevicePrimaryCtxRetain);
SAME_CALL(primary_context_release, cuDevicePrimaryCtxRelease);
SAME_CALL(context_set_current, cuCtxSetCurrent);
SAME_CALL(mem_alloc, cuMemAlloc);
SAME_CALL(mem_free, cuMemFree);
SAME_CALL(mem_host_alloc, cuMemHostAlloc);
SAME_CALL(mem_free_host, cuMemFreeHost);
SAME_CALL(copy_host_to_device, cuMemcpyHtoDAsync);
SAME_CALL(copy_device_to_host, cuMemcpyDtoHAsync);
SAME_CALL(copy_device_to_device, cuMemcpyDtoDAsync);
SAME_CALL(set_bytes, cuMemsetD8Async);
SAME_CALL(pointer_set_attribute, cuPointerSetAttribute);
SAME_CALL(stream_create, cuStreamCreate);
SAME_CALL(stream_destroy, cuStreamDestroy);
SAME_CALL(stream_query, cuStreamQuery);
SAME_CALL(event_create, cuEventCreate);
SAME_CALL(event_destroy, cuEventDestroy);
SAME_CALL(event_record, cuEventRecord);
SAME_CALL(event_query, cuEventQuery);
SAME_CALL(event_elapsed_time, cuEventElapsedTime);
SAME_CALL(module_load_data, cuModuleLoadData);
SAME_CALL(module_unload, cuModuleUnload);
SAME_CALL(module_get_function, cuModuleGetFunction);
SAME_CALL(launch_kernel, cuLaunchKernel);
#undef SAME_CALL
#if CUDA_VERSION >= 11070
static_assert(SameCall<decltype(OptionalCall<abi::Result (*)(void*, abi::DevicePointer, std::size_t, int, unsigned long long)>::call),
                       decltype(&cuMemGetHandleForAddressRange)>::value);
static_assert(abi::kRangeHandleDmabufFd == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
static_assert(static_cast<int>(abi::Attribute::dma_buf) == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
#endif
#if CUDA_VERSION >= 12080
static_assert(abi::kDmabufMappingPcie == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
#endif
#if CUDA_VERSION >= 13000
static_assert(static_cast<int>(abi::Attribute::host_alloc_dma_buf) == CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED);
#endif

static_assert(passed_alike<abi::Result, CUresult> && passed_alike<abi::DeviceHandle, CUdevice> && passed_alike<abi::DevicePointer, CUdeviceptr>);
static_assert(sizeof(abi::Uuid) == sizeof(CUuuid));

#define SAME_RESULT(ours, theirs) static_assert(static_cast<int>(abi::ours) == static_cast<int>(theirs))
SAME_RESULT(kSuccess, CUDA_SUCCESS);
SAME_RESULT(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_RESULT(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_RESULT(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME_RESULT(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME_RESULT(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_RESULT(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_RESULT(kInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME_RESULT(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME_RESULT(kNotFound, CUDA_ERROR_NOT_FOUND);
SAME_RESULT(kNotReady, CUDA_ERROR_NOT_READY);
SAME_RESULT(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_RESULT(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME_RESULT(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_RESULT(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME_RESULT(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME_RESULT(kUnknown, CUDA_ERROR_UNKNOWN);
SAME_RESULT(Attribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_RESULT(Attribute::integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME_RESULT(Attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_RESULT(Attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_RESULT(Attribute::gpu_direct_rdma_with_vmm, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME_RESULT(Attribute::gpu_direct_rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
SAME_RESULT(Attribute::gpu_direct_rdma_flush_options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
SAME_RESULT(Attribute::gpu_direct_rdma_writes_ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
SAME_RESULT(kFlushOptionHost, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST);
SAME_RESULT(kOrderingOwner, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER);
SAME_RESULT(kFlushTargetCurrentContext, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
SAME_RESULT(kFlushScopeOwner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
SAME_RESULT(kPointerAttributeSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME_RESULT(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_RESULT(kEventDefault, CU_EVENT_DEFAULT);
SAME_RESULT(kProcAddressDefault, CU_GET_PROC_ADDRESS_DEFAULT);
#undef SAME_RESULT

TEST(CudaAbi, IsThatOfTheToolkitAtHand) { EXPECT_GE(CUDA_VERSION, 11030); }

}  // namespace
}  // namespace railgauge::cuda
