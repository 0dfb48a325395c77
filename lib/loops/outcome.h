#pragma once
#include <atomic>
#include <cstdint>

#include "transport/work_request.h"

namespace railgauge::loops {

/// Why a loop could not go on.
enum class Failure {
  none,
  post,        ///< the queue refused work requests; `code` is the errno
  post_recv,   ///< the queue refused receives; `code` is the errno
  poll,        ///< polling failed; `code` is the errno
  completion,  ///< a request failed; `completion` says which and how
  stalled,     ///< no completion for longer than the stall limit
  drain,       ///< what was in flight at the end did not complete within the drain limit
  length,      ///< a message arrived that is not as long as it was sent; `completion` says how long, `message` which
};

/// The first thing that went wrong; flush completions only when no other was found.
struct Fault {
  Failure what = Failure::none;
  int code = 0;
  bool receiving = false;               ///< it concerned a receive
  transport::Completion completion;     ///< Failure::completion and length; else lane and slot where known (drain: the first lane that waits)
  std::uint64_t message = 0;            ///< Failure::length: of its lane, from 1
  explicit operator bool() const noexcept { return what != Failure::none; }
};

/// How a loop came to its end.
enum class Ending {
  finished,    ///< as planned
  stopped,     ///< asked to: what there is, is kept
  failed,      ///< see the fault
};

/// The flags that a loop looks at between batches; they outlive it. Written by other threads, read relaxed.
struct Flags {
  const std::atomic<bool>& stop;        ///< end now, keep what there is
  const std::atomic<bool>& abort;       ///< the device is broken: end now and wait for nothing
  const std::atomic<bool>& peer_done;   ///< the other side has nothing more to send
  bool stopping() const noexcept {
    return stop.load(std::memory_order_relaxed) || abort.load(std::memory_order_relaxed);
  }
  bool aborting() const noexcept { return abort.load(std::memory_order_relaxed); }
  bool peer_ended() const noexcept { return peer_done.load(std::memory_order_acquire); }
};

/// Where a loop leaves word of its progress for the live line, at interval ends. May be null pointers.
struct Live {
  std::atomic<std::uint64_t>* bytes = nullptr;
  std::atomic<std::uint64_t>* messages = nullptr;
};

}  // namespace railgauge::loops
