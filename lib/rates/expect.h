#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"
#include "rates/expectation.h"
#include "rates/infiniband.h"
#include "rates/pcie.h"
#include "rates/wire.h"

namespace railgauge::rates {

/// Where payload flows. `both`: the expectation is that of each direction by itself; links are full duplex.
enum class Flow { to_server, to_client, both };

/// One end of an RDMA path: what its host says of it.
struct RdmaEnd {
  std::string host;                         ///< name for the terms: "hostA"
  host::RdmaDevice device;
  host::RdmaPort port;
  std::optional<host::Gid> gid;             ///< the GID in use; empty on InfiniBand by LID, or unknown
  std::optional<host::Netdev> netdev;       ///< of the GID, else the device's first
  std::vector<host::Netdev> slaves;         ///< of a bond, as far as the snapshot knows them
  std::optional<double> link_gbit_per_s;    ///< the user's word; beats every source
};

/// One end of a TCP path.
struct TcpEnd {
  std::string host;
  host::Netdev netdev;
  std::vector<host::Netdev> slaves;
  std::optional<double> link_gbit_per_s;
};

/// Picks an end out of a snapshot. Throws Error{usage} if the device, port or GID index is not in it.
RdmaEnd rdma_end(const host::Snapshot& snapshot, const std::string& device, int port, std::optional<int> gid_index);

/// Picks an interface out of a snapshot. Throws Error{usage} if it is not in it.
TcpEnd tcp_end(const host::Snapshot& snapshot, const std::string& netdev);

/// Rate of a link before packet headers, and where it was found.
struct LinkRate {
  double gbit_per_s = 0;
  std::string name;         ///< "400 Gb/s (4X NDR)"
  std::string source;
  bool given_by_user = false;
  std::optional<double> at_most_gbit_per_s{};   ///< of a bond with few flows: what they reach if they spread well
  bool operator==(const LinkRate&) const = default;
};

/// Rate of an RDMA port for `qps` QPs. In this order: the user's word; on Ethernet the speed of the GID's netdev; width ×
/// speed (InfiniBand: data rate after line coding; Ethernet: as printed). Never guessed: missing with the reason when the
/// link is down, or when what the driver prints is known to be a filler. Of a bond, one slave carries one QP: with fewer
/// than two QPs a slave the rate is one slave's and at most that of as many slaves as there are QPs, above it is their sum.
host::Fact<LinkRate> link_rate(const RdmaEnd& end, int qps);

/// Rate of an interface for `streams` TCP connections; missing for virtual interfaces other than bonds.
host::Fact<LinkRate> link_rate(const TcpEnd& end, int streams);

/// What an RDMA measurement is about.
struct RdmaQuestion {
  RdmaOperation operation = RdmaOperation::write;
  std::uint64_t message_bytes = 65536;      ///< ≥ 1
  std::optional<int> path_mtu_bytes{};        ///< in effect; empty: the smaller active MTU, else by the netdevs' MTU
  Flow flow = Flow::to_server;              ///< of the payload, whoever posts
  int qps = 1;                              ///< of all threads together
  bool grh = false;                         ///< InfiniBand: a GID index is in use
  bool vlan = false;
  bool message_rate = false;                ///< the figure is messages, not bytes
  std::optional<double> asked_gbit_per_s{}; ///< payload that each sending side was limited to, all QPs together; empty: no limit
};

/// The upper bound of `question` between two ends: port of each, and each PCIe link on each host's way, by name. Of a bond the
/// links of all slaves count, each with the share of the traffic that crosses it: a link that two ports of one card share, whole.
/// What the plan limited itself to is a term like the others. No expectation (with the reason) for software devices and unknown links. Simulated devices are computed like real
/// ones; whether that judges anything is the report's decision.
Expectation expect_rdma(const RdmaQuestion& question, const RdmaEnd& client, const RdmaEnd& server);

/// What a TCP stream measurement is about.
struct TcpQuestion {
  std::optional<int> mtu_bytes{};             ///< empty: the smaller MTU of both interfaces
  std::optional<int> mss_bytes{};             ///< read back; a segment shorter than the MTU has room for costs its headers more often
  bool ipv6 = false;
  bool vlan = false;
  Flow flow = Flow::to_server;
  int streams = 1;
  std::optional<double> asked_gbit_per_s{};   ///< pacing of each sending side, all streams together; empty: none
};

/// The upper bound of TCP payload between two ends: link of each after headers with timestamps, PCIe of each, and the pacing
/// asked for. What the kernel paces is payload where TCP does it itself, frames where the fq qdisc does: the latter is what is
/// safe to expect, the former the most that is possible (tcp_update_skb_after_send and fq_dequeue, Linux 6.1).
Expectation expect_tcp(const TcpQuestion& question, const TcpEnd& client, const TcpEnd& server);

/// A link described by hand, for `railgauge rates`.
struct LinkQuestion {
  double data_gbit_per_s = 0;               ///< before packet headers
  std::string link_name{};                  ///< "4X NDR", "100G Ethernet"
  std::optional<Message> rdma{};              ///< exactly one of the two
  std::optional<TcpFormat> tcp{};
  std::optional<PcieLink> pcie{};             ///< of both hosts alike
};

/// Terms of a link described by hand: wire, then PCIe as DMA write and as DMA read.
Expectation expect_link(const LinkQuestion& question);

/// Below this size a message is likelier limited by message rate than by the wire: 16 KiB on one QP is the smallest size
/// with a published run near the model (380 of 392 Gb/s at 400G).
inline constexpr std::uint64_t kSmallMessageBytes = 16384;

}  // namespace railgauge::rates
