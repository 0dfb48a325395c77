#include "loops/poll.h"

namespace railgauge::loops {
namespace {

/// The first failed completion of one queue that is no flush, among what can be had now.
bool find_cause(transport::WorkQueue& queue, bool receives, std::span<transport::Completion> scratch, Fault& fault) noexcept {
  // A flush of a full queue is at most its depth long; polling on until it is empty would wait on a sender that still runs.
  constexpr int kPolls = 256;
  for (int i = 0; i < kPolls; ++i) {
    int n = receives ? queue.poll_recv(scratch) : queue.poll(scratch);
    for (int k = 0; k < n; ++k) {
      const transport::Completion& c = scratch[static_cast<std::size_t>(k)];
      if (c.status == transport::kSuccess || c.status == transport::kFlushed) continue;
      fault = Fault{.what = Failure::completion, .code = 0, .receiving = receives, .completion = c};
      return true;
    }
    if (n < 0) return false;
  }
  return false;
}

}  // namespace

Fault fault_of(transport::WorkQueue& queue, const transport::Completion& failed, bool receiving,
               std::span<transport::Completion> scratch) noexcept {
  Fault fault{.what = Failure::completion, .code = 0, .receiving = receiving, .completion = failed};
  if (failed.status != transport::kFlushed) return fault;
  if (!find_cause(queue, false, scratch, fault)) find_cause(queue, true, scratch, fault);
  return fault;
}

int poll_or_sleep(transport::WorkQueue& queue, bool receives, std::span<transport::Completion> out) noexcept {
  if (int rc = queue.arm(); rc < 0) return rc;
  int n = receives ? queue.poll_recv(out) : queue.poll(out);
  if (n != 0) return n;
  int rc = queue.wait(Deadline::after(kLongestSleep));
  return rc < 0 ? rc : 0;
}

}  // namespace railgauge::loops
