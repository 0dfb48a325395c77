#include "report/render/again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "bench/check_plans.h"
#include "bench/plan_options.h"
#include "plan/label.h"
#include "results/json.h"

namespace railgauge::bench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

results::Record record_of(std::vector<std::string> typed) {
  results::Record record;
  record.peer = "node-12";
  record.nodes.resize(1);
  record.nodes[0].command_line = std::move(typed);
  return record;
}

/// What the program makes of a command: "railgauge rdma node-12 --op …".
plan::Plan parsed(const std::string& command) {
  std::istringstream words(command);
  std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
  const bool rdma = arguments.at(1) == "rdma";
  EXPECT_EQ(arguments.at(2), "node-12");
  arguments.erase(arguments.begin(), arguments.begin() + 3);
  std::reverse(arguments.begin(), arguments.end());
  CLI::App app;
  PlanOptions options;
  rdma ? add_rdma_plan_options(app, options) : add_tcp_plan_options(app, options);
  app.parse(arguments);
  auto plans = rdma ? rdma_plans(options) : tcp_plans(options);
  EXPECT_EQ(plans.size(), 1U);
  return plans.front();
}

/// The command measures the same plan; but for the check of a few messages, which it leaves out.
void expect_same(plan::Plan plan) {
  const std::string command = report::rerun_command(plan, record_of({"railgauge", "check", "node-12"}));
  if (plan.transport == plan::Transport::rdma && plan.metric != plan::Metric::latency && !plan.verify_each) plan.verify = false;
  if (plan.transport == plan::Transport::tcp) plan.working_set_bytes.reset();
  plan.label = plan::label_of(plan);
  EXPECT_EQ(results::plan_to_json(parsed(command)), results::plan_to_json(plan)) << command;
}

TEST(RerunCommand, MeasuresTheSamePlanOfACheck) {
  for (Effort effort : {Effort::quick, Effort::standard, Effort::thorough}) {
    for (const auto& plan : rdma_check_plans(effort)) expect_same(plan);
    for (const auto& plan : tcp_check_plans(effort, 5)) expect_same(plan);
  }
}

TEST(RerunCommand, KeepsEveryRdmaOption) {
  plan::Plan p;
  p.transport = plan::Transport::rdma;
  p.operation = plan::Operation::read;
  p.direction = plan::Direction::to;
  p.message_bytes = 3000;
  p.iterations = 4200;
  p.warm_up = std::chrono::milliseconds(7);
  p.interval = std::chrono::microseconds(12'500);
  p.threads = 3;
  p.verify = p.verify_each = true;
  p.working_set_bytes = 6'000'000;
  p.paging = plan::Paging::huge;
  p.rdma = {.qps = 5, .depth = 84, .post_batch = 6, .signal_every = 42, .inline_bytes = 0, .mtu_bytes = 2048, .service_level = 3, .traffic_class = 104,
            .retry_count = 4, .timeout_code = 17, .rate_limit_gbit_per_s = 2.7, .events = true, .relaxed_ordering = false,
            .connect = plan::ConnectBy::socket, .max_reads = 9};
  p.client = {.device = "mlx5_2", .port = 2, .gid_index = 3, .interface = {}, .cpus = {4, 6}, .numa_node = 1};
  p.server = {.device = "mlx5_7", .port = 1, .gid_index = 5, .interface = {}, .cpus = {9}, .numa_node = 0};
  expect_same(p);
  p.rdma.connect = plan::ConnectBy::rdma_cm;  // which takes these from the route
  p.rdma.service_level = 0;
  p.client.gid_index.reset();
  expect_same(p);
}

TEST(RerunCommand, KeepsEveryTcpOption) {
  plan::Plan p;
  p.direction = plan::Direction::both;
  p.message_bytes = 70'000;
  p.duration = std::chrono::milliseconds(2300);
  p.threads = 2;
  p.streams = 6;
  p.tcp = {.congestion = "bbr", .mss_bytes = 1400, .window_bytes = 1 << 20, .pacing_gbit_per_s = 2.5, .zerocopy = true, .wait = plan::Wait::spin};
  p.client.interface = "eth2";
  p.client.cpus = {3};
  p.server.interface = "eth5";
  expect_same(p);
  p = tcp_check_plans(Effort::quick, 2).back();
  p.load_rate_per_s = 1234.5;
  expect_same(p);
}

TEST(RerunCommand, KeepsWhatWasTypedBesideThePlan) {
  const auto record = record_of({"railgauge", "check", "node-12", "--port", "20001", "--token", "[removed]", "--require-rate=180G", "--require-p99", "4us",
                                 "--link-gbps", "200", "--output", "here.json"});
  auto bulk = rdma_check_plans(Effort::quick).front();
  std::string command = report::rerun_command(bulk, record);
  EXPECT_THAT(command, StartsWith("RAILGAUGE_TOKEN=… railgauge rdma node-12 --op "));
  EXPECT_THAT(command, EndsWith(" --port 20001 --require-rate 180G --link-gbps 200"));
  bulk.metric = plan::Metric::latency;
  command = report::rerun_command(bulk, record);
  EXPECT_THAT(command, HasSubstr(" --require-p99 4us"));
  EXPECT_THAT(command, Not(HasSubstr("--require-rate")));
}

}  // namespace
}  // namespace railgauge::bench
