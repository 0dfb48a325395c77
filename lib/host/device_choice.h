#pragma once
#include <optional>
#include <string>

#include "host/facts.h"

namespace railgauge::host {

struct DeviceWish {
  std::optional<std::string> device;    ///< the user's
  std::optional<int> port;              ///< the user's
  std::string local_ip;                 ///< of the control connection on this side; may be empty
  std::optional<LinkLayer> peer_link_layer;  ///< on which the peer can be met, if known
};

struct DeviceChoice {
  std::string device;
  int port = 1;
  std::string reason;                   ///< one sentence
};

/// Chooses RDMA device and port: the user's > the one whose interface carries the control connection's address > the only
/// ACTIVE one > the fastest ACTIVE one of the peer's link layer (hardware before software, then by name).
/// Throws Error{usage} for a name or port that is not there (listing those that are) , Error{unsupported} when no device
/// is present and Error{system} when none can carry traffic, naming state and what mends it.
DeviceChoice choose_device(const Snapshot& snapshot, const DeviceWish& wish);

/// The link layer on which two hosts, each with its user's wish, can meet: that of the ports that carry the control connection
/// at both ends, as the user named the address of one; else, of those that ACTIVE ports of both have, the one whose slower end is the fastest. Both hosts come to the same answer. Nothing when they have none in common.
std::optional<LinkLayer> common_link_layer(const Snapshot& one, const DeviceWish& wish_of_one, const Snapshot& other,
                                           const DeviceWish& wish_of_other);

/// Why a port of `device` cannot carry traffic and what mends it there, in words that hold on any host; empty when it is ACTIVE.
std::string why_not_active(const std::string& hostname, const RdmaDevice& device, const RdmaPort& port);

}  // namespace railgauge::host
