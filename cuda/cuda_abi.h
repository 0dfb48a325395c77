#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

/// The part of the CUDA driver's binary interface that is used here, in own declarations: a build needs no toolkit. Figures
/// and prototypes are those of cuda.h 13.0 and cudaTypedefs.h 13.0; tests/unit/cuda/abi_test.cc compares them with the
/// cuda.h of the toolkit at hand, where there is one.
namespace railgauge::cuda::abi {

using Result = int;                     ///< CUresult, an int-sized enum
using DeviceHandle = int;               ///< CUdevice
using DevicePointer = unsigned long long;  ///< CUdeviceptr (v2) on 64-bit systems

/// The opaque handles: pointers to records that only the driver knows.
using ContextHandle = struct ContextRecord*;
using StreamHandle = struct StreamRecord*;
using EventHandle = struct EventRecord*;
using ModuleHandle = struct ModuleRecord*;
using FunctionHandle = struct FunctionRecord*;

/// CUuuid
struct Uuid {
  std::array<unsigned char, 16> bytes;
};

// CUresult; what each means stands in result.cc.
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kInsufficientDriver = 35;  ///< cudaErrorInsufficientDriver: the runtime's number, not in cuda.h
inline constexpr Result kNoDevice = 100;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kInvalidPtx = 218;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kSystemNotReady = 802;
inline constexpr Result kSystemDriverMismatch = 803;
inline constexpr Result kUnknown = 999;

/// CUdevice_attribute
enum class Attribute : int {
  multiprocessor_count = 16,
  integrated = 18,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  gpu_direct_rdma_with_vmm = 110,
  gpu_direct_rdma = 116,
  gpu_direct_rdma_flush_options = 117,
  gpu_direct_rdma_writes_ordering = 118,
  dma_buf = 124,
  host_alloc_dma_buf = 146,
};

inline constexpr int kFlushOptionHost = 1;       ///< bit of gpu_direct_rdma_flush_options: cuFlushGPUDirectRDMAWrites works
inline constexpr int kOrderingOwner = 100;       ///< gpu_direct_rdma_writes_ordering from here on: the owner sees writes in order
inline constexpr int kFlushTargetCurrentContext = 0;
inline constexpr int kFlushScopeOwner = 100;
inline constexpr int kPointerAttributeSyncMemops = 6;
inline constexpr int kRangeHandleDmabufFd = 1;   ///< CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr unsigned long long kDmabufMappingPcie = 1;  ///< CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, since 12.8
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;     ///< with time
inline constexpr std::uint64_t kProcAddressDefault = 0;  ///< CU_GET_PROC_ADDRESS_DEFAULT: the legacy default stream

}  // namespace railgauge::cuda::abi
