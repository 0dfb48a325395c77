#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/lane_speed.h"
#include "base/log.h"
#include "verbs/device.h"
#include "verbs/device_list.h"

namespace railgauge::verbs {
namespace {

using host::Fact;
using host::Gid;
using host::RdmaDevice;
using host::RdmaPort;

const char* state_of(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN: return "DOWN";
    case IBV_PORT_INIT: return "INIT";
    case IBV_PORT_ARMED: return "ARMED";
    case IBV_PORT_ACTIVE: return "ACTIVE";
    case IBV_PORT_ACTIVE_DEFER: return "ACTIVE_DEFER";
    default: return "NOP";
  }
}

/// Words of drivers/infiniband/core/sysfs.c (Linux 6.1).
const char* physical_state_of(std::uint8_t state) {
  constexpr const char* kWords[] = {"Unknown",           "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
                                    "LinkErrorRecovery", "Phy Test"};
  return state < std::size(kWords) ? kWords[state] : "Unknown";
}

/// XDR's code does not fit the old field of eight bits; headers since rdma-core 49 have a wider one beside it.
template <typename Attributes>
std::uint32_t speed_code_of(const Attributes& attributes) {
  if constexpr (requires { attributes.active_speed_ex; }) {
    if (attributes.active_speed_ex != 0) return attributes.active_speed_ex;
  }
  return attributes.active_speed;
}

int lanes_of(std::uint8_t width) {
  switch (width) {
    case 1: return 1;
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 0;
  }
}

void fill_rate(RdmaPort& port, const ibv_port_attr& attributes) {
  std::string why = fmt::format("libibverbs gives speed code {} and width code {}, of which this version knows one or none",
                                speed_code_of(attributes), attributes.active_width);
  port.rate_gbit_per_s = Fact<double>::missing(why);
  port.rate_text = Fact<std::string>::missing(why);
  port.width = Fact<int>::missing(why);
  port.speed = Fact<std::string>::missing(why);
  int lanes = lanes_of(attributes.active_width);
  std::uint32_t code = speed_code_of(attributes);
  for (const LaneFacts& speed : kLaneSpeeds) {
    if (speed.verbs_code != code || lanes == 0) continue;
    double rate = speed.nominal_gbit_per_s * lanes;
    port.width = Fact<int>::of(lanes);
    port.speed = Fact<std::string>::of(speed.name);
    port.rate_text = Fact<std::string>::of(fmt::format("{} Gb/sec ({}X {})", rate, lanes, speed.name));
    if (*port.physical_state == "LinkUp") port.rate_gbit_per_s = Fact<double>::of(rate);
    else port.rate_gbit_per_s = Fact<double>::missing(fmt::format("physical state {}", *port.physical_state));
  }
}

RdmaPort describe_port(const Device& device, int number) {
  ibv_port_attr attributes = device.query_port(number);
  RdmaPort port;
  port.port = number;
  port.state = Fact<std::string>::of(state_of(attributes.state));
  port.physical_state = Fact<std::string>::of(physical_state_of(attributes.phys_state));
  fill_rate(port, attributes);
  port.link_layer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? host::LinkLayer::ethernet : host::LinkLayer::infiniband;
  port.active_mtu_bytes = mtu_bytes_of(attributes.active_mtu);
  port.max_mtu_bytes = mtu_bytes_of(attributes.max_mtu);
  port.lid = Fact<int>::of(attributes.lid);
  port.sm_lid = Fact<int>::of(attributes.sm_lid);
  port.gids = device.query_gids(number);
  return port;
}

std::string guid_text(std::uint64_t network_order) {
  std::array<std::uint8_t, 8> raw{};
  std::memcpy(raw.data(), &network_order, raw.size());
  return fmt::format("{:02x}{:02x}:{:02x}{:02x}:{:02x}{:02x}:{:02x}{:02x}", raw[0], raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7]);
}

Fact<int> limit_fact(int told) { return told_limit(told) ? Fact<int>::of(told) : Fact<int>::missing(fmt::format("libibverbs says {}", told)); }

/// What only sysfs has; a merge with what it says puts that in front.
void mark_unknown(RdmaDevice& facts) {
  const std::string why = "no /sys/class/infiniband/" + facts.name;
  for (auto* fact : {&facts.hca_type, &facts.board_id, &facts.driver, &facts.local_cpulist, &facts.pci.id}) fact->reason = why;
  for (auto* fact : {&facts.numa_node, &facts.pci.max_payload_bytes, &facts.pci.max_read_request_bytes}) fact->reason = why;
  facts.pci.relaxed_ordering.reason = why;
}

/// What only verbs has, of a device that would not open.
void mark_unopened(RdmaDevice& facts, const std::string& why) {
  for (auto* fact : {&facts.firmware, &facts.node_guid, &facts.sys_image_guid, &facts.node_type, &facts.char_device}) fact->reason = why;
  for (auto* fact : {&facts.max_qp_depth, &facts.max_qps, &facts.max_cq_entries}) fact->reason = why;
}

void describe_opened(const Device& device, RdmaDevice& facts) {
  const ibv_device_attr& limits = device.limits();
  facts.firmware = Fact<std::string>::of(limits.fw_ver);
  facts.node_guid = Fact<std::string>::of(guid_text(limits.node_guid));
  facts.sys_image_guid = Fact<std::string>::of(guid_text(limits.sys_image_guid));
  facts.node_type = Fact<std::string>::of(device.iwarp() ? "4: RNIC" : "1: CA");
  const char* node = device.context()->device->dev_name;
  facts.char_device = *node != '\0' ? Fact<std::string>::of(std::string("/dev/infiniband/") + node)
                                   : Fact<std::string>::missing("libibverbs names no device node");
  facts.max_qp_depth = limit_fact(limits.max_qp_wr);
  facts.max_qps = limit_fact(limits.max_qp);
  facts.max_cq_entries = limit_fact(limits.max_cqe);
  facts.software = device.software();
  facts.simulated = device.simulated();
  for (int port = 1; port <= limits.phys_port_cnt; ++port) facts.ports.push_back(describe_port(device, port));
  for (const RdmaPort& port : facts.ports)
    for (const Gid& gid : port.gids)
      if (gid.netdev && std::find(facts.netdevs.begin(), facts.netdevs.end(), *gid.netdev) == facts.netdevs.end())
        facts.netdevs.push_back(*gid.netdev);
}

template <typename T>
void prefer_known(Fact<T>& known, const Fact<T>& other) {
  if (!known && other) known = other;
}

void merge_port(RdmaPort& port, const RdmaPort& seen) {
  port.active_mtu_bytes = seen.active_mtu_bytes;
  port.max_mtu_bytes = seen.max_mtu_bytes;
  prefer_known(port.state, seen.state);
  prefer_known(port.physical_state, seen.physical_state);
  prefer_known(port.rate_gbit_per_s, seen.rate_gbit_per_s);
  prefer_known(port.rate_text, seen.rate_text);
  prefer_known(port.width, seen.width);
  prefer_known(port.speed, seen.speed);
  prefer_known(port.lid, seen.lid);
  prefer_known(port.sm_lid, seen.sm_lid);
  if (port.link_layer == host::LinkLayer::unknown) port.link_layer = seen.link_layer;
  for (const Gid& gid : seen.gids)
    if (std::none_of(port.gids.begin(), port.gids.end(), [&](const Gid& known) { return known.index == gid.index; })) port.gids.push_back(gid);
  std::sort(port.gids.begin(), port.gids.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
}

void merge_device(RdmaDevice& device, const RdmaDevice& seen) {
  prefer_known(device.firmware, seen.firmware);
  prefer_known(device.node_guid, seen.node_guid);
  prefer_known(device.sys_image_guid, seen.sys_image_guid);
  prefer_known(device.node_type, seen.node_type);
  device.char_device = seen.char_device;
  prefer_known(device.max_qp_depth, seen.max_qp_depth);
  prefer_known(device.max_qps, seen.max_qps);
  prefer_known(device.max_cq_entries, seen.max_cq_entries);
  device.software = device.software || seen.software;
  device.simulated = device.simulated || seen.simulated;
  if (device.netdevs.empty()) device.netdevs = seen.netdevs;
  for (const RdmaPort& port : seen.ports) {
    auto known = std::find_if(device.ports.begin(), device.ports.end(), [&](const RdmaPort& p) { return p.port == port.port; });
    if (known == device.ports.end()) device.ports.push_back(port);
    else merge_port(*known, port);
  }
}

}  // namespace

PortFacts Device::port_facts(int port) const {
  ibv_port_attr attributes = query_port(port);
  return {.state = state_of(attributes.state),
          .active = attributes.state == IBV_PORT_ACTIVE,
          .link_layer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? host::LinkLayer::ethernet : host::LinkLayer::infiniband,
          .lid = attributes.lid,
          .active_mtu_bytes = mtu_bytes_of(attributes.active_mtu),
          .max_message_bytes = told_limit(attributes.max_msg_sz)};
}

std::vector<RdmaDevice> describe_devices() noexcept {
  std::vector<RdmaDevice> all;
  try {
    DeviceList list;
    for (ibv_device* device : list.devices()) {
      RdmaDevice facts;
      facts.name = ibv_get_device_name(device);
      mark_unknown(facts);
      try {
        describe_opened(Device::open(facts.name), facts);
      } catch (const Error& error) {
        mark_unopened(facts, error.what());
      }
      all.push_back(std::move(facts));
    }
  } catch (const std::exception& error) {
    log_warning("listing RDMA devices: {}", error.what());
  }
  return all;
}

std::optional<std::string> unexplained_stand_in(const RdmaDevice& device) {
  const std::string firmware = device.firmware.value.value_or("unknown");
  if (!device.simulated || firmware.rfind("simulated", 0) == 0) return std::nullopt;
  return fmt::format("{} is taken for a stand-in: libibverbs opens it (firmware {}), but /sys/class/infiniband has no {}; if it is hardware, mount "
                     "the /sys of its network namespace (container: -v /sys:/sys)",
                     device.name, firmware, device.name);
}

void merge_into(host::Snapshot& snapshot, Merge which) {
  for (const RdmaDevice& seen : describe_devices()) {
    auto& known = snapshot.rdma_devices;
    auto same = std::find_if(known.begin(), known.end(), [&](const RdmaDevice& d) { return d.name == seen.name; });
    if (same == known.end() && which == Merge::known) continue;
    if (same == known.end()) known.push_back(seen);
    else merge_device(*same, seen);
    if (auto warning = unexplained_stand_in(seen)) snapshot.warnings.push_back(*warning);
  }
}

}  // namespace railgauge::verbs
