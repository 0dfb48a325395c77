#include "loops/poll.h"

#include <array>
#include <ctime>

namespace railgauge::loops {
namespace {

using transport::Completion;

/// The first failed completion of a batch that is no flush.
bool find_cause(std::span<const Completion> batch, bool receiving, Fault& fault) noexcept {
  for (const Completion& c : batch) {
    if (c.status == transport::kSuccess || c.status == transport::kFlushed) continue;
    fault = Fault{.what = Failure::completion, .code = 0, .receiving = receiving, .completion = c};
    return true;
  }
  return false;
}

/// The same among what one completion queue has to give now.
bool poll_for_cause(transport::WorkQueue& queue, bool receiving, Fault& fault) noexcept {
  // Some polls find nothing while another lane's failure is still on its way; not for ever, since a sender may still run.
  constexpr int kPolls = 256;
  std::array<Completion, 16> scratch;
  for (int i = 0; i < kPolls; ++i) {
    int n = receiving ? queue.poll_recv(scratch) : queue.poll(scratch);
    if (n < 0) return false;
    if (find_cause(std::span(scratch).first(static_cast<std::size_t>(n)), receiving, fault)) return true;
  }
  return false;
}

}  // namespace

// Not sched_yield: since Linux 6.18 a thread that yields beside other load waits for milliseconds (measured on 2 CPUs with two
// busy threads beside: 40 round trips in 600 ms, against 2000 with this). A sleep keeps its claim to the CPU.
void Courtesy::give_way() noexcept {
  const std::timespec nap{.tv_sec = 0, .tv_nsec = 20'000};
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
}

Fault fault_of(transport::WorkQueue& queue, std::span<const Completion> batch, bool receiving) noexcept {
  Fault fault{.what = Failure::completion, .code = 0, .receiving = receiving, .completion = batch.front()};
  if (batch.front().status != transport::kFlushed || find_cause(batch, receiving, fault)) return fault;
  if (!poll_for_cause(queue, false, fault)) poll_for_cause(queue, true, fault);
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
