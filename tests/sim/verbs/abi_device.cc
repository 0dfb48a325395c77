/// Exported calls: devices, ports, events.
#include "abi.h"

#include <arpa/inet.h>
#include <endian.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "device_state.h"
#include "fabric.h"

using namespace railgauge::simverbs;

RAILGAUGE_SIM_EXPORT ibv_device** ibv_get_device_list(int* count) {
  const auto& all = devices();
  auto** list = static_cast<ibv_device**>(std::calloc(all.size() + 1, sizeof(ibv_device*)));
  if (list == nullptr) return errno = ENOMEM, nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) list[i] = &all[i]->verbs;
  if (count != nullptr) *count = static_cast<int>(all.size());
  return list;
}

RAILGAUGE_SIM_EXPORT void ibv_free_device_list(ibv_device** list) { std::free(list); }
RAILGAUGE_SIM_EXPORT const char* ibv_get_device_name(ibv_device* device) { return device->name; }
RAILGAUGE_SIM_EXPORT __be64 ibv_get_device_guid(ibv_device* device) { return htobe64(sim(device).description.guid); }
RAILGAUGE_SIM_EXPORT int ibv_get_device_index(ibv_device* device) { return static_cast<int>(sim(device).index); }

RAILGAUGE_SIM_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  SimContext* c = open_context(sim(device));
  return c == nullptr ? nullptr : &c->base();
}
RAILGAUGE_SIM_EXPORT int ibv_close_device(ibv_context* context) { return close_context(sim(context)); }
RAILGAUGE_SIM_EXPORT ibv_context* ibv_import_device(int) { return errno = EOPNOTSUPP, nullptr; }

RAILGAUGE_SIM_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  query_device(sim(context).device->description, *attr);
  return 0;
}

/// The old call, for programs without the extended table: the structure ends before the flags.
RAILGAUGE_SIM_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  ibv_port_attr full;
  if (const int refused = query_port(sim(context), port, full); refused != 0) return refused;
  std::memcpy(static_cast<void*>(attr), &full, offsetof(ibv_port_attr, flags));
  return 0;
}

RAILGAUGE_SIM_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, union ibv_gid* gid) {
  const auto& ports = sim(context).device->description.ports;
  const bool inside = port >= 1 && port <= ports.size() && index >= 0 &&
                      static_cast<std::uint32_t>(index) < ports[port - 1u].gid_table_length;
  if (!inside) return errno = EINVAL, -1;
  *gid = {};
  const auto* entry = gid_entry(sim(context), port, static_cast<std::uint32_t>(index));
  if (entry != nullptr) *gid = entry->gid;
  return 0;
}

static ibv_gid_entry public_entry(const GidDescription& gid, std::uint32_t port) {
  ibv_gid_entry entry{};
  entry.gid = gid.gid;
  entry.gid_index = gid.index;
  entry.port_num = port;
  entry.gid_type = gid.type;
  entry.ndev_ifindex = gid.netdev.empty() ? 0 : if_nametoindex(gid.netdev.c_str());
  return entry;
}

RAILGAUGE_SIM_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                                           ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
  const auto& ports = sim(context).device->description.ports;
  if (flags != 0 || sim(context).device->description.classic) return EOPNOTSUPP;
  if (port < 1 || port > ports.size() || index >= ports[port - 1].gid_table_length) return EINVAL;
  const auto* found = gid_entry(sim(context), port, index);
  if (found == nullptr) return ENODATA;
  const ibv_gid_entry full = public_entry(*found, port);
  std::memcpy(entry, &full, std::min(size, sizeof full));
  return 0;
}

RAILGAUGE_SIM_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t room,
                                                  std::uint32_t flags, std::size_t size) {
  const auto& description = sim(context).device->description;
  if (flags != 0 || description.classic || !description.gid_table) return -EOPNOTSUPP;
  if (size < sizeof(ibv_gid_entry)) return -EINVAL;
  const auto& ports = sim(context).device->description.ports;
  std::size_t given = 0;
  for (std::uint32_t port = 1; port <= ports.size(); ++port) {
    for (const auto& gid : ports[port - 1].gids) {
      if (given == room) return -EINVAL;
      const ibv_gid_entry full = public_entry(gid, port);
      std::memcpy(reinterpret_cast<char*>(entries) + given++ * size, &full, sizeof full);
    }
  }
  return static_cast<ssize_t>(given);
}

/// A private call of libibverbs: 1 for RoCE v2, 0 for InfiniBand and RoCE v1.
RAILGAUGE_SIM_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, unsigned* type) {
  const auto* found = gid_entry(sim(context), port, index);
  if (found == nullptr) return errno = EINVAL, -1;
  *type = found->type == 2 ? 1 : 0;
  return 0;
}

RAILGAUGE_SIM_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  if (port < 1 || port > sim(context).device->description.ports.size() || index != 0) return errno = EINVAL, -1;
  *pkey = 0xffff;
  return 0;
}

RAILGAUGE_SIM_EXPORT int ibv_get_pkey_index(ibv_context*, std::uint8_t, __be16 pkey) { return pkey == 0xffff ? 0 : -1; }

RAILGAUGE_SIM_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  SimContext& c = sim(context);
  for (;;) {
    AsyncRecord record{};
    if (read(context->async_fd, &record, sizeof record) != sizeof record) return -1;
    event->event_type = static_cast<ibv_event_type>(record.event);
    if (record.qpn != 0) {
      SimQp* qp = local_qp(record.qpn);
      if (qp == nullptr) continue;  // destroyed meanwhile: its events go with it
      ++qp->events_given;
      event->element.qp = &qp->base();
    } else if (record.event == IBV_EVENT_CQ_ERR) {
      const std::lock_guard guard(c.mutex);
      auto* cq = reinterpret_cast<SimCq*>(record.cookie);
      if (c.cqs.count(cq) == 0) continue;
      ++cq->async_events_given;
      event->element.cq = &cq->verbs;
    } else {
      event->element.port_num = static_cast<int>(record.cookie);
    }
    return 0;
  }
}

RAILGAUGE_SIM_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
  const auto acknowledge = [](pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& count) {
    pthread_mutex_lock(&mutex);
    ++count;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
  };
  const int type = event->event_type;
  if (type == IBV_EVENT_CQ_ERR) {
    ibv_cq& cq = *event->element.cq;
    acknowledge(cq.mutex, cq.cond, cq.async_events_completed);
  } else if ((type >= IBV_EVENT_QP_FATAL && type <= IBV_EVENT_PATH_MIG_ERR) || type == IBV_EVENT_QP_LAST_WQE_REACHED) {
    ibv_qp& qp = *event->element.qp;
    acknowledge(qp.mutex, qp.cond, qp.events_completed);
  }
}

RAILGAUGE_SIM_EXPORT int ibv_fork_init() { return 0; }
RAILGAUGE_SIM_EXPORT ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }

RAILGAUGE_SIM_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t mac[ETHERNET_LL_SIZE],
                                                     std::uint16_t* vid) {
  std::memset(mac, 2, ETHERNET_LL_SIZE);
  if (vid != nullptr) *vid = 0xffff;
  return 0;
}
