#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/connection_options.h"
#include "bench/local_host.h"
#include "results/record.h"

namespace railgauge::bench {

/// One measurement to be made.
struct Task {
  plan::Plan plan;
  std::string adapted;                          ///< what the tool lowered because of the hosts, and why; empty: nothing
};

/// What is to be measured, decided when both hosts' facts are known.
struct Work {
  std::vector<Task> tasks;
  std::vector<results::Measurement> skipped;    ///< what cannot be measured here, with its reason
};
using WorkMaker = std::function<Work(const results::Node& client, const results::Node& server)>;

/// What stands in the record for a plan that is not carried out.
results::Measurement skipped(const plan::Plan& plan, const std::string& reason);

/// The main path of check, rdma and tcp: connects (or starts a loopback server), measures, judges, writes the record and
/// prints the report or the record. Whatever happens after the options are checked ends in a record. Returns the exit code.
/// Throws Error{usage} only for options that forbid a record (an --output that exists).
int run_client(const std::string& subcommand, const ClientOptions& options, const WorkMaker& make_work);

}  // namespace railgauge::bench
