#pragma once
#include <cstdint>
#include <string>

#include "results/record.h"

namespace railgauge::golden {

/// When every run of the examples began.
inline constexpr const char* kStarted = "2026-11-30T09:32:17.123Z";

/// What the link should carry: both 400 Gb/s ports and a PCIe link, the ports limiting.
rates::Expectation expect_port();
/// Another figure for both ports of expect_port().
void set_ports(rates::Expectation& expectation, double gbit_per_s, const char* formula);
/// The same at path MTU 1024, and beside it what 4096 would give.
rates::Expectation expect_small_mtu();
/// The ports with a PCIe link of the server that limits.
rates::Expectation expect_pcie();
/// TCP at MTU 9000.
rates::Expectation expect_tcp();

/// One measurement's plan, and the same with more queue pairs or streams.
plan::Plan make_plan(plan::Transport transport, plan::Operation operation, plan::Metric metric, plan::Direction direction, std::uint64_t bytes);
plan::Plan with_qps(plan::Plan plan, int qps);
plan::Plan with_streams(plan::Plan plan, int streams);

/// A summary of 612,345 samples about these.
stats::LatencySummary latency_of(double p50_ns, double p99_ns, double max_ns);

/// Finished measurements between node-07 and node-12: nothing measured, a bandwidth in Gbit/s, a latency.
results::Measurement finished(const plan::Plan& plan);
results::Measurement bandwidth(const plan::Plan& plan, double mean, const rates::Expectation& expectation);
results::Measurement latency(const plan::Plan& plan, double p50_ns, double p99_ns, double max_ns);

}  // namespace railgauge::golden
