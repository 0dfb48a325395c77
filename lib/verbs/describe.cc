#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "base/lane_speed.h"
#include "base/log.h"
#include "verbs/check.h"
#include "verbs/device.h"
#include "verbs/device_list.h"
#include "verbs/newer_calls.h"

namespace railgauge::verbs {
namespace {

using host::Fact;
using host::Gid;
using host::GidType;
using host::RdmaDevice;
using host::RdmaPort;

GidType type_of(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return GidType::roce_v2;
  return type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1 : GidType::ib;
}

std::optional<std::string> interface_of(std::uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  if (index == 0 || if_indextoname(index, name.data()) == nullptr) return std::nullopt;
  return std::string(name.data());
}

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

/// RoCE's version as sysfs has it. Without sysfs there is no driver of Linux behind the device; such a stand-in is taken to
/// speak v2, as everything does since Linux 4.5.
std::uint32_t type_of_slot(const ibv_context& context, const ibv_port_attr& attributes, int port, int index) {
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) return IBV_GID_TYPE_IB;
  FileText type = read_text_file(fmt::format("{}/ports/{}/gid_attrs/types/{}", context.device->ibdev_path, port, index));
  return type.text && *type.text == "IB/RoCE v1" ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

/// Slot by slot, by the classic call: for a library or device that has no call for the whole table.
std::vector<ibv_gid_entry> gid_entries_by_slot(const Device& device, int port, const ibv_port_attr& attributes) {
  std::vector<ibv_gid_entry> entries;
  for (int index = 0; index < attributes.gid_tbl_len; ++index) {
    ibv_gid_entry entry{};
    if (errno_of_negative(ibv_query_gid(device.context(), static_cast<std::uint8_t>(port), index, &entry.gid)) != 0) continue;
    if (host::is_empty_gid(format_gid(entry.gid))) continue;
    entry.gid_index = static_cast<std::uint32_t>(index);
    entry.port_num = static_cast<std::uint32_t>(port);
    entry.gid_type = type_of_slot(*device.context(), attributes, port, index);
    entries.push_back(entry);
  }
  return entries;
}

std::vector<ibv_gid_entry> gid_entries(const Device& device, int port) {
  ibv_port_attr attributes = device.query_port(port);
  auto query = newer_calls().query_gid_table;
  // The table holds the entries of all ports, and the call fails when the array is too small for them.
  std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(std::max(attributes.gid_tbl_len, 1)) * device.limits().phys_port_cnt);
  auto count = query == nullptr ? -ENOSYS : query(device.context(), entries.data(), entries.size(), 0, sizeof entries[0]);
  if (errno_of_negative(count) != 0) return gid_entries_by_slot(device, port, attributes);
  entries.resize(static_cast<std::size_t>(count));
  return entries;
}

RdmaPort describe_port(const Device& device, int number) {
  ibv_port_attr attributes = device.query_port(number);
  RdmaPort port;
  port.port = number;
  port.state = Fact<std::string>::of(state_of(attributes.state));
  port.physical_state = Fact<std::string>::of(physical_state_of(attributes.phys_state));
  fill_rate(port, attributes);
  port.link_layer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? host::LinkLayer::ethernet : host::LinkLayer::infiniband;
  port.active_mtu_bytes = Fact<int>::of(mtu_bytes_of(attributes.active_mtu));
  port.max_mtu_bytes = Fact<int>::of(mtu_bytes_of(attributes.max_mtu));
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

void describe_opened(const Device& device, RdmaDevice& facts) {
  const ibv_device_attr& limits = device.limits();
  facts.firmware = Fact<std::string>::of(limits.fw_ver);
  facts.node_guid = Fact<std::string>::of(guid_text(limits.node_guid));
  facts.sys_image_guid = Fact<std::string>::of(guid_text(limits.sys_image_guid));
  facts.node_type = Fact<std::string>::of(device.iwarp() ? "4: RNIC" : "1: CA");
  const char* node = device.context()->device->dev_name;
  facts.char_device = *node != '\0' ? Fact<std::string>::of(std::string("/dev/infiniband/") + node)
                                   : Fact<std::string>::missing("libibverbs names no device node");
  facts.max_qp_depth = Fact<int>::of(limits.max_qp_wr);
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
  if (port.gids.empty()) port.gids = seen.gids;
}

void merge_device(RdmaDevice& device, const RdmaDevice& seen) {
  prefer_known(device.firmware, seen.firmware);
  prefer_known(device.node_guid, seen.node_guid);
  prefer_known(device.sys_image_guid, seen.sys_image_guid);
  prefer_known(device.node_type, seen.node_type);
  device.char_device = seen.char_device;
  prefer_known(device.max_qp_depth, seen.max_qp_depth);
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
          .max_message_bytes = attributes.max_msg_sz};
}

std::vector<Gid> Device::query_gids(int port) const {
  std::vector<Gid> gids;
  for (const ibv_gid_entry& entry : gid_entries(*this, port)) {
    if (entry.port_num != static_cast<std::uint32_t>(port) || host::is_empty_gid(format_gid(entry.gid))) continue;
    gids.push_back(Gid{.index = static_cast<int>(entry.gid_index),
                       .gid = format_gid(entry.gid),
                       .type = type_of(entry.gid_type),
                       .netdev = interface_of(entry.ndev_ifindex),
                       .ip = entry.gid_type == IBV_GID_TYPE_IB ? std::nullopt : host::ip_of_gid(format_gid(entry.gid))});
  }
  return gids;
}

std::vector<RdmaDevice> describe_devices() noexcept {
  std::vector<RdmaDevice> all;
  try {
    DeviceList list;
    for (ibv_device* device : list.devices()) {
      RdmaDevice facts;
      facts.name = ibv_get_device_name(device);
      try {
        describe_opened(Device::open(facts.name), facts);
      } catch (const Error& error) {
        facts.char_device = Fact<std::string>::missing(error.what());
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

void merge_into(host::Snapshot& snapshot) {
  for (const RdmaDevice& seen : describe_devices()) {
    auto& known = snapshot.rdma_devices;
    auto same = std::find_if(known.begin(), known.end(), [&](const RdmaDevice& d) { return d.name == seen.name; });
    if (same == known.end()) known.push_back(seen);
    else merge_device(*same, seen);
    if (auto warning = unexplained_stand_in(seen)) snapshot.warnings.push_back(*warning);
  }
}

}  // namespace railgauge::verbs
