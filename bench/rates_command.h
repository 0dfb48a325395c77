#pragma once
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace railgauge::bench {

/// `railgauge rates` as typed; empty where an option was not given.
struct RatesOptions {
  std::string link;             ///< "ndr", "100g", or a number of Gbit/s; empty: the overview
  std::optional<int> width;     ///< lanes
  std::optional<int> mtu;       ///< path MTU (RDMA) or interface MTU (TCP), bytes
  std::string transport;        ///< "ib", "roce1", "roce2", "tcp"
  std::optional<int> ip;        ///< 4 or 6
  bool vlan = false;
  bool grh = false;
  std::string operation;
  std::string size;
  std::string pcie;             ///< "gen4x16"
  std::optional<int> max_payload;
  std::string format = "text";
};

/// What `railgauge rates` prints for `options`: the overview without a link, else every term and the smallest. Ends in a
/// newline. Pure. Throws Error{usage} for words, numbers or combinations that no link has.
std::string rates_text(const RatesOptions& options);

/// Prints rates_text on stdout. Returns the exit code.
int run_rates(const RatesOptions& options);

/// Adds `railgauge rates`.
void add_rates_command(CLI::App& app, int& exit_code);

}  // namespace railgauge::bench
