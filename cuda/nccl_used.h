#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cuda/nccl_log.h"

/// Questions on a read log. Pure functions; what the log does not show is unknown with the reason, not guessed.
namespace railgauge::cuda {

/// The rank of a process in its first communicator; nothing where it drives several ranks or no line names one.
std::optional<int> rank_of(const NcclLog& log, std::size_t process);

/// How an index of NCCL ("NET/IB/4") is called on the host of `origin`, by the list that the same process wrote, else its
/// host, else lines without a host that agree: "mlx5_4:1", merged "mlx5_4:1+mlx5_5:1".
struct NicName {
  std::string name;
  std::optional<std::string> link;            ///< "IB", "RoCE"; missing for sockets and where merged ports differ
};
std::optional<NicName> nic_name_of(const NcclLog& log, const Origin& origin, const std::string& network, int net_dev);

enum class NetworkKind {
  ib,                                         ///< NCCL's own verbs transport, InfiniBand or RoCE
  socket,
  plugin,                                     ///< another name: "IBext", "AWS Libfabric"
  mixed,                                      ///< processes name different ones
  none,                                       ///< nothing crosses a network: one node
  unknown,
};

enum class Evidence {
  channels,                                   ///< channels run over it
  chosen,                                     ///< "Using network", but no channel of it is in the log
  listed,                                     ///< its NICs are listed, nothing more
  nothing,
};

struct NetworkUsed {
  NetworkKind kind = NetworkKind::unknown;
  std::string name;                           ///< "IB", "IBext"; of several "IB, Socket"
  bool over_verbs = false;                    ///< `ib`, or a plugin whose NICs NCCL lists as IB or RoCE ports
  Evidence evidence = Evidence::nothing;
  std::string reason;                         ///< one sentence
};
NetworkUsed network_used(const NcclLog& log);

enum class Share { all, some, none, unknown };

/// GPUDirect RDMA by what channels do, not by what NICs could do.
struct GdrUsed {
  Share both = Share::unknown;
  Share send = Share::unknown;                ///< decided on its own: NCCL_NET_GDR_READ
  Share receive = Share::unknown;
  std::size_t ends = 0;                       ///< NET channel ends in the log
  std::vector<std::size_t> without;           ///< indices into net_channels of those without
  std::string reason;                         ///< one sentence
};
GdrUsed gdr_used(const NcclLog& log);

/// A NIC of one host with what runs over it; also NICs over which nothing runs.
struct NicUse {
  std::string host;
  std::string network;
  int net_dev = 0;
  std::optional<NicName> name;
  std::size_t send = 0;                       ///< channel ends
  std::size_t receive = 0;
  std::size_t directionless = 0;              ///< old lines
  std::vector<int> ranks;                     ///< rising; with it as their own NIC, not by PXN
};

struct NicsUsed {
  std::vector<NicUse> nics;                   ///< by host, network and index
  std::vector<std::string> findings;          ///< "host node3: ranks 2, 5 share … while … carries no channel"
};
/// Channel ends per NIC. Findings only for hosts whose ranks are all in the log, or where that cannot be told (then they say so).
NicsUsed nics_used(const NcclLog& log);

/// Indices into local_channels of those through host memory, where GPUs of a node cannot reach each other.
std::vector<std::size_t> shm_instead_of_p2p(const NcclLog& log);

/// `--require gdr|ib|nvlink`
enum class Requirement { gdr, ib, nvlink };

struct Satisfied {
  bool met = false;                           ///< false also where the log cannot show it
  std::string sentence;                       ///< what was found, with the lines that decide
};
/// gdr: every NET channel end has GDRDMA. ib: the network in use is verbs. nvlink: no channel inside a node goes through
/// host memory, and the links are NVLink by NCCL's graph search or multi-node NVLink.
Satisfied satisfies(const NcclLog& log, Requirement requirement);

/// "line 9 "Channel 00/0 : …"", at most three of them and how many more.
std::string quoted_lines(const std::vector<const Origin*>& origins);

}  // namespace railgauge::cuda
