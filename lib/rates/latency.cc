#include "rates/latency.h"

namespace railgauge::rates {

const std::vector<LatencyFigure>& latency_reference() {
  static const std::vector<LatencyFigure> figures = {
      {"RC write, inline, ConnectX pair", 0.93, "half round trip", "one user report", "linux-rdma/perftest issues"},
      {"RC write, not inline, same pair", 1.32, "half round trip", "one user report", "linux-rdma/perftest issues"},
      {"RC read, same pair", 1.91, "full round trip", "one user report", "linux-rdma/perftest issues"},
      {"RC send 32 B, inline", 0.82, "half round trip", "thesis", "Potter"},
      {"RC send 1 KiB", 1.58, "half round trip", "thesis", "Potter"},
      {"RC send 4 KiB", 2.26, "half round trip", "thesis", "Potter"},
      {"RC send 32 KiB", 4.57, "half round trip", "thesis", "Potter"},
      {"UD send 32 B", 0.86, "half round trip", "thesis", "Potter"},
      {"ConnectX-6, upper bound", 0.8, "half round trip", "vendor brochure", "ConnectX-6 EN brief"},
      {"write and send, limit", 2.5, "half round trip", "acceptance script limit", "Mellanox/ngc_multinode_perf common.sh"},
      {"read, limit", 4.5, "full round trip", "acceptance script limit", "Mellanox/ngc_multinode_perf common.sh"},
  };
  return figures;
}

}  // namespace railgauge::rates
