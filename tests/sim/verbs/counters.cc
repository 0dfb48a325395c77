#include "counters.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace railgauge::simverbs {

namespace {

void add(PortRecord& from, PortRecord& to, std::uint64_t bytes, std::uint64_t packets) noexcept {
  from.tx_bytes.fetch_add(bytes, std::memory_order_relaxed);
  from.tx_packets.fetch_add(packets, std::memory_order_relaxed);
  to.rx_bytes.fetch_add(bytes, std::memory_order_relaxed);
  to.rx_packets.fetch_add(packets, std::memory_order_relaxed);
}

void put(const std::string& path, const std::string& text) noexcept {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", text.c_str());
  std::fclose(file);
}

std::string port_folder(const SimDevice& device, std::uint32_t port) {
  return std::string(device.verbs.ibdev_path) + "/ports/" + std::to_string(port);
}

void put_counter(const SimDevice& device, std::uint32_t port, const char* name, std::uint64_t moved) {
  const auto& described = device.description.ports[port - 1].counters;
  const auto at = described.find(name);
  const std::uint64_t start = at == described.end() ? 0 : at->second;
  put(port_folder(device, port) + "/counters/" + name, std::to_string(start + moved));
}

void add(PortTotals& totals, const PortRecord& r) noexcept {
  totals.tx_bytes += r.tx_bytes.load();
  totals.rx_bytes += r.rx_bytes.load();
  totals.tx_packets += r.tx_packets.load();
  totals.rx_packets += r.rx_packets.load();
  totals.downed += r.downed.load();
}

}  // namespace

void publish_counters(SimQp& qp) noexcept {
  if (qp.target.peer == nullptr || qp.shared->port == 0) return;
  PortRecord& mine = qp.context->header->ports[qp.shared->port];
  PortRecord& theirs = qp.target.peer->header->ports[qp.target.qp->port];
  if (qp.tx_packets != 0) add(mine, theirs, qp.tx_bytes, qp.tx_packets);
  if (qp.rx_packets != 0) add(theirs, mine, qp.rx_bytes, qp.rx_packets);
  qp.tx_bytes = qp.tx_packets = qp.rx_bytes = qp.rx_packets = 0;
}

bool sysfs_is_public() noexcept {
  const char* folder = std::getenv("RAILGAUGE_SIM_SYSFS");
  return folder != nullptr && *folder != '\0';
}

void count_context(SimContext& c) {
  const std::lock_guard guard(c.device->mutex);
  c.device->open.push_back(c.header);
  c.counted = sysfs_is_public();
}

void finish_context(SimContext& c) noexcept {
  {
    const std::lock_guard guard(c.device->mutex);
    std::erase(c.device->open, c.header);
    for (std::uint32_t port = 1; port <= c.header->port_count; ++port) add(c.device->finished[port], c.header->ports[port]);
  }
  write_counter_files(*c.device);
}

void write_counter_files(SimDevice& device) noexcept {
  if (!sysfs_is_public()) return;
  const std::lock_guard guard(device.mutex);
  for (std::uint32_t port = 1; port <= device.description.ports.size(); ++port) {
    PortTotals totals = device.finished[port];
    for (const auto* header : device.open) add(totals, header->ports[port]);
    // the data counters count words of four bytes (IBTA PortXmitData), here of payload only
    put_counter(device, port, "port_xmit_data", totals.tx_bytes / 4);
    put_counter(device, port, "port_rcv_data", totals.rx_bytes / 4);
    put_counter(device, port, "port_xmit_packets", totals.tx_packets);
    put_counter(device, port, "port_rcv_packets", totals.rx_packets);
    put_counter(device, port, "link_downed", totals.downed);
  }
}

void write_state_files(const SimContext& c, std::uint32_t port, bool up) noexcept {
  if (!sysfs_is_public()) return;
  put(port_folder(*c.device, port) + "/state", up ? "4: ACTIVE" : "1: DOWN");
  put(port_folder(*c.device, port) + "/phys_state", up ? "5: LinkUp" : "3: Disabled");
}

}  // namespace railgauge::simverbs
