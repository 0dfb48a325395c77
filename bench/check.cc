#include "bench/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "bench/adapt_plan.h"
#include "bench/check_plans.h"
#include "bench/client_run.h"

namespace railgauge::bench {
namespace {

struct CheckOptions {
  ClientOptions client;
  bool quick = false;
  bool thorough = false;
  std::string device, peer_device;
  std::optional<int> gid_index, peer_gid_index;
  std::optional<int> mtu_bytes;
  std::optional<int> streams;
  bool no_rdma = false;
  bool no_tcp = false;
  bool no_verify = false;
};

Effort effort_of(const CheckOptions& options) {
  return options.quick ? Effort::quick : options.thorough ? Effort::thorough : Effort::standard;
}

/// Several streams: as many as the smaller host has CPUs for, at least 2, at most 8. More threads than cores lowered the
/// rate (tcp-facts.md section 2, finding 6).
int streams_of(const CheckOptions& options, const results::Node& client, const results::Node& server) {
  if (options.streams) return *options.streams;
  int cpus = std::min(client.facts.online_cpus.value.value_or(4), server.facts.online_cpus.value.value_or(4));
  return std::clamp(cpus, 2, 8);
}

void apply_wishes(plan::Plan& plan, const CheckOptions& options) {
  if (!options.device.empty()) plan.client.device = options.device;
  if (!options.peer_device.empty()) plan.server.device = options.peer_device;
  plan.client.gid_index = options.gid_index;
  plan.server.gid_index = options.peer_gid_index;
  plan.rdma.mtu_bytes = options.mtu_bytes;
  if (options.no_verify) plan.verify = false;
}

/// What speaks of a part that is left out would be ignored.
void refuse_unused(const CheckOptions& options) {
  auto refuse = [](const char* option, const char* switched_off) {
    throw Error(ErrorKind::usage, fmt::format("{} has no use with {}: leave one of them out", option, switched_off));
  };
  if (options.no_tcp && options.streams) refuse("--streams", "--no-tcp");
  if (!options.no_rdma) return;
  if (!options.device.empty()) refuse("--device", "--no-rdma");
  if (!options.peer_device.empty()) refuse("--peer-device", "--no-rdma");
  if (options.gid_index) refuse("--gid-index", "--no-rdma");
  if (options.peer_gid_index) refuse("--peer-gid-index", "--no-rdma");
  if (options.mtu_bytes) refuse("--mtu", "--no-rdma");
  if (options.no_verify) refuse("--no-verify", "--no-rdma");
}

/// Before anything is connected: a wrong option is a usage error, not a row of failed measurements.
void refuse_impossible(const CheckOptions& options) {
  refuse_unused(options);
  plan::Plan plan = rdma_check_plans(Effort::quick).front();
  apply_wishes(plan, options);
  plan::validate(plan, plan::Limits{});
}

Work make_work(const CheckOptions& options, const results::Node& client, const results::Node& server) {
  Work work;
  auto effort = effort_of(options);
  std::string reason;
  bool no_device = has_no_rdma_device(client.facts, reason) || has_no_rdma_device(server.facts, reason);
  if (!options.no_rdma) {
    for (auto& plan : rdma_check_plans(effort)) {
      apply_wishes(plan, options);
      std::string adapted = spare_software_device(plan, client, server);
      if (std::string fitted = fit_queues(plan, {}, client, server); !fitted.empty()) adapted += (adapted.empty() ? "" : "; ") + fitted;
      if (no_device) work.skipped.push_back(skipped(plan, reason));
      else work.tasks.push_back({std::move(plan), adapted});
    }
  }
  if (!options.no_tcp)
    for (auto& plan : tcp_check_plans(effort, streams_of(options, client, server))) work.tasks.push_back({std::move(plan), {}});
  return work;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  auto* c = app.add_subcommand("check", "The main job: validate the link between this host and HOST");
  auto* quick = c->add_flag("--quick", options->quick, "at most 15 s");
  c->add_flag("--thorough", options->thorough, "minutes: 5 s windows, more sizes, latency under load")->excludes(quick);
  auto path = "Path";
  c->add_option("-d,--device", options->device, "RDMA device here (default: chosen)")->group(path);
  c->add_option("--peer-device", options->peer_device, "RDMA device there")->group(path);
  c->add_option("-x,--gid-index", options->gid_index, "GID index here (default: chosen)")->group(path);
  c->add_option("--peer-gid-index", options->peer_gid_index, "GID index there")->group(path);
  c->add_option("--mtu", options->mtu_bytes, "path MTU (default: the smaller active one)")->group(path);
  c->add_option("--streams", options->streams, "TCP streams of the several-streams rows (default: by CPUs, 2 to 8)")
      ->check(CLI::Range(2, 1024))
      ->group(path);
  auto* no_rdma = c->add_flag("--no-rdma", options->no_rdma, "TCP only")->group(path);
  c->add_flag("--no-tcp", options->no_tcp, "RDMA only")->excludes(no_rdma)->group(path);
  c->add_flag("--no-verify", options->no_verify, "do not check RDMA data (a rehearsal on a stand-in that moves short messages only)")->group(path);
  add_client_options(*c, options->client);
  c->footer(
      "Examples:\n"
      "  railgauge check hostB --token-file token     after `railgauge serve` on hostB\n"
      "  railgauge check 10.0.0.2 --quick --output results/\n"
      "  railgauge check --self                       both ends on this host\n"
      "Exit code: 0 met, 1 below expectation, 2 usage, 3 not measured, 77 not supported here.\n");
  c->callback([options, &exit_code] {
    refuse_impossible(*options);
    options->client.token = resolve_token(options->client.token, options->client.token_file).value_or("");
    exit_code = run_client("check", options->client, [options](const results::Node& client, const results::Node& server) {
      return make_work(*options, client, server);
    });
  });
}

}  // namespace railgauge::bench
