#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"

namespace railgauge::host {

/// Two InfiniBand ports can talk under a P_Key whose low 15 bits both have and whose bit 15 (full member) at least one has
/// (InfiniBand specification 10.9.3).
bool share_pkey(const RdmaPort& a, const RdmaPort& b);

/// "0xffff 0x8001"
std::string list_pkeys(const RdmaPort& port);

/// What a measurement uses on one host.
struct UsedPath {
  std::optional<std::string> device;    ///< RDMA device
  int port = 1;
  std::optional<int> gid_index;
  std::optional<std::string> netdev;    ///< TCP, or the GID's interface
};

/// Lines for whatever differs between the two hosts on the path used and around it; equal facts give none. A fact missing on
/// one side only is a line with its reason, never one that matters.
std::vector<Difference> differences(const Snapshot& client, const UsedPath& client_path, const Snapshot& server,
                                    const UsedPath& server_path);

}  // namespace railgauge::host
