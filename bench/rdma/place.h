#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/engine.h"
#include "host/facts.h"
#include "transport/offer.h"
#include "verbs/device.h"

namespace railgauge::bench {

/// What one side's choices rest on.
struct PlaceRequest {
  const plan::Plan* plan = nullptr;         ///< outlives the place
  Side side = Side::client;
  const host::Snapshot* facts = nullptr;    ///< of this host, completed by what verbs knows; outlives the place
  std::string local_address;                ///< this side's end of the control connection, numeric
  std::string peer_address;
  bool same_host = false;                   ///< the peer runs on this host too
  host::CommonGround common;                ///< with the peer
};

/// Where one side of an RDMA measurement runs on its host: device, port, GID, CPUs, NUMA node, and a sentence for each choice.
class RdmaPlace {
 public:
  /// Chooses device and port. Throws Error{usage, unsupported}.
  explicit RdmaPlace(PlaceRequest request);

  /// Throws Error{unsupported} for a port that is not ACTIVE or a device without the plan's operation, Error{verbs} for
  /// messages larger than the port takes.
  void check(const verbs::Device& device) const;
  /// CPUs beside the device; on one host those that the other side does not take.
  void choose_cpus();
  /// Chooses this side's GID and puts it into `offer`; `peer` is what the peer offers, null when that is not known yet.
  void choose_gid(const verbs::Device& device, const transport::Offer* peer, transport::Offer& offer);

  const plan::Placement& placement() const noexcept { return placement_; }
  const std::string& device() const { return *placement_.device; }
  int port() const { return *placement_.port; }
  bool same_host() const noexcept { return request_.same_host; }
  /// The CPU of one measuring thread; nothing: not bound.
  std::optional<int> cpu_of(std::size_t thread) const {
    return placement_.cpus.empty() ? std::nullopt : std::optional(placement_.cpus[thread % placement_.cpus.size()]);
  }

  void note(std::string choice) { choices_.push_back(std::move(choice)); }
  const std::vector<std::string>& choices() const noexcept { return choices_; }
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  PlaceRequest request_;
  plan::Placement wish_;
  plan::Placement placement_;
  std::vector<std::string> choices_;
  std::vector<std::string> warnings_;
};

}  // namespace railgauge::bench
