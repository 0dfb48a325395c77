#pragma once
#include <optional>
#include <string>

#include "host/facts.h"

namespace railgauge::host {

struct DeviceWish {
  std::optional<std::string> device;    ///< the user's
  std::optional<int> port;              ///< the user's
  std::string local_ip;                 ///< of the control connection on this side; may be empty
  std::optional<LinkLayer> peer_link_layer;  ///< of the port the peer has chosen, if it has
};

struct DeviceChoice {
  std::string device;
  int port = 1;
  std::string reason;                   ///< one sentence
};

/// Chooses RDMA device and port: the user's > the one whose interface carries the control connection's address > the only
/// ACTIVE one > the fastest ACTIVE one of the peer's link layer (hardware before software, then by name).
/// Throws Error{usage} for a name or port that is not there (listing those that are) and Error{unsupported} when no device
/// is present or none can carry traffic, naming state and what mends it.
DeviceChoice choose_device(const Snapshot& snapshot, const DeviceWish& wish);

/// Why a port cannot carry traffic and what mends it; empty when it is ACTIVE.
std::string why_not_active(const RdmaPort& port);

}  // namespace railgauge::host
