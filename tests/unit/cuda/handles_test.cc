#include "cuda/handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "base/error.h"
#include "unit/cuda/stand_in.h"

namespace railgauge::cuda {
namespace {

using test::StandIn;
using testing::HasSubstr;
using namespace std::chrono_literals;

template <typename Action>
Error refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::data, "was not refused");
}

TEST(Context, IsReleasedAsOftenAsRetained) {
  const StandIn stand_in;
  {
    const Context first(stand_in.driver, stand_in.device());
    const Context second(stand_in.driver, stand_in.device());
  }
  EXPECT_EQ(stand_in.calls("cuDevicePrimaryCtxRetain"), 2U);
  EXPECT_EQ(stand_in.calls("cuDevicePrimaryCtxRelease"), 2U);
}

TEST(Context, AnotherThreadNeedsItMadeCurrent) {
  const StandIn stand_in;
  const Context context(stand_in.driver, stand_in.device());
  std::thread([&] {
    EXPECT_EQ(refusal([&] { const DeviceMemory memory(context, 4096); }).code(), 201);  // CUDA_ERROR_INVALID_CONTEXT
    context.make_current();
    const DeviceMemory memory(context, 4096);
    EXPECT_NE(memory.address(), 0U);
  }).join();
}

TEST(DeviceMemory, LackOfItIsNamedAsForHostMemory) {
  const StandIn stand_in("[gpu]; memory = 4M");
  const Context context(stand_in.driver, stand_in.device());
  const DeviceMemory first(context, 3U << 20);
  const Error error = refusal([&] { const DeviceMemory second(context, 2U << 20); });
  EXPECT_EQ(error.kind(), ErrorKind::cuda);
  EXPECT_EQ(error.code(), ENOMEM);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("cuMemAlloc of 2 MiB on CUDA device 0"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
}

TEST(DeviceMemory, FailsWhereTheScriptSays) {
  const StandIn stand_in("", "fail cuMemAlloc code 2 at 2");
  const Context context(stand_in.driver, stand_in.device());
  const DeviceMemory first(context, 4096);
  EXPECT_EQ(refusal([&] { const DeviceMemory second(context, 4096); }).code(), ENOMEM);
  const DeviceMemory third(context, 4096);
}

/// What makes the stand-in worth having: the mistake that a GPU would punish is punished here as well.
TEST(DeviceMemoryDeathTest, TheCpuMustNotTouchIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const StandIn stand_in;
  const Context context(stand_in.driver, stand_in.device());
  const DeviceMemory memory(context, 4096);
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(memory.address()) = 1, "");
}

TEST(Stream, WaitsNoLongerThanItsDeadline) {
  const StandIn stand_in("", "hang 0.2 at 1");
  const Context context(stand_in.driver, stand_in.device());
  const DeviceMemory memory(context, 4096);
  const Stream stream(context);
  ASSERT_EQ(stand_in.driver.calls().set_bytes(memory.address(), 7, 4096, stream.get()), abi::kSuccess);
  const Error error = refusal([&] { stream.wait(Deadline::after(1ms), "clearing"); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("clearing on CUDA device 0"));
  stream.wait(Deadline::after(20s), "clearing");
}

/// 3 MiB at 1 GB/s take 3.1 ms of the stand-in's clock, whatever the machine does meanwhile.
TEST(Event, MeasuresWhatTheStreamDidBetween) {
  const StandIn stand_in("[gpu]; copy_gbyte_per_s = 1");
  const Context context(stand_in.driver, stand_in.device());
  const DeviceMemory memory(context, 3U << 20);
  const Stream stream(context);
  const Event begin(context);
  const Event end(context);
  begin.record(stream);
  ASSERT_EQ(stand_in.driver.calls().set_bytes(memory.address(), 7, 3U << 20, stream.get()), abi::kSuccess);
  end.record(stream);
  stream.wait(Deadline::after(20s), "clearing");
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.since(begin), 3'145'000ns);
}

TEST(Module, ARefusedImageSaysWhy) {
  const StandIn stand_in("", "fail cuModuleLoadData code 209");
  const Context context(stand_in.driver, stand_in.device());
  const Error error = refusal([&] { const Module module(context, test::stand_in_image()); });
  EXPECT_EQ(error.code(), abi::kNoBinaryForGpu);
  EXPECT_THAT(error.what(), HasSubstr("no code for this GPU's architecture"));
}

}  // namespace
}  // namespace railgauge::cuda
