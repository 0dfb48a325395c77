#pragma once
#include <string>

#include "base/clock.h"
#include "base/fd.h"

namespace railgauge::bench {

/// At most one measurement at a time per NIC and host: holds an advisory lock on /tmp/railgauge-<nic>.lock while alive
/// and writes who holds it. The lock goes with the process, however it ends.
class NicLock {
 public:
  /// `holder` is what the next one reads: "railgauge check, pid 4711"; `until` about when it ends. Throws Error{peer}
  /// "busy with …, for about 7 s more" if another process measures on this NIC, Error{system} if the file cannot be had or
  /// is no plain one.
  NicLock(const std::string& nic, const std::string& holder, Clock::time_point until);

 private:
  UniqueFd fd_;
};

}  // namespace railgauge::bench
