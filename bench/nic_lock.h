#pragma once
#include <string>

#include "base/clock.h"
#include "base/fd.h"

namespace railgauge::bench {

/// A NIC as one host knows it.
struct Nic {
  std::string name;                     ///< "mlx5_0", "eth0": for messages
  std::string key;                      ///< the same for all names of one NIC: its PCI address, else a name
};

/// At most one measurement at a time per NIC and host: holds an advisory lock on /tmp/railgauge-<key>.lock while alive
/// and writes who holds it. The lock goes with the process, however it ends.
class NicLock {
 public:
  /// `holder` is what the next one reads: "railgauge check, pid 4711"; `until` about when it ends. Throws Error{peer}
  /// "busy with …, for about 7 s more" if another process measures on this NIC, Error{system} if the file cannot be had or
  /// is no plain one.
  NicLock(const Nic& nic, const std::string& holder, Clock::time_point until);

 private:
  UniqueFd fd_;
};

}  // namespace railgauge::bench
