// What a plan takes: time and memory.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/plan.h"

namespace railgauge::plan {
namespace {

using std::chrono::seconds;

/// How long the plan's iterations may take at worst: no device in the field is slower than 10 us a message and 0.1 Gbit/s,
/// a round trip over a bad network than 10 ms; a slower one is stuck and may be stopped. A pace that the plan asks for may
/// be slower still.
seconds time_for(std::uint64_t iterations, const Plan& plan) {
  double queues = plan.transport == Transport::rdma ? double(plan.rdma.qps) * plan.threads : double(plan.streams);
  double messages = static_cast<double>(iterations) * queues;
  double bits = messages * static_cast<double>(plan.message_bytes) * 8.0;
  double per_message_s = plan.metric == Metric::latency ? 10e-3 : 10e-6;
  double gbit_per_s = 0.1;
  const std::optional<double> pace = plan.transport == Transport::rdma ? plan.rdma.rate_limit_gbit_per_s : plan.tcp.pacing_gbit_per_s;
  if (pace) gbit_per_s = std::min(gbit_per_s, *pace);
  double total_s = messages * per_message_s + bits / (gbit_per_s * 1e9);
  if (plan.load_rate_per_s) total_s += static_cast<double>(iterations) / *plan.load_rate_per_s;
  constexpr double kCentury = 100.0 * 365 * 24 * 3600;  // more is no number of nanoseconds
  return seconds(static_cast<std::int64_t>(std::ceil(std::clamp(total_s, 1.0, kCentury))));
}

}  // namespace

int usual_depth(const Plan& plan) {
  if (plan.metric == Metric::latency) return 1;
  // Eight QPs with 128 messages of 64 KiB each. 64 MiB are 1.3 ms of a 400 Gbit/s link, a hundred times its round trip: more in
  // flight moves no more, takes memory and, after a stop, minutes (128 messages of 1 GiB).
  constexpr std::uint64_t kMostInFlight = 64ULL << 20;
  const auto queues = static_cast<std::uint64_t>(std::max(1, plan.rdma.qps)) * static_cast<std::uint64_t>(std::max(1, plan.threads));
  const std::uint64_t most = kMostInFlight / std::max<std::uint64_t>(1, plan.message_bytes) / queues;
  const int step = std::lcm(std::max(1, plan.rdma.post_batch), std::max(1, plan.rdma.signal_every));
  int depth = std::max(step, kUsualDepth / step * step);
  while (static_cast<std::uint64_t>(depth) > most && depth > 2 && depth / 2 >= step) depth = depth / 2 / step * step;
  return depth;
}

int total_qps(const Plan& plan) noexcept {
  if (plan.metric == Metric::latency) return 1 + (plan.under_load ? plan.rdma.qps : 0);
  return plan.rdma.qps * plan.threads;
}

std::uint32_t latency_slots(const Plan& plan) {
  if (is_atomic(plan.operation)) return plan.load_rate_per_s ? kOpenLoopDepth : kLatencyDepth;
  if (!plan.verify) return 1;
  if (!plan.load_rate_per_s) return 2;
  if (plan.operation == Operation::send) return kOpenLoopDepth;
  // All that are in flight may have landed before they have a receive, beside as many that have been received.
  return plan.operation == Operation::write_imm ? 2 * kOpenLoopDepth : 1;
}

nanoseconds stall_limit(const RdmaSettings& rdma, bool software) noexcept {
  const nanoseconds tries = (rdma.retry_count + 1) * nanoseconds(4096LL << rdma.timeout_code);
  return std::max<nanoseconds>(seconds(2), software ? tries + seconds(1) : 4 * tries);
}

nanoseconds expected_wall_time(const Plan& plan, const Limits& limits) {
  constexpr nanoseconds kLeast = seconds(5);
  // A receiver waits twice as long as its sender, who knows the cause. At code 14 and 7 retries that is 2 · 2.1 s.
  const nanoseconds noticed = plan.transport == Transport::rdma ? 2 * stall_limit(plan.rdma, false) : kLeast;
  const nanoseconds drain = std::clamp(noticed, kLeast, std::max(kLeast, limits.max_duration));
  nanoseconds window = plan.iterations ? std::min<nanoseconds>(time_for(*plan.iterations, plan), limits.max_duration) : plan.duration;
  return plan.warm_up + window + drain;
}

}  // namespace railgauge::plan
