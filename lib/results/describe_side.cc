#include <algorithm>

#include "results/describe.h"

namespace railgauge::stats {

void describe(results::Io& io, Interval& interval) {
  // Warm-up lies before the window: its begin is negative.
  io.field("begin_ns", interval.begin, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  io.field("length_ns", interval.length);
  io.field("bytes", interval.bytes);
  io.field("messages", interval.messages);
  io.field("warm_up", interval.warm_up);
}

void describe(results::Io& io, ThroughputSummary& summary) {
  io.field("bytes", summary.bytes);
  io.field("messages", summary.messages);
  io.field("elapsed_ns", summary.elapsed);
  io.field("mean_gbit_per_s", summary.mean_gbit_per_s, 0.0);
  io.field("min_gbit_per_s", summary.min_gbit_per_s, 0.0);
  io.field("p1_gbit_per_s", summary.p1_gbit_per_s, 0.0);
  io.field("p5_gbit_per_s", summary.p5_gbit_per_s, 0.0);
  io.field("median_gbit_per_s", summary.median_gbit_per_s, 0.0);
  io.field("max_gbit_per_s", summary.max_gbit_per_s, 0.0);
  io.field("ci95_half_width_gbit_per_s", summary.ci95_half_width_gbit_per_s, 0.0);
  io.field("messages_per_s", summary.messages_per_s, 0.0);
  io.field("interval_ns", summary.interval);
  io.field("whole_intervals", summary.whole_intervals);
  io.field("steady", summary.steady);
  io.field("steady_reason", summary.steady_reason);
}

void describe(results::Io& io, HistogramData& histogram) {
  std::vector<std::uint64_t> edges;
  std::vector<std::uint64_t> counts;
  for (const auto& [edge, count] : histogram.buckets_ns) {
    edges.push_back(edge);
    counts.push_back(count);
  }
  io.field("significant_digits", histogram.significant_digits, 1, 5);
  io.field("upper_edges_ns", edges);
  io.field("counts", counts, std::uint64_t{1});
  if (!io.reading()) return;
  if (edges.size() != counts.size()) io.fail("as many counts as upper_edges_ns");
  if (std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) != edges.end()) io.fail("rising upper_edges_ns");
  histogram.buckets_ns.clear();
  for (std::size_t i = 0; i < edges.size(); ++i) histogram.buckets_ns.emplace_back(edges[i], counts[i]);
}

void describe(results::Io& io, Outlier& outlier) {
  io.field("at_ns", outlier.at, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  io.field("value_ns", outlier.value);
}

void describe(results::Io& io, LatencySummary& summary) {
  io.field("samples", summary.samples);
  io.field("min_ns", summary.min_ns, 0.0);
  io.field("mean_ns", summary.mean_ns, 0.0);
  io.field("stddev_ns", summary.stddev_ns, 0.0);
  io.field("p50_ns", summary.p50_ns, 0.0);
  io.field("p90_ns", summary.p90_ns, 0.0);
  io.field("p99_ns", summary.p99_ns, 0.0);
  io.field("p99_9_ns", summary.p99_9_ns, 0.0);
  io.field("p99_99_ns", summary.p99_99_ns, 0.0);
  io.field("max_ns", summary.max_ns, 0.0);
  io.field("worst", summary.worst);
}

}  // namespace railgauge::stats

namespace railgauge::results {

void describe(Io& io, ErrorInfo& error) {
  io.field("kind", error.kind);
  io.field("code", error.code);
  io.field("stage", error.stage);
  io.field("side", error.side);
  io.field("text", error.text);
}

void describe(Io& io, ThreadUsage& usage) {
  io.field("cpu", usage.cpu, 0, 65535);
  io.field("user_ns", usage.user);
  io.field("system_ns", usage.system);
  io.field("elapsed_ns", usage.elapsed);
  io.field("voluntary_switches", usage.voluntary_switches);
  io.field("involuntary_switches", usage.involuntary_switches);
  io.field("run_queue_wait_ns", usage.run_queue_wait);
}

void describe(Io& io, Verification& verification) {
  io.field("checked_bytes", verification.checked_bytes);
  io.field("mismatched_bytes", verification.mismatched_bytes);
  io.field("first_offset_bytes", verification.first_offset);
  io.field("expected_byte", verification.expected, 0, 255);
  io.field("found_byte", verification.found, 0, 255);
  io.field("checked_messages", verification.checked_messages);
  io.field("messages", verification.messages);
  io.field("scope", verification.scope);
}

void describe(Io& io, TcpInfoSample& sample) {
  io.field("stream", sample.stream, 0);
  io.field("at_ns", sample.at, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  io.field("fields", sample.fields);
}

void describe(Io& io, SideResult& side) {
  io.field("role", side.role);
  io.field("host", side.host);
  io.field("placement", side.placement);
  io.field("choices", side.choices);
  io.field("settings", side.settings);
  io.field("path_mtu_bytes", side.path_mtu_bytes, 1);
  io.field("mss_bytes", side.mss_bytes, 1);
  io.field("simulated", side.simulated);
  io.field("software_device", side.software_device);
  io.field("sent", side.sent);
  io.field("received", side.received);
  io.field("sent_intervals", side.sent_intervals);
  io.field("received_intervals", side.received_intervals);
  io.field("latency", side.latency);
  io.field("histogram", side.histogram);
  io.field("loaded_latency", side.loaded_latency);
  io.field("late_sends", side.late_sends);
  io.field("unsent", side.unsent);
  io.field("drain_ns", side.drain);
  io.field("threads", side.threads);
  io.field("softirq_ns", side.softirq);
  io.field("tcp_info", side.tcp_info);
  io.field("tcp_info_every_intervals", side.tcp_info_every_intervals, std::uint64_t{1});
  io.field("tcp_info_limit_instants", side.tcp_info_limit_instants, std::uint64_t{1});
  io.field("limiter", side.limiter);
  io.field("counters", side.counters);
  io.field("counters_read", side.counters_read);
  io.field("verification", side.verification);
  io.field("zerocopy_completions", side.zerocopy_completions);
  io.field("zerocopy_copied", side.zerocopy_copied);
  io.field("events", side.events);
  io.field("warnings", side.warnings);
  io.field("error", side.error);
}

}  // namespace railgauge::results
