#include "bench/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bench/check_plans.h"
#include "host/parse.h"

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

void fill_common(Plan& p, const PlanOptions& o) {
  p.metric = plan::metric_from(o.metric);
  if (!o.duration.empty()) p.duration = parse_duration(o.duration, "--duration");
  if (!o.iterations.empty()) p.iterations = parse_count(o.iterations, "--iterations", 1, 1ULL << 40);
  if (!o.warm_up.empty()) p.warm_up = parse_duration(o.warm_up, "--warm-up");
  if (!o.interval.empty()) {
    p.interval = parse_duration(o.interval, "--interval");
  } else if (p.iterations == 0) {
    p.interval = std::min<plan::nanoseconds>(p.interval, p.duration);
  }
  p.verify = o.verify;
  p.under_load = o.under_load;
  if (o.load_rate_per_s && !(*o.load_rate_per_s > 0))
    throw Error(ErrorKind::usage, fmt::format("--load-rate {} is no rate: use more than 0, or leave it out", *o.load_rate_per_s));
  p.load_rate_per_s = o.load_rate_per_s.value_or(0);
  if (!o.working_set.empty()) p.working_set_bytes = parse_size(o.working_set, "--working-set");
  p.paging = o.hugepages ? plan::Paging::huge : plan::Paging::normal;
  fill_placement(p.client, o, true);
  fill_placement(p.server, o, false);
}

std::vector<std::uint64_t> sizes_of(const PlanOptions& o, std::uint64_t standard) {
  return o.size.empty() ? std::vector<std::uint64_t>{standard} : parse_size_list(o.size, "--size");
}

/// A rate or latency wants other defaults than a bandwidth; what the user typed stays.
void fill_rdma_depths(Plan& p, const PlanOptions& o) {
  bool latency = p.metric == Metric::latency;
  p.rdma.post_batch = o.post_batch;
  p.rdma.depth = typed_or(o.depth, "--depth", 1, latency ? 1 : 128);
  p.rdma.signal_every = typed_or(o.signal_every, "--signal-every", 1, 0);
}

/// Where the user does not say: a batch is signalled once; unbatched posts share a completion by as many as depth and
/// iterations allow. Large messages cost too much time each to be told of them late.
int usual_signal_every(const Plan& p) {
  if (p.metric == Metric::latency) return 1;
  if (p.rdma.post_batch > 1) return p.rdma.post_batch;
  int most = p.message_bytes <= 4096 ? 32 : 4;
  for (int every = most; every > 1; every /= 2)
    if (p.rdma.depth % every == 0 && p.rdma.depth > every && p.iterations % static_cast<std::uint64_t>(every) == 0) return every;
  return 1;
}

plan::Direction rdma_direction(const PlanOptions& o, Operation operation) {
  if (o.bidirectional) return plan::Direction::both;
  if (!o.direction.empty()) return plan::direction_from(o.direction);
  // perftest's ib_read_bw: the client reads, so the data come from the server.
  return operation == Operation::read ? plan::Direction::from : plan::Direction::to;
}

/// perftest's own defaults, so that cross-checks are honest (perftest-lessons.md section 3). Depth, QPs and post batch have
/// the same defaults here; what the user typed stays.
void apply_perftest_preset(Plan& p, const PlanOptions& o) {
  if (!o.signal_every) p.rdma.signal_every = 1;
  if (o.working_set.empty()) p.working_set_bytes = p.message_bytes;
}

void check_preset(const std::string& preset) {
  if (!preset.empty() && preset != "perftest")
    throw Error(ErrorKind::usage, fmt::format("--preset \"{}\" is not known: use perftest", preset));
}

/// What is said of the options that both transports have.
struct MeasureWords {
  const char* metric;
  const char* size;
  const char* iterations;
  const char* warm_up;
  const char* direction;
  const char* verify;
  const char* load_rate;
};

constexpr const char* kMeasure = "What is measured";

void add_measure_options(CLI::App& c, PlanOptions& o, const MeasureWords& words) {
  c.add_option("--metric", o.metric, words.metric)->capture_default_str()->group(kMeasure);
  c.add_option("-s,--size", o.size, words.size)->group(kMeasure);
  c.add_option("-D,--duration", o.duration, "of each measured window: 10s, 500ms (default 1s)")->group(kMeasure);
  c.add_option("-n,--iterations", o.iterations, words.iterations)->group(kMeasure);
  c.add_option("--warm-up", o.warm_up, words.warm_up)->group(kMeasure);
  c.add_option("--interval", o.interval, "of the series (default 100ms)")->group(kMeasure);
  auto* direction = c.add_option("--direction", o.direction, words.direction)->group(kMeasure);
  c.add_flag("-b,--bidirectional", o.bidirectional, "the same as --direction both")->excludes(direction)->group(kMeasure);
  c.add_flag("--verify", o.verify, words.verify)->group(kMeasure);
  c.add_flag("--under-load", o.under_load, "latency beside a bandwidth stream")->group(kMeasure);
  c.add_option("--load-rate", o.load_rate_per_s, words.load_rate)->group(kMeasure);
}

void add_cpu_options(CLI::App& c, PlanOptions& o, const char* group) {
  c.add_option("--cpu", o.cpus, "CPUs of the threads here: 2,4-6 (default: the NIC's node)")->group(group);
  c.add_option("--peer-cpu", o.peer_cpus, "CPUs there")->group(group);
}

void add_queue_options(CLI::App& c, PlanOptions& o) {
  auto queue = "Queues";
  c.add_option("-q,--qps", o.qps, "queue pairs per thread")->capture_default_str()->group(queue);
  c.add_option("--threads", o.threads, "each with its own QPs and CQ (default 1)")->group(queue);
  c.add_option("-t,--depth", o.depth, "outstanding per QP (default 128; latency 1)")->group(queue);
  c.add_option("--post-batch", o.post_batch, "messages per post call")->capture_default_str()->group(queue);
  c.add_option("--signal-every", o.signal_every, "one completion per so many messages")->group(queue);
  c.add_option("--inline", o.inline_bytes, "inline size asked for (default: the tool's choice)")->group(queue);
  c.add_option("--max-reads", o.max_reads, "outstanding reads or atomics per QP (default: the device's)")->group(queue);
  c.add_flag("--events", o.events, "sleep on the completion channel instead of polling")->group(queue);
  c.add_option("--rate-limit", o.rate_limit, "25G, 500M")->group(queue);
}

void add_path_options(CLI::App& c, PlanOptions& o) {
  auto path = "Path";
  c.add_option("-d,--device", o.device, "RDMA device here (default: chosen)")->group(path);
  c.add_option("--peer-device", o.peer_device, "RDMA device there")->group(path);
  c.add_option("--device-port", o.port_number, "port of the device here")->group(path);
  c.add_option("--peer-device-port", o.peer_port_number, "port of the device there")->group(path);
  c.add_option("-x,--gid-index", o.gid_index, "GID index here (default: chosen)")->group(path);
  c.add_option("--peer-gid-index", o.peer_gid_index, "GID index there")->group(path);
  c.add_option("--mtu", o.mtu_bytes, "path MTU: 256 512 1024 2048 4096 (default: the smaller active one)")->group(path);
  c.add_option("--sl", o.service_level, "service level 0-15")->group(path);
  c.add_option("--traffic-class", o.traffic_class, "0-255 (DSCP x 4)")->group(path);
  c.add_option("--connect", o.connect, "socket or rdma_cm (iWARP: rdma_cm by itself)")->capture_default_str()->group(path);
  c.add_option("--retry-count", o.retry_count, "0-7 (at most 6 on rxe)")->capture_default_str()->group(path);
  c.add_option("--timeout-code", o.timeout_code, "4.096 us x 2^code before a retry")->capture_default_str()->group(path);
}

void add_memory_options(CLI::App& c, PlanOptions& o) {
  auto memory = "Memory and CPUs";
  c.add_option("--working-set", o.working_set, "bytes cycled through (default: beyond the last-level cache)")->group(memory);
  c.add_flag("--hugepages", o.hugepages, "buffers on huge pages")->group(memory);
  c.add_flag("--no-relaxed-ordering", o.no_relaxed_ordering, "register without relaxed ordering")->group(memory);
  add_cpu_options(c, o, memory);
  c.add_option("--numa", o.numa, "NUMA node of the buffers here")->group(memory);
  c.add_option("--peer-numa", o.peer_numa, "NUMA node there")->group(memory);
}

}  // namespace

void add_rdma_plan_options(CLI::App& c, PlanOptions& o) {
  c.add_option("--op", o.op, "write, write_imm, read, send, fetch_add, compare_swap")->capture_default_str()->group(kMeasure);
  add_measure_options(c, o,
                      {.metric = "bandwidth, latency or rate (messages/s)",
                       .size = "64K, a sweep 2..8M, or a list 1K,3000,1M",
                       .iterations = "messages per QP instead of a duration",
                       .warm_up = "before the window (default 100ms)",
                       .direction = "of the data: to, from or both (default to; read: from)",
                       .verify = "check the data; of send, write_imm and read each message where it can, which slows them",
                       .load_rate = "open loop: so many messages/s, timed from the intended send"});
  c.add_option("--preset", o.preset, "perftest: its defaults, for cross-checks")->group(kMeasure);
  add_queue_options(c, o);
  add_path_options(c, o);
  add_memory_options(c, o);
}

void add_tcp_plan_options(CLI::App& c, PlanOptions& o) {
  add_measure_options(c, o,
                      {.metric = "bandwidth or latency",
                       .size = "block (default 1M; latency 64), sweep or list",
                       .iterations = "blocks or round trips per stream instead of a duration",
                       .warm_up = "before the window (default 100ms; blocks by count: none)",
                       .direction = "of the data: to, from or both (default to)",
                       .verify = "check the data",
                       .load_rate = "open loop: so many round trips/s, timed from the intended send"});
  auto stream = "Streams";
  c.add_option("-q,--streams", o.streams, "connections")->capture_default_str()->group(stream);
  c.add_option("--threads", o.threads, "default: one per stream")->group(stream);
  c.add_option("--wait", o.wait, "spin or block (default: latency spin, bandwidth block)")->group(stream);
  c.add_flag("--zerocopy", o.zerocopy, "MSG_ZEROCOPY; the copied share is printed")->group(stream);
  c.add_option("--congestion", o.congestion, "cubic, bbr, … on both ends")->group(stream);
  c.add_option("--mss", o.mss_bytes, "maximum segment size in bytes")->group(stream);
  c.add_option("--window", o.window, "socket buffers (default: the kernel tunes)")->group(stream);
  c.add_option("--pacing", o.pacing, "25G, 500M over all streams")->group(stream);
  auto place = "Interface and CPUs";
  c.add_option("--interface", o.interface, "bind to this interface here")->group(place);
  c.add_option("--peer-interface", o.peer_interface, "and there")->group(place);
  add_cpu_options(c, o, place);
}

std::vector<Plan> rdma_plans(const PlanOptions& o) {
  check_preset(o.preset);
  Plan base;
  base.transport = plan::Transport::rdma;
  base.operation = plan::operation_from(o.op);
  fill_common(base, o);
  base.verify_each = base.verify && base.metric != Metric::latency;
  base.direction = rdma_direction(o, base.operation);
  base.threads = o.threads.value_or(1);
  fill_rdma_depths(base, o);
  auto& r = base.rdma;
  r.qps = o.qps;
  r.inline_bytes = o.inline_bytes;
  r.mtu_bytes = o.mtu_bytes;
  r.service_level = o.service_level;
  r.traffic_class = o.traffic_class;
  r.retry_count = o.retry_count;
  r.timeout_code = o.timeout_code;
  r.events = o.events;
  r.relaxed_ordering = !o.no_relaxed_ordering;
  r.connect = plan::connect_by_from(o.connect);
  if (!o.rate_limit.empty()) r.rate_limit_gbit_per_s = parse_rate_gbit_per_s(o.rate_limit, "--rate-limit");
  if (o.max_reads) r.max_reads = static_cast<std::uint64_t>(typed_or(o.max_reads, "--max-reads", 1, 1));
  bool atomic = base.operation == Operation::fetch_add || base.operation == Operation::compare_swap;
  std::uint64_t standard = atomic ? 8 : base.metric == Metric::latency ? 8 : base.metric == Metric::rate ? 64 : 65536;
  std::vector<Plan> plans;
  for (auto bytes : sizes_of(o, standard)) {
    Plan p = base;
    p.message_bytes = bytes;
    if (o.preset == "perftest") apply_perftest_preset(p, o);
    if (p.rdma.signal_every == 0) p.rdma.signal_every = usual_signal_every(p);
    p.label = label_of(p);
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
  if (base.iterations > 0 && !latency && o.warm_up.empty()) base.warm_up = plan::nanoseconds::zero();
  base.streams = o.streams;
  base.threads = o.threads.value_or(o.streams);
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
    p.label = label_of(p);
    plan::validate(p, plan::Limits{});
    plans.push_back(std::move(p));
  }
  return plans;
}

}  // namespace railgauge::bench
