#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/nccl_log_paths.h"

/// What NCCL's log says of its surroundings (NICs, plugins, variables) and of what went wrong.
namespace railgauge::cuda {

/// "mlx5_0:1:2:0/IB/SHARP": one port of the list of NICs.
struct NicPort {
  std::string device;
  int port = 0;
  std::optional<std::string> rail;            ///< also missing where the field is empty
  std::optional<std::string> plane;
  std::string link;                           ///< "IB" or "RoCE"
  std::string more;                           ///< "SHARP"
};

/// One index of the list; several ports where NCCL merged them.
struct NetDevice {
  int index = 0;
  std::vector<NicPort> ports;
};

/// "NET/IB : Using [0]mlx5_0:1/IB [1]… [RO]; OOB eth0:10.0.0.1<0>", or "No device found" (no devices then).
struct NicList {
  Origin origin;
  std::string network;                        ///< "IB"
  std::vector<NetDevice> devices;
  bool relaxed_ordering = false;              ///< "[RO]"
  std::optional<std::string> oob_interface;
  std::optional<std::string> oob_address;
};

/// An interface with its address: of "NET/Socket : Using", "Bootstrap : Using".
struct NamedInterface {
  Origin origin;
  std::string said_by;                        ///< "Socket", "FastSocket", "Bootstrap"
  std::optional<int> index;
  std::string name;
  std::string address;                        ///< without port
};

/// "NET/IB: [2] mlx5_2:uverbs2:1/RoCE provider=Mlx5 speed=400000 context=… pciPath=… ar=0".
struct NicDetail {
  Origin origin;
  int index = 0;
  std::string device;
  int port = 0;
  std::string link;
  std::optional<std::string> provider;
  std::optional<int> speed_mbit_per_s;
  std::optional<std::string> pci_path;
  std::optional<bool> adaptive_routing;
};

/// "NET/IB : Made virtual device [8] name=mlx5_0+mlx5_1 speed=800000 ndevs=2".
struct VirtualNic {
  Origin origin;
  int index = 0;
  std::string name;
};

/// What NCCL thinks a NIC can do, not what it did: "GPU Direct RDMA Enabled for HCA 0 'mlx5_0'".
struct HcaGdr {
  Origin origin;
  int hca = 0;
  std::optional<std::string> name;
  bool enabled = false;
};

/// "GPU Direct RDMA Disabled for GPU 1b000 / HCA 1 (distance 9 > 5)".
struct PairGdr {
  Origin origin;
  std::string gpu;                            ///< bus id or index, as written
  std::string hca;                            ///< index, in newer releases hexadecimal
  bool enabled = false;
  int distance = 0;                           ///< class of nccl-facts, section 6
  int limit = 0;
  std::optional<bool> read;                   ///< whether the send side may read GPU memory
};

enum class PluginNews { loaded, not_found, other };

/// A line about net, tuner or profiler plugins. "Failed to find ncclNetPlugin_v7 symbol" is `other`: NCCL tries versions downwards.
struct PluginLine {
  Origin origin;
  std::string kind;                           ///< "NET", "TUNER", "PROFILER", …
  PluginNews news = PluginNews::other;
  std::optional<std::string> name;            ///< "NCCL RDMA Plugin v6"
};

/// "Using network IB", "Assigned NET plugin IB to comm".
struct NetworkName {
  Origin origin;
  std::string name;
};

/// "NCCL_IB_HCA set by environment to mlx5_0": variables that NCCL consulted.
struct EnvironmentLine {
  Origin origin;
  std::string name;
  std::string value;
};

/// "NCCL version 2.22.3+cuda12.6".
struct NcclVersion {
  Origin origin;
  std::string text;
  int major = 0;
  int minor = 0;
  std::optional<int> patch;
  std::optional<std::string> cuda;            ///< "12.6"
};

/// "DMA-BUF is available on GPU device 3": a capability, not its use.
struct DmabufAvailable {
  Origin origin;
  int dev = 0;
};

/// A WARN line in full.
struct Warning {
  Origin origin;
  std::optional<std::string> file;            ///< "transport/net_ib.cc"
  std::optional<int> file_line;
  std::optional<std::string> function;
};

/// A failed work completion, in all three forms: "with error 12, … vendor err 129 (Recv)", "status=12 …", "status=NAME(12) … vendor_err=129".
struct FailedCompletion {
  Origin origin;
  int status = 0;                             ///< ibv_wc_status
  std::optional<std::string> status_name;
  std::optional<std::uint32_t> vendor_err;
  std::optional<std::string> side;            ///< "Send", "Recv", …
  std::optional<std::string> peer;            ///< address without port
  std::optional<std::string> local_gid;
  std::optional<std::string> remote_gid;
  std::optional<std::string> hca;
};

/// "NET/IB : mlx5_0:1 Got async event : port error".
struct AsyncEvent {
  Origin origin;
  std::string device;
  int port = 0;
  std::string event;
  bool fatal = false;                         ///< NCCL's word
};

/// "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory".
struct FailedCall {
  Origin origin;
  std::string call;
  std::optional<int> error;                   ///< errno where written
  std::optional<std::string> error_text;
};

/// "transport/net.cc:1134 -> 6 [Proxy Thread]": an error on its way up; ncclResult_t.
struct ErrorTrace {
  Origin origin;
  std::string file;
  int file_line = 0;
  int result = 0;
};

}  // namespace railgauge::cuda
