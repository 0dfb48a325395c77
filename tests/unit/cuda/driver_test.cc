#include "cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/result.h"
#include "unit/cuda/stand_in.h"

namespace railgauge::cuda {
namespace {

using test::StandIn;
using testing::AllOf;
using testing::HasSubstr;

Error refusal(const std::string& description, const std::string& faults, const char* library = RAILGAUGE_STAND_IN_CUDA) {
  try {
    const StandIn stand_in(description, faults, library);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::data, "was not refused");
}

TEST(Driver, IsUnsupportedByNameWhereThereIsNone) {
  const Error error = refusal("", "", "/nowhere/libcuda.so.1");
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(exit_code_of(error.kind()), ExitCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("/nowhere/libcuda.so.1: cannot open"), HasSubstr("no usable NVIDIA driver on this host")));
}

TEST(Driver, TellsALibraryOfAnotherKindApart) {
  const Error error = refusal("", "", "libm.so.6");
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("libm.so.6 has no cuInit"));
}

TEST(Driver, KnowsItsVersionAndFile) {
  const StandIn stand_in("driver = 12.8; [gpu]");
  EXPECT_EQ(stand_in.driver.version(), 12080);
  EXPECT_EQ(version_text(stand_in.driver.version()), "12.8");
  EXPECT_EQ(stand_in.driver.library(), RAILGAUGE_STAND_IN_CUDA);
  EXPECT_TRUE(stand_in.driver.calls().mem_get_handle_for_range);
}

TEST(Driver, TakesTheLibraryThatTheEnvironmentNames) {
  setenv("RAILGAUGE_LIBCUDA", RAILGAUGE_STAND_IN_CUDA_11, 1);
  EXPECT_EQ(Driver().library(), RAILGAUGE_STAND_IN_CUDA_11);
  setenv("RAILGAUGE_LIBCUDA", "/nowhere/else.so", 1);
  EXPECT_THROW(Driver(), Error);  // not the system's, where the named one is not to be had
  unsetenv("RAILGAUGE_LIBCUDA");
}

TEST(Driver, SaysWhyAnOptionalCallIsMissing) {
  const StandIn old("driver = 11.4; [gpu]", "", RAILGAUGE_STAND_IN_CUDA_11);
  EXPECT_FALSE(old.driver.calls().mem_get_handle_for_range);
  EXPECT_EQ(old.driver.calls().mem_get_handle_for_range.why_missing, "cuMemGetHandleForAddressRange: needs driver ≥ 11.7, this is 11.4");
  EXPECT_TRUE(old.driver.calls().flush_gpu_direct_rdma_writes);
  EXPECT_EQ(old.driver.device_count(), 1);
}

TEST(Driver, FindsEverythingInADriverWithoutTheSecondGetProcAddress) {
  const StandIn old("driver = 11.8; [gpu]", "", RAILGAUGE_STAND_IN_CUDA_11);
  EXPECT_TRUE(old.driver.calls().mem_get_handle_for_range);
}

TEST(Driver, ADriverTooOldForAMandatoryCallIsUnsupported) {
  const Error error = refusal("driver = 10.2; [gpu]", "");  // cuDevicePrimaryCtxRelease in its present form came with 11.0
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("cuDevicePrimaryCtxRelease: needs driver ≥ 11.0, this is 10.2"));
}

/// Meanings: nccl-facts.md section 7.
TEST(Driver, ExplainsWhatKeepsItFromStarting) {
  struct Case {
    int code;
    ErrorKind kind;
    const char* name;
    const char* meaning;
  };
  for (const Case& c : {Case{35, ErrorKind::cuda, "CUDA_ERROR_INSUFFICIENT_DRIVER", "too old"}, Case{100, ErrorKind::unsupported, "CUDA_ERROR_NO_DEVICE", "no GPU"},
                        Case{802, ErrorKind::cuda, "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"},
                        Case{803, ErrorKind::cuda, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "different versions"},
                        Case{999, ErrorKind::cuda, "CUDA_ERROR_UNKNOWN", "dmesg"}, Case{34, ErrorKind::cuda, "CUDA_ERROR_STUB_LIBRARY", "LD_LIBRARY_PATH"}}) {
    const Error error = refusal("driver = 12.4; [gpu]", "fail cuInit code " + std::to_string(c.code));
    EXPECT_EQ(error.kind(), c.kind) << c.code;
    EXPECT_EQ(error.code(), c.code);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cuInit of"), HasSubstr("(CUDA 12.4)"), HasSubstr(c.name), HasSubstr(c.meaning)));
  }
}

TEST(Result, AnUnknownNumberIsStillNamed) { EXPECT_EQ(describe_result(4711), "CUresult 4711"); }

TEST(Devices, AreDescribedAsTheSystemNamesThem) {
  const StandIn stand_in("driver = 13.0; [gpu]; [gpu]; pci = 0001:C4:00.0; compute = 8.6; memory = 256M; name = A10; attribute 18 = 1; attribute 118 = 200; attribute 124 = 0");
  const std::vector<Device> all = devices(stand_in.driver);
  ASSERT_EQ(all.size(), 2U);
  const Device& second = all[1];
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.name, "railgauge stand-in GPU A10");
  EXPECT_TRUE(second.simulated);
  EXPECT_EQ(second.pci_address, "0001:c4:00.0");
  EXPECT_EQ(second.uuid, "GPU-73696d75-6c61-7465-6400-000000000001");  // "simulated" in ASCII, then the number
  EXPECT_EQ(second.compute_major, 8);
  EXPECT_EQ(second.compute_minor, 6);
  EXPECT_EQ(second.multiprocessors, 132);
  EXPECT_EQ(second.total_bytes, 268'435'456U);
  EXPECT_TRUE(second.integrated);
  EXPECT_EQ(second.writes_ordering.value, 200);
  EXPECT_EQ(second.dma_buf.value, false);
  EXPECT_EQ(all[0].dma_buf.value, true);
  EXPECT_FALSE(all[0].integrated);
}

TEST(Devices, WhatAnOlderDriverDoesNotKnowIsMissingWithItsReason) {
  const StandIn stand_in("driver = 11.4; [gpu]; attribute 146 = unknown; attribute 124 = unknown");
  const Device device = stand_in.device();
  EXPECT_FALSE(device.dma_buf);
  EXPECT_EQ(device.dma_buf.reason, "cuDeviceGetAttribute 124: CUDA_ERROR_INVALID_VALUE; the driver is 11.4");
  EXPECT_FALSE(device.host_dma_buf);
  EXPECT_EQ(device.gpu_direct_rdma.value, true);
}

TEST(FindDevice, ByNumberAddressAndUuid) {
  const StandIn stand_in("[gpu]; [gpu]; [gpu]");
  EXPECT_EQ(find_device(stand_in.driver, "2").pci_address, "0000:3a:00.0");
  EXPECT_EQ(find_device(stand_in.driver, "2A:00.0").ordinal, 1);
  EXPECT_EQ(find_device(stand_in.driver, "00000000:1A:00.0").ordinal, 0);
  EXPECT_EQ(find_device(stand_in.driver, "GPU-73696d75-6c61-7465-6400-000000000002").ordinal, 2);
  try {
    find_device(stand_in.driver, "7");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no CUDA device 7"), HasSubstr("0 (0000:1a:00.0), 1 (0000:2a:00.0), 2 (0000:3a:00.0)")));
  }
}

}  // namespace
}  // namespace railgauge::cuda
