#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "host/root.h"

namespace railgauge::host {

/// The `rate` file taken apart.
struct PortRate {
  double gbit_per_s = 0;              ///< the printed number, fraction kept
  std::optional<int> width;           ///< lanes
  std::optional<std::string> speed;   ///< "NDR"; an InfiniBand word even on Ethernet
};

/// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)", "10 Gb/sec"; nothing for other text.
std::optional<PortRate> parse_rate(std::string_view text);

/// A "number: word" file whose number decides. `warning` is set when the word is not the number's.
struct NumberedWord {
  Fact<std::string> word;
  std::optional<std::string> warning;
};
/// `state`: 0 NOP, 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER.
NumberedWord parse_port_state(std::string_view text);
/// `phys_state`: 1 Sleep, 2 Polling, 3 Disabled, 4 PortConfigurationTraining, 5 LinkUp, 6 LinkErrorRecovery, 7 Phy Test.
NumberedWord parse_physical_state(std::string_view text);

/// Reads P = `port_directory` ("/sys/class/infiniband/mlx5_0/ports/1"). What contradicts itself is added to `warnings`
/// with `label` ("mlx5_0 port 1") in front. At most 1024 GID slots; the P_Key table up to eight empty slots in a row.
RdmaPort read_rdma_port(const Root& root, const std::string& port_directory, const std::string& label,
                        std::vector<std::string>& warnings);

}  // namespace railgauge::host
