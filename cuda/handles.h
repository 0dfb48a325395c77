#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "cuda/device.h"
#include "cuda/driver.h"

/// The driver's objects, owned. Each names its Driver and must not outlive it; objects of a context must not outlive the
/// context. Destructors log and go on. One thread at a time, and the context must be current on that thread.
namespace railgauge::cuda {

/// The device's primary context, which the CUDA runtime and NCCL in this process use as well.
class Context {
 public:
  /// Makes it current on the calling thread. Throws Error{cuda}.
  Context(const Driver& driver, const Device& device);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// On the calling thread; every thread that works with the context's objects needs it once. Throws Error{cuda}.
  void make_current() const;
  const Driver& driver() const noexcept { return driver_; }
  const Device& device() const noexcept { return device_; }

 private:
  const Driver& driver_;
  const Device device_;
  abi::ContextHandle handle_ = nullptr;
};

/// Work in order, beside the default stream.
class Stream {
 public:
  /// Throws Error{cuda}.
  explicit Stream(const Context& context);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  abi::StreamHandle get() const noexcept { return handle_; }
  /// Until all work is done; looks again and again, because the driver's own wait has no deadline. Throws Error{cuda} with the
  /// error of the work, Error{timeout} naming `what` ("fill of 64 MiB").
  void wait(Deadline deadline, const std::string& what) const;

 private:
  const Context& context_;
  abi::StreamHandle handle_ = nullptr;
};

/// A point in a stream, with its time.
class Event {
 public:
  /// Throws Error{cuda}.
  explicit Event(const Context& context);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void record(const Stream& stream) const;     ///< throws Error{cuda}
  bool done() const;                           ///< throws Error{cuda} with the error of the work before it
  /// From `earlier`, which both must have been reached; half a microsecond is the driver's resolution (cuda.h,
  /// cuEventElapsedTime). Throws Error{cuda}.
  std::chrono::nanoseconds since(const Event& earlier) const;

 private:
  const Context& context_;
  abi::EventHandle handle_ = nullptr;
};

/// Code on the device.
class Module {
 public:
  /// `image`: a fatbin, cubin or PTX text that ends in a zero byte. Throws Error{cuda}; the code says whether the GPU or the
  /// driver is too old for it.
  Module(const Context& context, std::span<const std::byte> image);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  /// Valid as long as the module. Throws Error{cuda}.
  abi::FunctionHandle function(const char* name) const;

 private:
  const Context& context_;
  abi::ModuleHandle handle_ = nullptr;
};

/// Plain device memory, not cleared. The CPU must not touch it.
class DeviceMemory {
 public:
  /// Throws Error{cuda}; its code is ENOMEM where the GPU's memory does not suffice, as for host memory.
  DeviceMemory(const Context& context, std::uint64_t bytes);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  abi::DevicePointer address() const noexcept { return address_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const Context& context_;
  std::uint64_t bytes_;
  abi::DevicePointer address_ = 0;
};

/// Host memory that a GPU copies from and to at full speed, and without the driver's own staging, which would block.
class PinnedMemory {
 public:
  /// Throws Error{cuda}.
  PinnedMemory(const Context& context, std::uint64_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  std::span<std::byte> span() const noexcept { return {data_, bytes_}; }

 private:
  const Context& context_;
  std::uint64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace railgauge::cuda
