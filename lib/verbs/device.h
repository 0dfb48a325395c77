#pragma once
#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"
#include "verbs/handles.h"

namespace railgauge::verbs {

/// What verbs says of one port, in words that need no <infiniband/verbs.h>.
struct PortFacts {
  std::string state;                    ///< "ACTIVE", "DOWN", …
  bool active = false;
  host::LinkLayer link_layer = host::LinkLayer::unknown;
  std::uint16_t lid = 0;                ///< 0 on Ethernet
  host::Fact<int> active_mtu_bytes;
  std::optional<std::uint64_t> max_message_bytes;
};

/// An opened RDMA device with its limits. Moves; lives longer than everything made from it.
class Device {
 public:
  /// Throws Error{system} when there is no such device (naming those that are) or its node may not be opened: a host whose
  /// facts show the device is broken then, not without RDMA.
  static Device open(const std::string& name);

  const std::string& name() const noexcept { return name_; }
  ibv_context* context() const noexcept { return context_.get(); }
  const ibv_device_attr& limits() const noexcept { return limits_; }
  /// Throws Error{verbs}; EINVAL for a port the device does not have.
  ibv_port_attr query_port(int port) const;
  /// The same, in plain words.
  PortFacts port_facts(int port) const;
  /// The non-empty entries of the port's GID table, by index. Where neither libibverbs nor sysfs tells the RoCE version it
  /// is taken to be 2, or 1 for the first of two slots with one GID, as the kernel orders them; Gid::type_doubt says so.
  std::vector<host::Gid> query_gids(int port) const;
  /// False where the device refuses fetch_add and compare_swap.
  bool has_atomics() const noexcept;
  /// Connects through the connection manager only.
  bool iwarp() const noexcept;
  /// A stand-in: it says so in its firmware version ("simulated …"), or the kernel's /sys has no such device.
  bool simulated() const noexcept { return simulated_; }
  /// Made of software: rxe, siw, stand-ins.
  bool software() const noexcept { return software_; }

 private:
  Device(std::string name, ContextHandle context);
  std::string name_;
  ContextHandle context_;
  ibv_device_attr limits_{};
  bool simulated_ = false;
  bool software_ = false;
};

/// Queue pairs and registered memory of one domain reach each other only. Lives longer than what is made in it.
class ProtectionDomain {
 public:
  /// Throws Error{verbs}.
  explicit ProtectionDomain(const Device& device);
  ibv_pd* get() const noexcept { return pd_.get(); }

 private:
  PdHandle pd_;
};

/// What libibverbs says of every device it sees, in the shape of the host's facts. A device that cannot be opened is there
/// with the reason in char_device. Never throws; empty when libibverbs sees none.
std::vector<host::RdmaDevice> describe_devices() noexcept;

/// Why a device of describe_devices() counts as simulated although its firmware does not say so; nothing for any other.
std::optional<std::string> unexplained_stand_in(const host::RdmaDevice& device);

/// Which devices that libibverbs sees come into a snapshot: all, or those that it has already.
enum class Merge { all, known };

/// Completes a snapshot by what only verbs knows (active and largest MTU, limits, simulated) and by what sysfs lacks (state,
/// rate, GIDs; whole devices, for stand-ins). What sysfs said stays. Adds the warning of unexplained_stand_in.
void merge_into(host::Snapshot& snapshot, Merge which = Merge::all);

/// A limit as a device tells it; nothing for 0 or less, which no device that works can mean.
std::optional<std::uint64_t> told_limit(std::int64_t value) noexcept;

/// 4096 for IBV_MTU_4096, …; missing, with the code found, for one that is no path MTU.
host::Fact<int> mtu_bytes_of(ibv_mtu mtu);
/// The enum value of one of kPathMtus; throws Error{usage} for another.
ibv_mtu mtu_of_bytes(int bytes);

/// "fe80:0000:0000:0000:0202:c9ff:fe12:3456", as sysfs prints it, and back; parse throws Error{data}.
std::string format_gid(const ibv_gid& gid);
ibv_gid parse_gid(const std::string& text);

}  // namespace railgauge::verbs
