#include "cuda/handles.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "cuda/result.h"

namespace railgauge::cuda {
namespace {

/// For destructors. At the end of a process the driver may be gone before us.
void log_refusal(abi::Result result, const char* call, const Device& device) noexcept {
  constexpr abi::Result kDeinitialized = 4;
  if (result == abi::kSuccess || result == kDeinitialized) return;
  log_warning("{} on CUDA device {}: {}", call, device.ordinal, name_of_result(result));
}

std::string on(const Context& context, const char* call) { return fmt::format("{} on {}", call, describe(context.device())); }

}  // namespace

Context::Context(const Driver& driver, const Device& device) : driver_(driver), device_(device) {
  check(driver.calls().primary_context_retain(&handle_, device.handle), on(*this, "cuDevicePrimaryCtxRetain"));
  const abi::Result result = driver.calls().context_set_current(handle_);
  if (result == abi::kSuccess) return;
  log_refusal(driver.calls().primary_context_release(device.handle), "cuDevicePrimaryCtxRelease", device);
  throw cuda_error(result, on(*this, "cuCtxSetCurrent"));
}

Context::~Context() { log_refusal(driver_.calls().primary_context_release(device_.handle), "cuDevicePrimaryCtxRelease", device_); }

void Context::make_current() const { check(driver_.calls().context_set_current(handle_), on(*this, "cuCtxSetCurrent")); }

Stream::Stream(const Context& context) : context_(context) {
  check(context.driver().calls().stream_create(&handle_, abi::kStreamNonBlocking), on(context, "cuStreamCreate"));
}

Stream::~Stream() { log_refusal(context_.driver().calls().stream_destroy(handle_), "cuStreamDestroy", context_.device()); }

void Stream::wait(Deadline deadline, const std::string& what) const {
  for (;;) {
    const abi::Result result = context_.driver().calls().stream_query(handle_);
    if (result == abi::kSuccess) return;
    if (result != abi::kNotReady) throw cuda_error(result, fmt::format("{} on {}", what, describe(context_.device())));
    if (deadline.passed())
      throw Error(ErrorKind::timeout, fmt::format("{} on {} did not end in time: see `nvidia-smi` and `dmesg` (Xid)", what, describe(context_.device())));
  }
}

Event::Event(const Context& context) : context_(context) {
  check(context.driver().calls().event_create(&handle_, abi::kEventDefault), on(context, "cuEventCreate"));
}

Event::~Event() { log_refusal(context_.driver().calls().event_destroy(handle_), "cuEventDestroy", context_.device()); }

void Event::record(const Stream& stream) const { check(context_.driver().calls().event_record(handle_, stream.get()), on(context_, "cuEventRecord")); }

bool Event::done() const {
  const abi::Result result = context_.driver().calls().event_query(handle_);
  if (result != abi::kNotReady) check(result, on(context_, "cuEventQuery"));
  return result == abi::kSuccess;
}

std::chrono::nanoseconds Event::since(const Event& earlier) const {
  float milliseconds = 0;
  check(context_.driver().calls().event_elapsed_time(&milliseconds, earlier.handle_, handle_), on(context_, "cuEventElapsedTime"));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
}

Module::Module(const Context& context, std::span<const std::byte> image) : context_(context) {
  check(context.driver().calls().module_load_data(&handle_, image.data()), on(context, "cuModuleLoadData"));
}

Module::~Module() { log_refusal(context_.driver().calls().module_unload(handle_), "cuModuleUnload", context_.device()); }

abi::FunctionHandle Module::function(const char* name) const {
  abi::FunctionHandle found = nullptr;
  check(context_.driver().calls().module_get_function(&found, handle_, name), on(context_, fmt::format("cuModuleGetFunction {}", name).c_str()));
  return found;
}

DeviceMemory::DeviceMemory(const Context& context, std::uint64_t bytes) : context_(context), bytes_(bytes) {
  const abi::Result result = context.driver().calls().mem_alloc(&address_, bytes);
  if (result == abi::kSuccess) return;
  const Error refused = cuda_error(result, fmt::format("cuMemAlloc of {} on {}", format_size(bytes), describe(context.device())));
  throw Error(refused.kind(), refused.what(), result == abi::kOutOfMemory ? ENOMEM : refused.code());
}

DeviceMemory::~DeviceMemory() { log_refusal(context_.driver().calls().mem_free(address_), "cuMemFree", context_.device()); }

PinnedMemory::PinnedMemory(const Context& context, std::uint64_t bytes) : context_(context), bytes_(bytes) {
  void* data = nullptr;
  check(context.driver().calls().mem_host_alloc(&data, bytes, 0), fmt::format("cuMemHostAlloc of {} for {}", format_size(bytes), describe(context.device())));
  data_ = static_cast<std::byte*>(data);
}

PinnedMemory::~PinnedMemory() { log_refusal(context_.driver().calls().mem_free_host(data_), "cuMemFreeHost", context_.device()); }

}  // namespace railgauge::cuda
