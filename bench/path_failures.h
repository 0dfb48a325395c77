#pragma once
#include <optional>
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::bench {

/// Remembers which paths have failed, so that a check with many measurements does not wait for the same timeout in each. Where
/// messages of several packets failed, those of one are still tried: a path whose MTU is too small lets them pass.
/// One thread.
class PathFailures {
 public:
  /// To be told of each measurement that was tried.
  void note(const results::Measurement& tried);
  /// Why `plan` is not worth a try ("not tried: … failed: …"); nothing where it is.
  std::optional<std::string> why_not(const plan::Plan& plan) const;

 private:
  struct Broken {
    plan::Transport transport;
    std::optional<plan::Direction> direction;   ///< nothing: none can work
    std::uint64_t from_bytes;                   ///< smaller messages are worth a try
    std::string cause;
  };
  std::vector<Broken> broken_;
};

}  // namespace railgauge::bench
