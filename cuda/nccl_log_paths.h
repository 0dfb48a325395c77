#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What NCCL's log says of communicators and of the paths between their ranks.
namespace railgauge::cuda {

/// Where something was said.
struct Origin {
  std::size_t line = 0;                       ///< of the file, from 1
  std::optional<std::size_t> process;         ///< index into NcclLog::processes; missing where the prefix was torn or absent
  std::optional<int> cuda_dev;                ///< of the prefix: "[3]"
  std::string text;                           ///< what stands after "NCCL INFO "
};

enum class ChannelDirection { send, receive };

/// One end of an inter-node channel: "Channel 02/0 : 9[1] -> 0[0] [receive] via NET/IB/4/GDRDMA".
struct NetChannel {
  Origin origin;
  int channel = 0;
  std::optional<int> connection;              ///< missing in old lines without "/conn"
  int from_rank = 0;
  int to_rank = 0;
  std::optional<std::string> from_device;     ///< in brackets: NVML index, in releases up to 2.1x the bus id
  std::optional<std::string> to_device;
  std::optional<ChannelDirection> direction;  ///< missing before NCCL 2.3
  std::string network;                        ///< "IB", "Socket", a plugin's name
  int net_dev = 0;                            ///< NCCL's index, mapped by device_of()
  std::optional<int> proxy_rank;              ///< PXN: the data leaves by this rank's NIC
  bool gdr = false;                           ///< /GDRDMA: the NIC reads or writes GPU memory; else it is staged through the host
  bool gdr_pci = false;                       ///< "(PCI)" after it
  bool shared = false;
  std::string more;                           ///< suffixes of releases to come: "/Foo"
};

enum class LocalPath { p2p_cumem, p2p_mnnvl, p2p_ipc, p2p_direct_pointer, p2p_indirect, p2p_other, shm };

/// A channel inside a node (or a multi-node NVLink domain): "Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM/read".
struct LocalChannel {
  Origin origin;
  int channel = 0;
  std::optional<int> connection;
  int from_rank = 0;
  int to_rank = 0;
  LocalPath path = LocalPath::p2p_other;
  std::optional<int> through_rank;            ///< of "indirect/r[d]"
  bool read = false;
  bool copy_engine = false;                   ///< "/CE", "SHM/CE/…"
};

/// "CollNet 00/0 : 0 [send] via COLLNET/SHARP/3/GDRDMA": reduction in the network.
struct CollnetChannel {
  Origin origin;
  int channel = 0;
  std::optional<int> connection;
  int rank = 0;
  ChannelDirection direction = ChannelDirection::send;
  std::string network;
  int net_dev = 0;
  bool gdr = false;
};

/// A rank of a communicator, from all "comm 0x…" lines of one process and pointer.
struct Comm {
  Origin origin;                              ///< of the first of them
  std::string pointer;
  int rank = 0;
  int nranks = 0;
  std::optional<std::string> function;        ///< "ncclCommInitRank"
  std::optional<int> nodes;
  std::optional<int> local_ranks;
  std::optional<int> local_rank;
  std::optional<int> cuda_dev;
  std::optional<int> nvml_dev;
  std::optional<int> mnnvl;
  std::optional<std::string> bus_id;
  std::optional<std::string> comm_id;
  bool init_started = false;
  bool init_complete = false;
  std::string last_step;                      ///< "Init COMPLETE", "Abort COMPLETE"; empty before any
};

/// "Init timings - ncclCommInitRank: rank 0 nranks 16 total 1.42 (kernels 0.20, alloc 0.10, …)"; seconds.
struct InitTimings {
  Origin origin;
  int rank = 0;
  int nranks = 0;
  double total_s = 0;
  std::vector<std::pair<std::string, double>> parts_s;
};

struct Ring {
  Origin origin;
  int channel = 0;
  std::optional<int> channels;
  std::vector<int> ranks;
};

struct Tree {
  Origin origin;
  int channel = 0;
  std::vector<int> children;                  ///< as written, −1 for none
  int rank = 0;
  int parent = 0;                             ///< −1 at the root
};

/// "Connected all rings, use ring PXN 0 GDR 1", "Connected all trees", "Connected NVLS tree".
struct ConnectedLine {
  Origin origin;
  std::string what;                           ///< "all rings"
  std::optional<bool> pxn;
  std::optional<bool> gdr;
};

struct ChannelCounts {
  Origin origin;
  std::optional<int> coll;
  std::optional<int> collnet;
  std::optional<int> nvls;
  std::optional<int> p2p;
  std::optional<int> p2p_per_peer;
};

/// "Pattern 4, crossNic 0, nChannels 8, bw 48.0/24.0, type NVL/PXB, sameChannels 1"; classes of nccl-facts, section 6.
struct GraphSearch {
  Origin origin;
  int pattern = 0;
  int channels = 0;
  std::optional<int> cross_nic;
  std::string type_intra;
  std::string type_inter;
};

/// "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"; words in capitals, also where NCCL wrote numbers.
struct AlgorithmChoice {
  Origin origin;
  std::string operation;
  std::uint64_t bytes = 0;
  std::string algorithm;
  std::string protocol;
  std::optional<int> channel_low;
  std::optional<int> channel_high;
};

/// "NVLS multicast support is not available on dev 2".
struct NvlsSupport {
  Origin origin;
  int dev = 0;
  bool available = false;
  std::optional<int> channels;
};

}  // namespace railgauge::cuda
