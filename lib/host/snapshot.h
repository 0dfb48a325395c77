#pragma once
#include <string_view>

#include "host/facts.h"
#include "host/root.h"

namespace railgauge::host {

/// Reads everything railgauge wants to know of one host, once. Never throws for what cannot be read: that is a Fact with a
/// reason. A function of the tree below `root` alone, unless `root` is live: then also of the running kernel. Takes a few
/// milliseconds; not for use while something is measured. Any thread.
Snapshot read_snapshot(const Root& root);

/// By name; nullptr when there is none. The pointer lives as long as the snapshot.
const RdmaDevice* find_device(const Snapshot& snapshot, std::string_view name) noexcept;
const RdmaPort* find_port(const RdmaDevice& device, int port) noexcept;
const Netdev* find_netdev(const Snapshot& snapshot, std::string_view name) noexcept;
/// The interface that carries this IP address (no prefix length; with or without "%eth0"), nullptr when none does.
const Netdev* find_netdev_by_address(const Snapshot& snapshot, std::string_view ip) noexcept;

}  // namespace railgauge::host
