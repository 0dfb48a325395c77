#pragma once
#include "results/io.h"
#include "results/record.h"

// What stands in a record, struct by struct; declared in the namespaces of the structs so that io.h finds them.

namespace railgauge::plan {
void describe(results::Io& io, Plan& plan);
void describe(results::Io& io, RdmaSettings& settings);
void describe(results::Io& io, TcpSettings& settings);
void describe(results::Io& io, Placement& placement);
}  // namespace railgauge::plan

namespace railgauge::host {
void describe(results::Io& io, PciLink& link);
void describe(results::Io& io, PciPath& path);
void describe(results::Io& io, Gid& gid);
void describe(results::Io& io, RdmaPort& port);
void describe(results::Io& io, RdmaDevice& device);
void describe(results::Io& io, Netdev& netdev);
void describe(results::Io& io, NicDistance& nic);
void describe(results::Io& io, Gpu& gpu);
void describe(results::Io& io, GpuDirectFacts& facts);
void describe(results::Io& io, Snapshot& facts);
void describe(results::Io& io, CounterDelta& counter);
void describe(results::Io& io, Difference& difference);
}  // namespace railgauge::host

namespace railgauge::stats {
void describe(results::Io& io, Interval& interval);
void describe(results::Io& io, ThroughputSummary& summary);
void describe(results::Io& io, HistogramData& histogram);
void describe(results::Io& io, Outlier& outlier);
void describe(results::Io& io, LatencySummary& summary);
}  // namespace railgauge::stats

namespace railgauge::rates {
void describe(results::Io& io, Term& term);
void describe(results::Io& io, Expectation& expectation);
}  // namespace railgauge::rates

namespace railgauge::results {
void describe(Io& io, ErrorInfo& error);
void describe(Io& io, ThreadUsage& usage);
void describe(Io& io, Verification& verification);
void describe(Io& io, TcpInfoSample& sample);
void describe(Io& io, SideResult& side);
void describe(Io& io, Verdict& verdict);
void describe(Io& io, Measurement& measurement);
void describe(Io& io, Provenance& provenance);
void describe(Io& io, Node& node);
void describe(Io& io, Record& record);
}  // namespace railgauge::results
