#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "host/root.h"

namespace railgauge::host {

/// Whose counters are read.
struct CounterTarget {
  std::optional<std::string> device;    ///< RDMA device
  int port = 1;
  std::vector<std::string> netdevs;
};

/// Reads the same counters before and after a measured window. Not during it: a read may be a firmware command.
class CounterReader {
 public:
  CounterReader(const Root& root, const CounterTarget& target);
  /// All of them now: counters and hw_counters of the device and port, statistics and carrier_changes of the interfaces and of
  /// the slaves of those that are bonds, correctable PCIe errors of the device; on the live root those ethtool statistics that
  /// `meaning_of` knows.
  std::vector<CounterReading> read() const;
  /// How long to wait after the last event of interest before read() shows it: a little more than hw_counters/lifespan, for
  /// which the kernel answers from its cache; zero where there is no such file.
  std::chrono::milliseconds wait_before_read() const noexcept { return wait_; }

 private:
  enum class Form { file_per_value, name_value_lines, one_file, ethtool };
  struct Source {
    std::string name;
    std::string path;
    Form form = Form::file_per_value;
  };
  void add_if_present(Source source);
  CounterReading read_source(const Source& source) const;
  Root root_;
  std::vector<Source> sources_;
  std::chrono::milliseconds wait_{0};
};

/// Delta of every counter that both readings have, in their order. Classic counters (…/counters) at their maximum are
/// "saturated", never 0; hw_counters wrap at 2^32; one that fell otherwise was cleared and has no delta.
std::vector<CounterDelta> counter_deltas(const std::vector<CounterReading>& before, const std::vector<CounterReading>& after);

/// Bits of a classic counter that stops at its maximum; nothing for the 64-bit ones (InfiniBand Architecture 16.1.3.5
/// PortCounters).
std::optional<int> saturating_bits(std::string_view name) noexcept;

enum class CounterSeverity { info, warn, soft_fail, hard_fail };

/// What a movement of a counter during a clean run means.
struct CounterMeaning {
  CounterSeverity severity = CounterSeverity::info;
  std::string sentence;
  std::string remedy;   ///< what to do about it; of every hard_fail and physical error, else it may be empty
};

/// Nothing for counters that say nothing by moving (bytes, packets).
std::optional<CounterMeaning> meaning_of(std::string_view name);

const char* name_of(CounterSeverity) noexcept;

}  // namespace railgauge::host
