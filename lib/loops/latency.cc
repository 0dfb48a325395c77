#include "loops/latency.h"

#include "loops/poll.h"

namespace railgauge::loops {

using transport::Completion;

bool SendSide::reap() noexcept {
  return took(queue_.poll(done_), done_);
}

bool SendSide::took(int n, std::span<const Completion> done) noexcept {
  if (n < 0) {
    fault_ = {.what = Failure::poll, .code = -n, .receiving = false, .completion = {}};
    return false;
  }
  std::span<const Completion> batch = done.first(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].status != transport::kSuccess) {
      fault_ = fault_of(queue_, batch.subspan(i), false);
      return false;
    }
    --in_flight_;
  }
  return true;
}

bool SendSide::refused(int error) noexcept {
  fault_ = {.what = Failure::post, .code = error, .receiving = false, .completion = Completion{.lane = 0, .slot = slot_}};
  return false;
}

}  // namespace railgauge::loops
