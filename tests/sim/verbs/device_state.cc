#include "device_state.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "clock.h"
#include "counters.h"
#include "cq.h"
#include "engine.h"
#include "fabric.h"
#include "faults.h"
#include "helper.h"
#include "pacing.h"
#include "sysfs.h"
#include "verbs_table.h"

namespace railgauge::simverbs {

namespace {

void publish_port(SimContext& c, std::uint32_t number) {
  const DeviceDescription& d = c.device->description;
  const PortDescription& port = d.ports[number - 1];
  PortRecord& record = c.header->ports[number];
  record.lid = port.lid;
  record.is_ethernet = port.ethernet ? 1 : 0;
  record.bits_per_s = static_cast<std::uint64_t>(port.gbit_per_s * 1e9);
  record.egress_clock = port_clock(d, number, true);
  record.ingress_clock = port_clock(d, number, false);
  for (const auto& gid : port.gids) {
    GidRecord& entry = record.gids[gid.index];
    std::memcpy(entry.raw, gid.gid.raw, 16);
    entry.type = gid.type;
    entry.valid = 1;
  }
  if (port.state < IBV_PORT_ACTIVE) c.header->ports_down.fetch_or(1u << number);
}

bool make_event_pipe(SimContext& c) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  c.async_read_fd = ends[0];
  c.base().async_fd = c.device->description.classic ? -1 : ends[0];
  c.async_write_fd = ends[1];
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  c.header->async_fd = ends[1];
  return true;
}

}  // namespace

std::vector<SimDevice*>& devices() {
  static auto* made = [] {
    auto* all = new std::vector<SimDevice*>;
    for (auto& description : load_devices()) {
      auto* device = new SimDevice;
      device->index = static_cast<std::uint32_t>(all->size());
      device->verbs.node_type = IBV_NODE_CA;
      device->verbs.transport_type = IBV_TRANSPORT_IB;
      std::snprintf(device->verbs.name, sizeof device->verbs.name, "%s", description.name.c_str());
      std::snprintf(device->verbs.dev_name, sizeof device->verbs.dev_name, "uverbs%u", device->index);
      device->description = std::move(description);
      all->push_back(device);
    }
    write_sysfs(*all);
    return all;
  }();
  return *made;
}

SimContext* open_context(SimDevice& device) {
  if (const int forced = forced_errno_without_context("open"); forced != 0) return errno = forced, nullptr;
  if (fabric() == nullptr || memory_file() < 0) return nullptr;
  auto c = std::make_unique<SimContext>();
  c->device = &device;
  c->self = create_own_peer();
  if (c->self == nullptr) return nullptr;
  c->header = c->self->header;
  if (!make_event_pipe(*c)) {
    destroy_own_peer(c->self);
    return nullptr;
  }
  const DeviceDescription& d = device.description;
  c->doorbell_ticks = static_cast<std::uint64_t>(static_cast<double>(d.doorbell_ns) * ticks_per_ns());
  c->alive_ticks = static_cast<std::int64_t>(1e6 * ticks_per_ns());
  c->paced = d.paced;
  c->copy_payload = d.copy_payload;
  c->latency_ns = d.latency_ns;
  c->header->port_count = static_cast<std::uint32_t>(d.ports.size());
  for (std::uint32_t port = 1; port <= d.ports.size(); ++port) publish_port(*c, port);
  fill_verbs_table(*c);
  count_context(*c);
  start_faults(*c);
  if (sysfs_is_public()) wake_helper(*c);  // it keeps the counter files up to date
  return c.release();
}

int close_context(SimContext& c) {
  stop_helper(c);
  finish_context(c);
  c.header->alive.store(0);
  {
    // the real call succeeds with objects left over; they stay valid for a late destroy, only traffic has ended
    const std::lock_guard guard(c.mutex);
    if (c.qp_count + c.cq_count + c.pd_count + c.mr_count + c.channel_count != 0) return 0;
  }
  close(c.async_read_fd);
  close(c.async_write_fd);
  destroy_own_peer(c.self);
  pthread_mutex_destroy(&c.base().mutex);
  delete &c;
  return 0;
}

void set_port_up(SimContext& c, std::uint32_t port, bool up) noexcept {
  if (port < 1 || port > c.header->port_count) return;
  if (up) {
    c.header->ports_down.fetch_and(~(1u << port));
  } else {
    c.header->ports_down.fetch_or(1u << port);
    c.header->ports[port].downed.fetch_add(1);
  }
  write_state_files(c, port, up);
  raise_event(*c.self, {static_cast<std::uint32_t>(up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR), 0, port});
}

/// The wide field is there since rdma-core 60.
template <typename Attributes>
static void set_speed(Attributes& a, std::uint32_t code) noexcept {
  a.active_speed = static_cast<std::uint8_t>(std::min(code, 128u));
  if constexpr (requires { a.active_speed_ex; }) a.active_speed_ex = code;
}

int query_port(SimContext& c, std::uint32_t number, ibv_port_attr& a) noexcept {
  const auto& ports = c.device->description.ports;
  if (number < 1 || number > ports.size()) return EINVAL;
  const PortDescription& p = ports[number - 1];
  const bool down = (c.header->ports_down.load() >> number & 1u) != 0;
  a = {};
  a.state = !down ? (p.state < IBV_PORT_ACTIVE ? IBV_PORT_ACTIVE : p.state)
                  : (p.state < IBV_PORT_ACTIVE ? p.state : IBV_PORT_DOWN);
  a.max_mtu = p.max_mtu;
  a.active_mtu = p.active_mtu;
  a.gid_tbl_len = static_cast<int>(p.gid_table_length);
  a.max_msg_sz = c.device->description.max_msg_bytes;
  a.pkey_tbl_len = 1;
  a.lid = p.lid;
  a.sm_lid = p.sm_lid;
  a.max_vl_num = 1;
  a.active_width = p.width_code;
  set_speed(a, p.speed_code);
  a.phys_state = down && p.state >= IBV_PORT_ACTIVE ? 3 : p.phys_state;
  a.link_layer = p.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  a.flags = p.ethernet ? IBV_QPF_GRH_REQUIRED : 0;
  return 0;
}

void query_device(const DeviceDescription& d, ibv_device_attr& a) noexcept {
  a = {};
  std::snprintf(a.fw_ver, sizeof a.fw_ver, "%s", d.firmware.c_str());
  a.node_guid = htobe64(d.guid);
  a.sys_image_guid = htobe64(d.guid);
  a.max_mr_size = d.max_mr_bytes;
  a.page_size_cap = 0xfffff000;
  a.vendor_id = 0;  // nobody's
  a.max_qp = d.max_qp;
  a.max_qp_wr = d.max_qp_wr;
  a.max_sge = d.max_sge;
  a.max_sge_rd = d.max_sge_rd;
  a.max_cq = d.max_cq;
  a.max_cqe = d.max_cqe;
  a.max_mr = d.max_mr;
  a.max_pd = d.max_pd;
  a.max_qp_rd_atom = d.max_rd_atomic;
  a.max_qp_init_rd_atom = d.max_rd_atomic;
  a.max_res_rd_atom = d.max_rd_atomic * d.max_qp;
  a.atomic_cap = d.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  a.max_ah = 65536;
  a.max_pkeys = 1;
  a.local_ca_ack_delay = 16;
  a.phys_port_cnt = static_cast<std::uint8_t>(d.ports.size());
}

const GidDescription* gid_entry(const SimContext& c, std::uint32_t port, std::uint32_t index) noexcept {
  const auto& ports = c.device->description.ports;
  if (port < 1 || port > ports.size()) return nullptr;
  for (const auto& gid : ports[port - 1].gids) {
    if (gid.index == index) return &gid;
  }
  return nullptr;
}

}  // namespace railgauge::simverbs
