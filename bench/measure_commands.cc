#include "bench/measure_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/adapt_plan.h"
#include "bench/client_run.h"
#include "bench/plan_options.h"

namespace railgauge::bench {
namespace {

struct MeasureOptions {
  ClientOptions client;
  PlanOptions plan;
};
using MakePlans = std::vector<plan::Plan> (*)(const PlanOptions&);

/// The numbers of QPs and of requests in a post have defaults of 1, which nothing can lower.
Typed typed_of(const PlanOptions& options) {
  return {.qps = true, .depth = options.depth.has_value(), .post_batch = true, .signal_every = options.signal_every.has_value()};
}

void add_measure_command(CLI::App& c, const std::shared_ptr<MeasureOptions>& options, MakePlans make_plans, int& exit_code) {
  add_client_options(c, options->client);
  std::string name = c.get_name();
  c.callback([name, options, make_plans, &exit_code] {
    options->client.token = resolve_token(options->client.token, options->client.token_file).value_or("");
    // Before anything is connected: a wrong option is a usage error, not a failed measurement.
    auto plans = make_plans(options->plan);
    refuse_unused_criteria(options->client, plans.front().metric);
    exit_code = run_client(name, options->client, [&](const results::Node& client, const results::Node& server) {
      Work work;
      for (auto& plan : plans) {
        std::string adapted = fit_queues(plan, typed_of(options->plan), client, server);
        work.tasks.push_back({std::move(plan), std::move(adapted)});
      }
      return work;
    });
  });
}

}  // namespace

void add_rdma_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MeasureOptions>();
  auto* c = app.add_subcommand("rdma", "One RDMA measurement with your own settings");
  add_rdma_plan_options(*c, options->plan);
  add_measure_command(*c, options, rdma_plans, exit_code);
  c->footer(
      "Examples:\n"
      "  railgauge rdma hostB --op write --size 64K --qps 8 --duration 10s\n"
      "  railgauge rdma hostB --op send --metric latency --size 2..4K --inline 220\n"
      "  railgauge rdma hostB --op write --metric rate --size 64 --post-batch 16\n"
      "  railgauge rdma hostB --op read -s 1M -b --verify\n"
      "perftest's letters -s -n -D -q -t -b -x -d mean the same here.\n");
}

void add_tcp_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MeasureOptions>();
  auto* c = app.add_subcommand("tcp", "One TCP measurement with your own settings");
  add_tcp_plan_options(*c, options->plan);
  add_measure_command(*c, options, tcp_plans, exit_code);
  c->footer(
      "Examples:\n"
      "  railgauge tcp hostB --streams 8 --duration 10s --congestion cubic\n"
      "  railgauge tcp hostB --metric latency --size 64 --wait spin\n"
      "  railgauge tcp hostB --direction both --pacing 25G --interval 1s\n");
}

}  // namespace railgauge::bench
