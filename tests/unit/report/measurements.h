#pragma once
#include <chrono>
#include <string>

#include "results/record.h"

// Measurements that the tests of judging start from.

namespace railgauge::report {

/// 8-QP write on a 100G RoCE link at path MTU 4096: 98.04 Gbit/s (link-rates.md 2.3).
inline constexpr double kExpected = 98.04;

inline results::Measurement write_at(double mean_gbit_per_s) {
  results::Measurement m;
  m.plan.transport = plan::Transport::rdma;
  m.plan.operation = plan::Operation::write;
  m.plan.rdma.qps = 8;
  m.outcome = results::Outcome::done;
  m.sides.resize(2);
  m.sides[0].host = "alpha";
  m.sides[1].host = "beta";
  m.throughput.emplace();
  m.throughput->mean_gbit_per_s = stats::Value::of(mean_gbit_per_s);
  m.throughput->ci95_half_width_gbit_per_s = stats::Value::of(0.3);
  m.throughput->steady = true;
  m.throughput->elapsed = std::chrono::seconds(1);
  rates::Term port;
  port.name = "port 100 Gb/s (4X EDR) of mlx5_0 on beta";
  port.gbit_per_s = kExpected;
  m.expectation.terms = {port};
  m.expectation.limiting = 0;
  return m;
}

inline results::Measurement tcp_at(double mean_gbit_per_s, int streams) {
  results::Measurement m = write_at(mean_gbit_per_s);
  m.plan.transport = plan::Transport::tcp;
  m.plan.operation = plan::Operation::stream;
  m.plan.streams = streams;
  return m;
}

inline results::Measurement latency_at(double p50_ns, double p99_ns) {
  results::Measurement m = write_at(1);
  m.throughput.reset();
  m.plan.metric = plan::Metric::latency;
  m.latency.emplace();
  m.latency->p50_ns = stats::Value::of(p50_ns);
  m.latency->p99_ns = stats::Value::of(p99_ns);
  return m;
}

inline void move_counter(results::Measurement& m, const std::string& name, std::uint64_t by, std::size_t side = 1) {
  m.sides[side].counters.push_back({"mlx5_0/1", name, host::Fact<std::uint64_t>::of(7), host::Fact<std::uint64_t>::of(7 + by), host::Fact<std::uint64_t>::of(by), false});
}

}  // namespace railgauge::report
