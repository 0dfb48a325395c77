#pragma once
#include <optional>
#include <string>

#include "host/facts.h"
#include "host/subnet.h"

namespace railgauge::host {

/// Where two hosts can meet.
struct CommonGround {
  std::optional<LinkLayer> link_layer;  ///< which ACTIVE ports of both have
  std::optional<Subnet> subnet;         ///< Ethernet: in which ports of both have an address
};

struct DeviceWish {
  std::optional<std::string> device;    ///< the user's
  std::optional<int> port;              ///< the user's
  std::string local_ip;                 ///< of the control connection on this side; may be empty
  CommonGround common;                  ///< with the peer, as far as known
};

struct DeviceChoice {
  std::string device;
  int port = 1;
  std::string reason;                   ///< one sentence
};

/// Chooses RDMA device and port: the user's > the one whose interface carries the control connection's address > the only
/// ACTIVE one > the fastest ACTIVE one on common ground with the peer (hardware before software, then by name).
/// Throws Error{usage} for a name or port that is not there (listing those that are) , Error{unsupported} when no device
/// is present and Error{system} when none can carry traffic, naming state and what mends it.
DeviceChoice choose_device(const Snapshot& snapshot, const DeviceWish& wish);

/// Where two hosts, each with its user's wish, can meet. Link layer: that of the ports that carry the control connection at both
/// ends, as the user named the address of one; else the one whose slower end is the fastest. Subnet: that of the ports which
/// carry the control connection, or of the fastest pair; of equals the lowest. Both hosts come to the same answer.
CommonGround common_ground(const Snapshot& one, const DeviceWish& wish_of_one, const Snapshot& other, const DeviceWish& wish_of_other);

}  // namespace railgauge::host
