#include "bench/check_plans.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "plan/label.h"

namespace railgauge::bench {
namespace {

using plan::Direction;
using plan::Metric;
using plan::Operation;
using plan::Plan;
using plan::Transport;
using std::chrono::milliseconds;

// One QP on a 400 Gb/s link may reach only 55–71 % with no fault (link-rates.md 2.3), so several QPs are judged.
// Eight: what a 2×200G bond needed to fill both ports (link-rates.md 1.4).
constexpr int kSeveralQps = 8;
constexpr std::uint64_t kBandwidthBytes = 65536;
constexpr std::uint64_t kRateBytes = 64;
constexpr std::uint64_t kLatencyBytes = 8;
constexpr std::uint64_t kTcpBlockBytes = 1 << 20;

struct Times {
  milliseconds window;
  milliseconds warm_up;
  milliseconds interval;
  std::optional<std::uint64_t> working_set_bytes;
};

Times times_of(Effort effort) {
  switch (effort) {
    // 300 ms in 20 ms intervals still gives the steady-state test its ten intervals.
    case Effort::quick: return {milliseconds(300), milliseconds(40), milliseconds(20), 32ULL << 20};
    case Effort::standard: return {milliseconds(1000), milliseconds(100), milliseconds(50), {}};
    case Effort::thorough: return {milliseconds(5000), milliseconds(500), milliseconds(100), {}};
  }
  return {};
}

Plan base_plan(Transport transport, Operation operation, Metric metric, Direction direction, const Times& times) {
  Plan p;
  p.transport = transport;
  p.operation = operation;
  p.metric = metric;
  p.direction = direction;
  p.duration = times.window;
  p.warm_up = times.warm_up;
  p.interval = times.interval;
  p.working_set_bytes = times.working_set_bytes;
  p.verify = true;
  return p;
}

/// A latency has no intervals and works on one message: what says otherwise would have no effect.
void has_no_series(Plan& p) {
  p.interval = std::min(Plan{}.interval, p.duration);
  p.working_set_bytes.reset();
}

Plan rdma_bandwidth(Operation operation, int qps, Direction direction, std::uint64_t bytes, const Times& times) {
  Plan p = base_plan(Transport::rdma, operation, Metric::bandwidth, direction, times);
  p.message_bytes = bytes;
  p.rdma.qps = qps;
  p.rdma.signal_every = 4;
  // Several QPs share what one has in flight.
  p.rdma.depth = qps > 1 ? 32 : plan::usual_depth(p);
  return p;
}

Plan rdma_rate(Direction direction, const Times& times) {
  Plan p = base_plan(Transport::rdma, Operation::write, Metric::rate, direction, times);
  p.message_bytes = kRateBytes;
  p.rdma.depth = 128;
  p.rdma.post_batch = 16;
  p.rdma.signal_every = 16;
  return p;
}

Plan rdma_latency(Operation operation, Direction direction, const Times& times) {
  Plan p = base_plan(Transport::rdma, operation, Metric::latency, direction, times);
  p.message_bytes = kLatencyBytes;
  p.rdma.depth = 1;
  has_no_series(p);
  return p;
}

Plan tcp_bandwidth(int streams, Direction direction, const Times& times) {
  Plan p = base_plan(Transport::tcp, Operation::stream, Metric::bandwidth, direction, times);
  p.message_bytes = kTcpBlockBytes;
  p.streams = streams;
  p.threads = streams;
  p.working_set_bytes.reset();
  return p;
}

Plan tcp_latency(const Times& times) {
  Plan p = base_plan(Transport::tcp, Operation::round_trip, Metric::latency, Direction::to, times);
  p.message_bytes = kRateBytes;
  p.tcp.wait = plan::Wait::spin;
  has_no_series(p);
  return p;
}

void finish(std::vector<Plan>& plans) {
  for (auto& p : plans) {
    p.label = plan::label_of(p);
    plan::validate(p, plan::Limits{});
  }
}

}  // namespace

std::vector<Plan> rdma_check_plans(Effort effort) {
  Times times = times_of(effort);
  std::vector<Plan> plans;
  for (Operation op : {Operation::write, Operation::read, Operation::send})
    for (int qps : {1, kSeveralQps})
      for (Direction direction : {Direction::to, Direction::from})
        plans.push_back(rdma_bandwidth(op, qps, direction, kBandwidthBytes, times));
  plans.push_back(rdma_bandwidth(Operation::write, kSeveralQps, Direction::both, kBandwidthBytes, times));
  for (Direction direction : {Direction::to, Direction::from}) plans.push_back(rdma_rate(direction, times));
  for (Operation op : {Operation::write, Operation::read, Operation::send})
    for (Direction direction : {Direction::to, Direction::from}) plans.push_back(rdma_latency(op, direction, times));
  if (effort == Effort::thorough) {
    Times sweep = times;
    sweep.window = milliseconds(1000);
    for (std::uint64_t bytes = 64; bytes <= (8ULL << 20); bytes *= 2)
      plans.push_back(rdma_bandwidth(Operation::write, 1, Direction::to, bytes, sweep));
    Plan loaded = rdma_latency(Operation::write, Direction::to, times);
    loaded.under_load = true;
    loaded.load_rate_per_s = plan::kLoadedRate;
    plans.push_back(loaded);
  }
  finish(plans);
  return plans;
}

std::vector<Plan> tcp_check_plans(Effort effort, int streams) {
  Times times = times_of(effort);
  std::vector<Plan> plans;
  for (int n : {1, streams})
    for (Direction direction : {Direction::to, Direction::from}) plans.push_back(tcp_bandwidth(n, direction, times));
  plans.push_back(tcp_latency(times));
  if (effort == Effort::thorough) {
    Plan loaded = tcp_latency(times);
    loaded.under_load = true;
    loaded.load_rate_per_s = plan::kLoadedRate;
    plans.push_back(loaded);
  }
  finish(plans);
  return plans;
}

}  // namespace railgauge::bench
