// From options as typed to validated plans.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bench/plan_options.h"
#include "host/parse.h"
#include "plan/label.h"

namespace railgauge::bench {
namespace {

using plan::Metric;
using plan::Operation;
using plan::Plan;

std::vector<int> parse_cpus(const std::string& text, const char* option) {
  auto cpus = host::parse_cpu_sequence(text);
  if (!cpus) throw Error(ErrorKind::usage, fmt::format("{} \"{}\" is no list of CPUs: use numbers and rising ranges such as 2,4-6", option, printable(text)));
  return *cpus;
}

std::optional<std::string> if_typed(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

/// 0, −1 and the like mean "let the tool choose" in a plan; typed, they are what they say: no such number.
int typed_or(const std::optional<int>& typed, const char* option, int low, int otherwise) {
  if (typed && *typed < low)
    throw Error(ErrorKind::usage, fmt::format("{} {} is out of range: use {} or more, or leave it out", option, *typed, low));
  return typed.value_or(otherwise);
}

void fill_placement(plan::Placement& p, const PlanOptions& o, bool client) {
  p.device = if_typed(client ? o.device : o.peer_device);
  p.port = client ? o.port_number : o.peer_port_number;
  p.gid_index = client ? o.gid_index : o.peer_gid_index;
  p.numa_node = client ? o.numa : o.peer_numa;
  p.interface = if_typed(client ? o.interface : o.peer_interface);
  p.cpus = client ? parse_cpus(o.cpus, "--cpu") : parse_cpus(o.peer_cpus, "--peer-cpu");
}

/// What would be taken without a word and change nothing.
void refuse_unused(const PlanOptions& o, Metric metric) {
  if (metric != Metric::latency || o.under_load) return;
  auto refuse = [](const char* option, const char* why) {
    throw Error(ErrorKind::usage, fmt::format("{} has no effect with --metric latency: {}; leave it out, or use --under-load", option, why));
  };
  if (!o.working_set.empty()) refuse("--working-set", "it works on one message over and over");
  if (!o.interval.empty()) refuse("--interval", "each message is a sample of its own");
}

void fill_common(Plan& p, const PlanOptions& o) {
  p.metric = plan::metric_from(o.metric);
  if (!o.duration.empty()) p.duration = parse_duration(o.duration, "--duration");
  refuse_unused(o, p.metric);
  if (!o.iterations.empty()) p.iterations = parse_count(o.iterations, "--iterations", 1, 1ULL << 40);
  if (!o.warm_up.empty()) p.warm_up = parse_duration(o.warm_up, "--warm-up");
  if (!o.interval.empty()) {
    p.interval = parse_duration(o.interval, "--interval");
  } else if (!p.iterations) {
    p.interval = std::min<plan::nanoseconds>(p.interval, p.duration);
  }
  p.verify = o.verify;
  p.under_load = o.under_load;
  if (o.load_rate_per_s && !(*o.load_rate_per_s > 0))
    throw Error(ErrorKind::usage, fmt::format("--load-rate {} is no rate: use more than 0, or leave it out", *o.load_rate_per_s));
  p.load_rate_per_s = o.load_rate_per_s;
  if (!p.load_rate_per_s && o.under_load) p.load_rate_per_s = plan::kLoadedRate;
  if (!o.working_set.empty()) p.working_set_bytes = parse_size(o.working_set, "--working-set");
  p.paging = o.hugepages ? plan::Paging::huge : plan::Paging::normal;
  fill_placement(p.client, o, true);
  fill_placement(p.server, o, false);
}

std::vector<std::uint64_t> sizes_of(const PlanOptions& o, std::uint64_t standard) {
  return o.size.empty() ? std::vector<std::uint64_t>{standard} : parse_size_list(o.size, "--size");
}

/// Where the user does not say: a batch is signalled once; unbatched posts share a completion by as many as depth and
/// iterations allow. Large messages cost too much time each to be told of them late.
int usual_signal_every(const Plan& p) {
  if (p.metric == Metric::latency) return 1;
  if (p.rdma.post_batch > 1) return p.rdma.post_batch;
  int most = p.message_bytes <= 4096 ? 32 : 4;
  for (int every = most; every > 1; every /= 2)
    if (p.rdma.depth % every == 0 && p.rdma.depth > every && p.iterations.value_or(0) % static_cast<std::uint64_t>(every) == 0) return every;
  return 1;
}

Operation rdma_operation(const std::string& text) {
  constexpr std::array kAll{Operation::write, Operation::write_imm, Operation::read, Operation::send, Operation::fetch_add, Operation::compare_swap};
  std::string wanted;
  for (Operation op : kAll) {
    if (text == plan::name_of(op)) return op;
    wanted += (wanted.empty() ? "" : ", ") + std::string(plan::name_of(op));
  }
  throw Error(ErrorKind::usage, fmt::format("--op \"{}\" is unknown: use one of {}", printable(text), wanted));
}

plan::Direction rdma_direction(const PlanOptions& o, Operation operation) {
  if (o.bidirectional) return plan::Direction::both;
  if (!o.direction.empty()) return plan::direction_from(o.direction);
  // perftest's ib_read_bw: the client reads, so the data come from the server.
  return operation == Operation::read ? plan::Direction::from : plan::Direction::to;
}

/// perftest's own defaults, so that cross-checks are honest (perftest-lessons.md section 3). QPs and post batch have the same
/// defaults here; what the user typed stays.
void apply_perftest_preset(Plan& p, const PlanOptions& o) {
  if (!o.depth && p.metric != Metric::latency) p.rdma.depth = plan::kUsualDepth;
  if (!o.signal_every) p.rdma.signal_every = 1;
  if (o.working_set.empty()) p.working_set_bytes = p.message_bytes;
}

void check_preset(const std::string& preset) {
  if (!preset.empty() && preset != "perftest")
    throw Error(ErrorKind::usage, fmt::format("--preset \"{}\" is not known: use perftest", preset));
}

}  // namespace

std::vector<Plan> rdma_plans(const PlanOptions& o) {
  check_preset(o.preset);
  Plan base;
  base.transport = plan::Transport::rdma;
  base.operation = rdma_operation(o.op);
  fill_common(base, o);
  base.verify_each = base.verify && base.metric != Metric::latency;
  base.direction = rdma_direction(o, base.operation);
  base.threads = o.threads.value_or(1);
  auto& r = base.rdma;
  r.post_batch = o.post_batch;
  r.signal_every = typed_or(o.signal_every, "--signal-every", 1, 0);
  r.qps = o.qps;
  r.inline_bytes = o.inline_bytes;
  r.mtu_bytes = o.mtu_bytes;
  r.service_level = o.service_level;
  r.traffic_class = o.traffic_class;
  r.retry_count = o.retry_count;
  r.timeout_code = o.timeout_code;
  r.events = o.events;
  r.relaxed_ordering = o.relaxed_ordering;
  r.connect = plan::connect_by_from(o.connect);
  if (!o.rate_limit.empty()) r.rate_limit_gbit_per_s = parse_rate_gbit_per_s(o.rate_limit, "--rate-limit");
  if (o.max_reads) r.max_reads = static_cast<std::uint64_t>(typed_or(o.max_reads, "--max-reads", 1, 1));
  bool atomic = is_atomic(base.operation);
  std::uint64_t standard = atomic ? 8 : base.metric == Metric::latency ? 8 : base.metric == Metric::rate ? 64 : 65536;
  std::vector<Plan> plans;
  for (auto bytes : sizes_of(o, standard)) {
    Plan p = base;
    p.message_bytes = bytes;
    p.rdma.depth = typed_or(o.depth, "--depth", 1, plan::usual_depth(p));
    if (o.preset == "perftest") apply_perftest_preset(p, o);
    if (p.rdma.signal_every == 0) p.rdma.signal_every = usual_signal_every(p);
    p.label = plan::label_of(p);
    plan::validate(p, plan::Limits{});
    plans.push_back(std::move(p));
  }
  return plans;
}

std::vector<Plan> tcp_plans(const PlanOptions& o) {
  Plan base;
  base.transport = plan::Transport::tcp;
  fill_common(base, o);
  bool latency = base.metric == Metric::latency;
  base.operation = latency ? Operation::round_trip : Operation::stream;
  base.direction = o.bidirectional           ? plan::Direction::both
                   : o.direction.empty()     ? plan::Direction::to
                                             : plan::direction_from(o.direction);
  if (o.streams < 1) throw Error(ErrorKind::usage, fmt::format("--streams {} is out of range: use 1 or more", o.streams));
  if (base.iterations && !latency && o.warm_up.empty()) base.warm_up = plan::nanoseconds::zero();
  base.streams = o.streams;
  base.threads = o.threads.value_or(std::min(o.streams, plan::Limits{}.max_threads));
  auto& t = base.tcp;
  t.congestion = if_typed(o.congestion);
  t.mss_bytes = o.mss_bytes;
  if (!o.window.empty()) t.window_bytes = parse_size(o.window, "--window");
  if (!o.pacing.empty()) t.pacing_gbit_per_s = parse_rate_gbit_per_s(o.pacing, "--pacing");
  t.zerocopy = o.zerocopy;
  t.wait = !o.wait.empty() ? plan::wait_from(o.wait) : latency ? plan::Wait::spin : plan::Wait::block;
  std::vector<Plan> plans;
  for (auto bytes : sizes_of(o, latency ? 64 : 1 << 20)) {
    Plan p = base;
    p.message_bytes = bytes;
    p.label = plan::label_of(p);
    plan::validate(p, plan::Limits{});
    plans.push_back(std::move(p));
  }
  return plans;
}

}  // namespace railgauge::bench
