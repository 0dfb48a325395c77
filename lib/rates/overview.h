#pragma once
#include <string>
#include <utility>
#include <vector>

namespace railgauge::rates {

/// One line of an overview: goodput of one link at each MTU (or of one PCIe link at each MaxPayload).
struct OverviewRow {
  std::string link;                                 ///< "4X NDR", "100G", "gen4 x16"
  double data_gbit_per_s = 0;                       ///< before packet headers
  std::vector<std::pair<int, double>> goodput;      ///< (MTU or MaxPayload in bytes, payload Gbit/s)
};

/// One overview with its caption.
struct OverviewTable {
  std::string key;          ///< "roce_v2_ipv4": a stable word for JSON
  std::string title;        ///< "RoCE v2 over IPv4, write 1 MiB, Gbit/s by path MTU"
  std::string column;       ///< "MTU", "MaxPayload"
  std::vector<OverviewRow> rows;
};

/// Every link × MTU: InfiniBand by speed and width, RoCE v2 over IPv4 and IPv6, RoCE v1, TCP, PCIe by MaxPayload.
std::vector<OverviewTable> overview();

}  // namespace railgauge::rates
