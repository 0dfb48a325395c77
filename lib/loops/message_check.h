#pragma once
#include <cstdint>

namespace railgauge::loops {

/// Looks at the data of each message that has arrived, on the loop's own thread, before its memory may be written again.
/// Implementations neither throw nor allocate nor lock; what they found is asked of them after the loop.
class MessageCheck {
 public:
  virtual ~MessageCheck() = default;
  /// A message has arrived whole in `slot` of the lane's ring: of its receives, or of its sends where the initiator itself
  /// receives (reads) and where both go round alike (ping-pong).
  virtual void check(std::uint32_t lane, std::uint32_t slot) noexcept = 0;
};

}  // namespace railgauge::loops
