/// Opening and closing a device; its ports.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// The devices of this process, in the order of the description; made on the first call.
std::vector<SimDevice*>& devices();

/// ibv_open_device / ibv_close_device; null with errno on failure, an errno (EBUSY) on close.
SimContext* open_context(SimDevice& device);
int close_context(SimContext& context);

/// Takes a port down or up: traffic stops, and PORT_ERR or PORT_ACTIVE is raised. Any thread.
void set_port_up(SimContext& context, std::uint32_t port, bool up) noexcept;

/// Fills an attribute structure as ibv_query_port does; EINVAL for an unknown port.
int query_port(SimContext& context, std::uint32_t port, ibv_port_attr& attr) noexcept;
void query_device(const DeviceDescription& device, ibv_device_attr& attr) noexcept;

/// The GID table entry, or null.
const GidDescription* gid_entry(const SimContext& context, std::uint32_t port, std::uint32_t index) noexcept;

}  // namespace railgauge::simverbs
