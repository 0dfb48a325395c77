#pragma once
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace CLI {
class App;
}

namespace railgauge::bench {

/// The options of one single measurement as typed, before they become plans. One object per subcommand; strings are
/// parsed strictly (base/units.h) after all options are known, so that their order never matters.
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
  int threads = 0;                      ///< 0: one
  int streams = 1;
  int qps = 1;
  int depth = 0;                        ///< 0: the metric's default
  int post_batch = 1;
  int signal_every = 0;
  int inline_bytes = -1;
  int mtu = 0;
  int service_level = 0;
  int traffic_class = 0;
  int retry_count = 7;
  int timeout_code = 14;
  std::string rate_limit;
  bool events = false;
  bool no_relaxed_ordering = false;
  std::string connect = "socket";
  int max_reads = 0;
  bool verify = false;
  bool under_load = false;
  double load_rate = 0;
  std::string working_set;
  bool hugepages = false;
  std::string preset;
  std::string device, peer_device;
  int port_number = 0, peer_port_number = 0;
  int gid_index = -1, peer_gid_index = -1;
  std::string cpus, peer_cpus;
  int numa = -1, peer_numa = -1;
  std::string interface, peer_interface;
  std::string congestion;
  int mss = 0;
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
