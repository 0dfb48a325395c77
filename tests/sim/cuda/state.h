/// What the stand-in driver knows in this process, and the first lines of every call.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "description.h"

namespace railgauge::simcuda {

// The driver's types by their binary form (cuda.h): this library needs no toolkit and shares no header with what it tests.
using Result = int;
using Pointer = unsigned long long;

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kNotSupported = 801,
};

/// A queue of work. All of it is done when it is given; it counts as done from `due_ns` on.
struct Stream {
  struct Gpu* gpu = nullptr;
  std::uint64_t due_ns = 0;
};

struct Event {
  bool recorded = false;
  std::uint64_t time_ns = 0;
};

/// A GPU; the handle of its primary context.
struct Gpu {
  GpuDescription described;
  int index = 0;
  int fd = -1;                 ///< its memory
  char* shown = nullptr;       ///< where the program's device addresses are: no right to touch them
  char* bytes = nullptr;       ///< the same memory for the stand-in itself
  std::map<std::uint64_t, std::uint64_t> allocations;  ///< offset → bytes
  int context_users = 0;
  Result broken = kSuccess;    ///< an error that every later call on the context gives as well
  Stream default_stream;
};

struct State {
  std::mutex mutex;
  bool initialized = false;
  Description description;
  Faults faults;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::vector<std::unique_ptr<Gpu>> retired;   ///< of earlier descriptions: a NIC may still have their memory mapped
  std::map<std::string, std::uint64_t> calls;  ///< how often each was made
  std::uint64_t operations = 0, copies = 0, launches = 0;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::map<void*, std::size_t> pinned;
};

/// Made on first use and never destroyed: threads may be in a call while the process exits.
State& state();

/// Reads description and faults again, where no context is held, so that a test may describe another machine.
void reload(State& s);

/// Holds the lock, counts the call and looks up what the script and the context's state say of it.
class Call {
 public:
  enum class Needs { nothing, driver, context };
  Call(const char* name, Needs needs);
  /// What to return at once; 0: go on.
  Result refused() const noexcept { return refused_; }
  State& state() noexcept { return state_; }
  Gpu& gpu() noexcept { return *gpu_; }  ///< of the current context

 private:
  State& state_;
  std::lock_guard<std::mutex> guard_;
  Gpu* gpu_ = nullptr;
  Result refused_ = kSuccess;
};

/// The calling thread's context; null: none.
Gpu*& current_context();

std::uint64_t now_ns();

/// Counts one operation of that many bytes into the stream's time; `stream` null: the context's default one.
void take_time(State& s, Gpu& gpu, Stream* stream, std::uint64_t bytes);

}  // namespace railgauge::simcuda

#define RAILGAUGE_SIM_EXPORT extern "C" __attribute__((visibility("default")))
