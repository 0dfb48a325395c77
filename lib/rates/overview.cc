#include "rates/overview.h"

#include <fmt/format.h>

#include <initializer_list>

#include "rates/infiniband.h"
#include "rates/pcie.h"
#include "rates/wire.h"

namespace railgauge::rates {
namespace {

constexpr std::uint64_t kLargeBytes = 1 << 20;

OverviewRow rdma_row(std::string link, double rate, const PacketFormat& format) {
  OverviewRow row{std::move(link), rate, {}};
  for (int mtu : kPathMtus) {
    const Message message{RdmaOperation::write, kLargeBytes, mtu, format};
    row.goodput.emplace_back(mtu, rate * wire_efficiency(message));
  }
  return row;
}

OverviewTable infiniband_table() {
  OverviewTable table{"infiniband", "InfiniBand, write 1 MiB, Gbit/s by path MTU", "MTU", {}};
  for (const LaneFacts& lane : kLaneSpeeds) {
    for (int width : kWidths) {
      table.rows.push_back(rdma_row(fmt::format("{}X {}", width, lane.name), infiniband_data_gbit_per_s(lane.speed, width), {}));
    }
  }
  return table;
}

OverviewTable roce_table(const char* key, const char* title, const PacketFormat& format) {
  OverviewTable table{key, fmt::format("{}, write 1 MiB, Gbit/s by path MTU", title), "MTU", {}};
  for (int rate : kEthernetGbitPerS) table.rows.push_back(rdma_row(fmt::format("{}G", rate), rate, format));
  return table;
}

OverviewTable tcp_table(bool ipv6) {
  OverviewTable table{ipv6 ? "tcp_ipv6" : "tcp_ipv4",
                      fmt::format("TCP over {} with timestamps, Gbit/s by MTU", ipv6 ? "IPv6" : "IPv4"), "MTU", {}};
  for (int rate : kEthernetGbitPerS) {
    OverviewRow row{fmt::format("{}G", rate), static_cast<double>(rate), {}};
    for (int mtu : {1500, 9000}) row.goodput.emplace_back(mtu, rate * tcp_efficiency({mtu, ipv6, false}));
    table.rows.push_back(std::move(row));
  }
  return table;
}

OverviewTable pcie_table() {
  OverviewTable table{"pcie_write", "PCIe, DMA write, Gbit/s by MaxPayload", "MaxPayload", {}};
  for (int generation = 1; generation <= static_cast<int>(kPcieGtPerS.size()); ++generation) {
    for (int width : {1, 2, 4, 8, 16}) {
      OverviewRow row{fmt::format("gen{} x{}", generation, width), pcie_lane_gbyte_per_s(generation) * width * 8, {}};
      for (int payload : {128, 256, 512}) row.goodput.emplace_back(payload, pcie_write_gbit_per_s({generation, width, payload}));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::vector<OverviewTable> overview() {
  return {infiniband_table(),
          roce_table("roce_v2_ipv4", "RoCE v2 over IPv4", {Wire::roce_v2, false, false, false}),
          roce_table("roce_v2_ipv6", "RoCE v2 over IPv6", {Wire::roce_v2, false, true, false}),
          roce_table("roce_v1", "RoCE v1", {Wire::roce_v1, false, false, false}),
          tcp_table(false),
          tcp_table(true),
          pcie_table()};
}

}  // namespace railgauge::rates
