#include "loops/latency.h"

#include <array>

#include "loops/poll.h"

namespace railgauge::loops {

using transport::Completion;

bool SendSide::reap() noexcept {
  std::array<Completion, 16> done;
  return took(queue_.poll(done), done);
}

bool SendSide::took(int n, std::span<Completion> done) noexcept {
  if (n < 0) {
    fault_ = {.what = Failure::poll, .code = -n, .receiving = false, .completion = {}};
    return false;
  }
  for (int i = 0; i < n; ++i) {
    const Completion& c = done[static_cast<std::size_t>(i)];
    if (c.status != transport::kSuccess) {
      Completion failed = c;
      fault_ = fault_of(queue_, failed, false, done);
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
