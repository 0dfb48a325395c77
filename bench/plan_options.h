#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace CLI {
class App;
}

namespace railgauge::bench {

/// The options of one single measurement as typed, before they become plans. One object per subcommand; strings are
/// parsed strictly (base/units.h) after all options are known, so that their order never matters. An empty optional or
/// string was not typed: the metric, the device or the kernel decides then.
struct PlanOptions {
  std::string op = "write";
  std::string metric = "bandwidth";
  std::string size;                     ///< one size, a sweep or a list; empty: the metric's default
  std::string duration;
  std::string iterations;
  std::string warm_up;
  std::string interval;
  std::string direction;
  bool bidirectional = false;
  std::optional<int> threads;           ///< empty: RDMA one, TCP one per stream
  int streams = 1;
  int qps = 1;
  std::optional<int> depth;
  int post_batch = 1;
  std::optional<int> signal_every;
  std::optional<int> inline_bytes;
  std::optional<int> mtu_bytes;
  int service_level = 0;
  int traffic_class = 0;
  int retry_count = 7;
  int timeout_code = 14;
  std::string rate_limit;
  bool events = false;
  bool relaxed_ordering = true;
  std::string connect = "socket";
  std::optional<int> max_reads;
  bool verify = false;
  bool under_load = false;
  std::optional<double> load_rate_per_s;
  std::string working_set;
  bool hugepages = false;
  std::string preset;
  std::string device, peer_device;
  std::optional<int> port_number, peer_port_number;
  std::optional<int> gid_index, peer_gid_index;
  std::string cpus, peer_cpus;
  std::optional<int> numa, peer_numa;
  std::string interface, peer_interface;
  std::string congestion;
  std::optional<int> mss_bytes;
  std::string window;
  std::string pacing;
  bool zerocopy = false;
  std::string wait;
};

/// Adds the options of `railgauge rdma` / `railgauge tcp`.
void add_rdma_plan_options(CLI::App& command, PlanOptions& options);
void add_tcp_plan_options(CLI::App& command, PlanOptions& options);

/// One validated plan per size. Throws Error{usage} naming option, value found and value wanted.
std::vector<plan::Plan> rdma_plans(const PlanOptions& options);
std::vector<plan::Plan> tcp_plans(const PlanOptions& options);

}  // namespace railgauge::bench
