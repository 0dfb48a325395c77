#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/path_mtu.h"
#include "base/units.h"

namespace railgauge::plan {
namespace {

using std::chrono::milliseconds;

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::usage, fmt::format(format, std::forward<Args>(args)...));
}

void check_range(const char* option, std::int64_t found, std::int64_t low, std::int64_t high) {
  if (found < low || found > high) refuse("{} {} is out of range: use {} to {}", option, found, low, high);
}

/// A rate in whatever unit the option takes: finite and above 0, or none.
void check_rate(const char* option, const std::optional<double>& found) {
  if (found && (!std::isfinite(*found) || *found <= 0)) refuse("{} {} is no rate: use a positive number, or leave it out", option, *found);
}

/// Names end in paths and system calls on the other host too, so that nothing but a plain name may pass.
void check_name(const char* option, const std::string& name, std::size_t longest) {
  bool plain = !name.empty() && name.size() <= longest && name != "." && name != "..";
  for (char c : name) {
    auto byte = static_cast<unsigned char>(c);
    plain = plain && byte > 0x20 && byte < 0x7f && c != '/';
  }
  if (!plain) refuse("{} \"{}\" is no name: use 1 to {} printable characters without blanks and slashes", option, printable(name), longest);
}

void check_kinds(const Plan& plan) {
  if (plan.verify_each && !plan.verify) refuse("each message is to be verified without --verify: use --verify");
  bool tcp_operation = plan.operation == Operation::stream || plan.operation == Operation::round_trip;
  if (plan.transport == Transport::tcp && !tcp_operation)
    refuse("--op {} is an RDMA operation: use railgauge rdma, or --metric bandwidth or latency over TCP", name_of(plan.operation));
  if (plan.transport == Transport::rdma && tcp_operation)
    refuse("--op {} is a TCP operation: use write, write_imm, read, send, fetch_add or compare_swap", name_of(plan.operation));
  if (plan.transport == Transport::tcp && plan.metric == Metric::rate)
    refuse("--metric rate is measured over RDMA only: use bandwidth or latency for TCP");
  if (plan.operation == Operation::stream && plan.metric != Metric::bandwidth)
    refuse("operation stream has --metric bandwidth, not {}: use round_trip for latency", name_of(plan.metric));
  if (plan.operation == Operation::round_trip && plan.metric != Metric::latency)
    refuse("operation round_trip has --metric latency, not {}: use stream for bandwidth", name_of(plan.metric));
}

void check_sizes(const Plan& plan, const Limits& limits) {
  if (plan.message_bytes == 0) refuse("--size 0 moves nothing: use 1 or more");
  if (plan.message_bytes > limits.max_message_bytes)
    refuse("--size {} is larger than the limit of {}: use a smaller one", format_size(plan.message_bytes), format_size(limits.max_message_bytes));
  if (is_atomic(plan.operation) && plan.message_bytes != 8)
    refuse("--size {} with --op {}: atomics work on 8 bytes, use --size 8", plan.message_bytes, name_of(plan.operation));
  if (plan.working_set_bytes && *plan.working_set_bytes < plan.message_bytes)
    refuse("--working-set {} holds no message of --size {}: use --working-set {} or more", *plan.working_set_bytes, plan.message_bytes,
           plan.message_bytes);
}

void check_counts(const Plan& plan, const Limits& limits) {
  // Before the threads, which follow them.
  if (plan.transport == Transport::tcp) check_range("--streams", plan.streams, 1, limits.max_streams);
  check_range("--threads", plan.threads, 1, limits.max_threads);
  check_range("--qps", plan.rdma.qps, 1, limits.max_qps);
  if (plan.transport == Transport::rdma) {
    std::int64_t qps = std::int64_t{plan.rdma.qps} * plan.threads;
    if (qps > limits.max_qps)
      refuse("--qps {} on each of --threads {} are {} QPs, the limit is {}: use --qps {}", plan.rdma.qps, plan.threads, qps, limits.max_qps,
             std::max(1, limits.max_qps / plan.threads));
    if (plan.streams != 1) refuse("--streams {} is for TCP: use --qps for RDMA", plan.streams);
    return;
  }
  if (plan.streams < plan.threads)
    refuse("--streams {} leaves some of --threads {} without a stream: use --streams {} or --threads {}", plan.streams, plan.threads,
           plan.threads, plan.streams);
}

/// A side that both sends and receives has a block of memory for each.
std::uint64_t blocks_of(const Plan& plan) {
  const bool ping_pong = plan.transport == Transport::rdma && plan.metric == Metric::latency && !plan.load_rate_per_s &&
                         !is_read_or_atomic(plan.operation);
  return ping_pong || plan.direction == Direction::both ? 2 : 1;
}

void check_memory(const Plan& plan, const Limits& limits) {
  const bool rdma = plan.transport == Transport::rdma;
  const auto streaming = static_cast<std::uint64_t>(rdma ? plan.rdma.qps : 1);
  const std::uint64_t messages = rdma && plan.metric == Metric::latency ? latency_slots(plan) : streaming;
  // No overflow: message ≤ 2^31 by the limits in use, messages ≤ 2^14, threads ≤ 2^8, all checked before.
  const std::uint64_t least = plan.message_bytes * messages;
  const std::uint64_t working_set = std::min(plan.working_set_bytes.value_or(0), limits.max_memory_bytes + 1);
  const bool small = plan.metric == Metric::latency && !plan.under_load;  // one message, whatever the working set
  const std::uint64_t per_thread = blocks_of(plan) * (small ? least : std::max(least, working_set));
  if (per_thread > limits.max_memory_bytes / static_cast<std::uint64_t>(plan.threads))
    refuse("{} of buffers on each of --threads {} pass the limit of {} (half of the host's memory, a quarter where both sides are on one host, at most 64 GiB; "
           "or serve --max-memory): use a smaller --working-set, --size, --qps or --threads",
           format_size(per_thread), plan.threads, format_size(limits.max_memory_bytes));
}

/// The loops post whole batches and count whole completions, so that iterations are exact only in multiples of both.
void check_iterations(const Plan& plan) {
  if (!plan.iterations || plan.transport != Transport::rdma || plan.metric == Metric::latency) return;
  auto step = static_cast<std::uint64_t>(std::lcm(plan.rdma.post_batch, plan.rdma.signal_every));
  if (*plan.iterations % step == 0) return;
  std::uint64_t below = *plan.iterations / step * step;
  refuse("--iterations {} is no multiple of --post-batch {} and --signal-every {}: use {}{}", *plan.iterations, plan.rdma.post_batch,
         plan.rdma.signal_every, below > 0 ? fmt::format("{} or ", below) : std::string(), below + step);
}

void check_times(const Plan& plan, const Limits& limits) {
  if (plan.warm_up < nanoseconds::zero() || plan.warm_up > limits.max_duration)
    refuse("--warm-up {} is out of range: use 0 to {}", format_duration(plan.warm_up), format_duration(limits.max_duration));
  if (plan.iterations == 0u) refuse("--iterations 0 measures nothing: use 1 or more, or --duration");
  // First, since the default interval follows it.
  if (!plan.iterations && (plan.duration < milliseconds(10) || plan.duration > limits.max_duration))
    refuse("--duration {} is out of range: use 10ms to {}, or --iterations", format_duration(plan.duration), format_duration(limits.max_duration));
  if (plan.interval < milliseconds(1) || plan.interval > limits.max_duration)
    refuse("--interval {} is out of range: use 1ms to {}", format_duration(plan.interval), format_duration(limits.max_duration));
  if (plan.iterations && plan.operation == Operation::stream && plan.warm_up > nanoseconds::zero())
    refuse("--warm-up {} with --iterations over TCP: the first byte that arrives opens the window, use --warm-up 0 or --duration", format_duration(plan.warm_up));
  if (!plan.iterations && plan.interval > plan.duration)
    refuse("--interval {} is longer than --duration {}: use --interval {}", format_duration(plan.interval), format_duration(plan.duration),
           format_duration(plan.duration));
}

/// The option that asked for an open loop.
const char* by_the_clock(const Plan& plan) { return plan.under_load ? "--under-load" : "--load-rate"; }

void check_latency(const Plan& plan) {
  if (plan.metric != Metric::latency) {
    if (plan.under_load) refuse("latency under load with --metric {}: use --metric latency", name_of(plan.metric));
    if (plan.load_rate_per_s) refuse("--load-rate {} with --metric {}: use --metric latency", *plan.load_rate_per_s, name_of(plan.metric));
    return;
  }
  check_rate("--load-rate", plan.load_rate_per_s);
  if (plan.under_load && !plan.load_rate_per_s) refuse("latency under load without a schedule: use --load-rate {}", kLoadedRate);
  if (plan.load_rate_per_s && *plan.load_rate_per_s > 1e9) refuse("--load-rate {} is above one message a nanosecond: use less", *plan.load_rate_per_s);
  if (plan.direction == Direction::both) refuse("--direction both with --metric latency: a ping-pong has both already, use to or from");
  if (plan.threads != 1) refuse("--threads {} with --metric latency: one ping-pong runs at a time, use --threads 1", plan.threads);
  if (plan.transport == Transport::tcp) {
    if (plan.streams != 1 && !plan.under_load) refuse("--streams {} with --metric latency: use --streams 1, or latency under load", plan.streams);
    return;
  }
  const RdmaSettings& rdma = plan.rdma;
  if (rdma.rate_limit_gbit_per_s) refuse("--rate-limit {} with --metric latency: it paces streams, use --load-rate", *rdma.rate_limit_gbit_per_s);
  if (rdma.qps != 1 && !plan.under_load) refuse("--qps {} with --metric latency: use --qps 1, or latency under load", rdma.qps);
  if (rdma.events && plan.load_rate_per_s)
    refuse("--events with {}: that sends by the clock and so spins, leave --events out", by_the_clock(plan));
  if (rdma.events && plan.operation == Operation::write)
    refuse("--events with --op write --metric latency: a write is seen in memory and wakes nobody, use --op write_imm or leave --events out");
  if (rdma.depth != 1 || rdma.post_batch != 1 || rdma.signal_every != 1)
    refuse("--depth {} --post-batch {} --signal-every {} with --metric latency: one message is outstanding at a time, use 1 for each", rdma.depth,
           rdma.post_batch, rdma.signal_every);
}

/// "96 or 112" for 100 and 16; only the upper one when the lower would be 0.
std::string nearest_multiples(int value, int step) {
  int below = value / step * step;
  return below > 0 ? fmt::format("{} or {}", below, below + step) : fmt::format("{}", step);
}

void check_queue(const RdmaSettings& rdma) {
  // 32768 is the largest max_qp_wr in the field (mlx5); the device's own limit is asked for when it is open.
  constexpr int kMaxDepth = 32768;
  check_range("--depth", rdma.depth, 1, kMaxDepth);
  check_range("--post-batch", rdma.post_batch, 1, kMaxDepth);
  check_range("--signal-every", rdma.signal_every, 1, kMaxDepth);
  if (rdma.depth % rdma.post_batch != 0)
    refuse("--depth {} is not a multiple of --post-batch {}: use --depth {}", rdma.depth, rdma.post_batch,
           nearest_multiples(rdma.depth, rdma.post_batch));
  if (rdma.depth % rdma.signal_every != 0)
    refuse("--depth {} is not a multiple of --signal-every {}: use --depth {}", rdma.depth, rdma.signal_every,
           nearest_multiples(rdma.depth, rdma.signal_every));
}

void check_inline(const Plan& plan) {
  if (!plan.rdma.inline_bytes) return;
  const int wanted = *plan.rdma.inline_bytes;
  check_range("--inline", wanted, 0, 65535);
  if (wanted == 0) return;
  if (is_read_or_atomic(plan.operation))
    refuse("--inline {} with --op {}: only writes and sends carry inline data, use --inline 0", wanted, name_of(plan.operation));
  if (static_cast<std::uint64_t>(wanted) > plan.message_bytes)
    refuse("--inline {} is larger than --size {}: use --inline {}", wanted, plan.message_bytes, plan.message_bytes);
}

void check_rdma(const Plan& plan) {
  const RdmaSettings& rdma = plan.rdma;
  check_queue(rdma);
  check_inline(plan);
  if (rdma.mtu_bytes && !is_path_mtu(*rdma.mtu_bytes))
    refuse("--mtu {} is no path MTU: use {}, or leave it out for the smaller of both ports", *rdma.mtu_bytes, kPathMtuWords);
  check_range("--sl", rdma.service_level, 0, 15);
  check_range("--traffic-class", rdma.traffic_class, 0, 255);
  check_range("--retry-count", rdma.retry_count, 0, 7);
  // Code 0 means "wait for ever" (InfiniBand specification 11.2.4.2), which no measurement may do.
  check_range("--timeout-code", rdma.timeout_code, 1, 31);
  check_rate("--rate-limit", rdma.rate_limit_gbit_per_s);
  if (rdma.max_reads && !is_read_or_atomic(plan.operation))
    refuse("--max-reads {} has no effect with --op {}: it is for read, fetch_add and compare_swap, leave it out", *rdma.max_reads,
           name_of(plan.operation));
  if (rdma.connect == ConnectBy::rdma_cm && rdma.service_level != 0)
    refuse("--sl {} has no effect with --connect rdma_cm, which takes it from the route: use --traffic-class, or --connect socket", rdma.service_level);
  if (rdma.connect == ConnectBy::rdma_cm && plan.client.gid_index)
    refuse("--gid-index {} has no effect with --connect rdma_cm, which takes the route's: use --peer-gid-index, or --connect socket",
           *plan.client.gid_index);
  if (rdma.max_reads) check_range("--max-reads", static_cast<std::int64_t>(std::min<std::uint64_t>(*rdma.max_reads, 1U << 30)), 1, 255);
  check_iterations(plan);
}

void check_tcp(const Plan& plan) {
  const TcpSettings& tcp = plan.tcp;
  if (tcp.congestion) check_name("--congestion", *tcp.congestion, 15);  // TCP_CA_NAME_MAX 16 with its NUL
  // TCP_MIN_MSS and MAX_TCP_WINDOW: what the kernel's TCP_MAXSEG takes.
  if (tcp.mss_bytes) check_range("--mss", *tcp.mss_bytes, 88, 32767);
  // The kernel raises less than 2304 bytes (SOCK_MIN_SNDBUF); it doubles what SO_SNDBUF is given and keeps that in an int.
  constexpr std::uint64_t kSmallestWindow = 4096;
  constexpr std::uint64_t kLargestWindow = (1ULL << 30) - 1;
  if (tcp.window_bytes && (*tcp.window_bytes < kSmallestWindow || *tcp.window_bytes > kLargestWindow))
    refuse("--window {} is out of range: use 4K to 1023M, or leave it out for the kernel's auto-tuning", format_size(*tcp.window_bytes));
  check_rate("--pacing", tcp.pacing_gbit_per_s);
  if (tcp.pacing_gbit_per_s && plan.metric == Metric::latency && !plan.under_load)
    refuse("--pacing {} with --metric latency paces nothing: use --load-rate, or --under-load", *tcp.pacing_gbit_per_s);
  if (tcp.wait == Wait::block && plan.metric == Metric::latency && plan.load_rate_per_s)
    refuse("--wait block with {}: that sends by the clock and so spins, use --wait spin or leave it out", by_the_clock(plan));
  if (tcp.zerocopy && plan.operation != Operation::stream) refuse("--zerocopy with --metric {}: it is for --metric bandwidth", name_of(plan.metric));
}

/// The names of one side's options.
struct PlacementOptions {
  const char* device;
  const char* interface;
  const char* port;
  const char* gid_index;
  const char* numa;
  const char* cpu;
};
constexpr PlacementOptions kOwnOptions{"--device", "--interface", "--device-port", "--gid-index", "--numa", "--cpu"};
constexpr PlacementOptions kPeerOptions{"--peer-device", "--peer-interface", "--peer-device-port", "--peer-gid-index", "--peer-numa", "--peer-cpu"};

void check_placement(const Placement& placement, const PlacementOptions& options, Transport transport) {
  if (placement.device) check_name(options.device, *placement.device, 63);  // IBV_SYSFS_NAME_MAX 64
  if (placement.interface) check_name(options.interface, *placement.interface, 15);  // IFNAMSIZ 16
  if (transport == Transport::tcp && placement.device)
    refuse("{} {} is for RDMA: use {} for TCP", options.device, *placement.device, options.interface);
  if (placement.port) check_range(options.port, *placement.port, 1, 255);
  // Verbs has eight bits for it (ibv_global_route.sgid_index).
  if (placement.gid_index) check_range(options.gid_index, *placement.gid_index, 0, 255);
  if (placement.numa_node) check_range(options.numa, *placement.numa_node, 0, 1023);
  if (placement.cpus.size() > 1024) refuse("{} names {} CPUs: use at most 1024", options.cpu, placement.cpus.size());
  for (int cpu : placement.cpus) check_range(options.cpu, cpu, 0, 65535);
}

}  // namespace

void validate(const Plan& plan, const Limits& limits) {
  if (plan.label.size() > 200) refuse("a label of {} bytes: use at most 200", plan.label.size());
  check_kinds(plan);
  check_sizes(plan, limits);
  check_counts(plan, limits);
  check_times(plan, limits);
  check_latency(plan);
  if (plan.transport == Transport::rdma) check_rdma(plan);
  if (plan.transport == Transport::tcp) check_tcp(plan);
  check_memory(plan, limits);
  check_placement(plan.client, kOwnOptions, plan.transport);
  check_placement(plan.server, kPeerOptions, plan.transport);
}

}  // namespace railgauge::plan
