#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace railgauge::host {

/// One fact read from the host: present with a value, or absent/unreadable with the reason. Absent never becomes 0.
template <typename T>
struct Fact {
  std::optional<T> value;
  std::string reason;  ///< why there is no value: "absent", "EACCES (run as root)", "not a PCI device"; empty when present
  explicit operator bool() const noexcept { return value.has_value(); }
  const T& operator*() const { return *value; }
  static Fact of(T v) { return Fact{std::move(v), {}}; }
  static Fact missing(std::string why) { return Fact{std::nullopt, std::move(why)}; }
  bool operator==(const Fact&) const = default;
};

/// A PCI function on the way from a NIC or GPU to its root port, or the device itself.
struct PciLink {
  std::string address;                  ///< "0000:41:00.0"
  Fact<double> current_gt_per_s;        ///< per lane: 2.5, 5, 8, 16, 32, 64
  Fact<int> current_width;              ///< lanes
  Fact<double> max_gt_per_s;
  Fact<int> max_width;
  bool operator==(const PciLink&) const = default;
};

/// The PCIe facts of a NIC or GPU: its own link first, then each bridge up to the root port.
struct PciPath {
  Fact<std::string> id;                 ///< "15b3:1021", vendor and device
  std::optional<std::string> virtual_function;  ///< address of the VF when the NIC is one; `links` then start at its physical function
  std::vector<PciLink> links;           ///< empty for software devices
  Fact<int> max_payload_bytes;          ///< DevCtl MaxPayload of the NIC
  Fact<int> max_read_request_bytes;     ///< DevCtl MaxReadReq of the NIC
  Fact<bool> relaxed_ordering;          ///< DevCtl relaxed-ordering enable
  std::map<std::string, std::uint64_t> aer_correctable;  ///< name → count since boot, as the kernel prints them
  bool operator==(const PciPath&) const = default;
};

/// Of a port, as sysfs and verbs name it; unknown: neither said one of the two.
enum class LinkLayer { unknown, infiniband, ethernet };
/// What a GID is good for: InfiniBand, RoCE in Ethernet frames of its own (v1), RoCE in UDP (v2).
enum class GidType { ib, roce_v1, roce_v2 };

/// "InfiniBand", "Ethernet", "unknown"
const char* name_of(LinkLayer) noexcept;
/// "IB", "RoCE v1", "RoCE v2"
const char* name_of(GidType) noexcept;
/// The inverse; nothing for another word.
std::optional<GidType> gid_type_from(std::string_view name) noexcept;

/// One non-empty slot of a port's GID table.
struct Gid {
  int index = 0;
  std::string gid;                      ///< eight groups of four hex digits, as sysfs prints it
  GidType type = GidType::ib;
  std::optional<std::string> netdev;    ///< interface the GID belongs to (RoCE)
  std::optional<std::string> ip;        ///< the address it maps: "192.168.10.100" for an IPv4-mapped GID, else its IPv6 text
  std::optional<std::string> type_doubt = {};  ///< why `type` is a guess; nothing: it was told
  bool operator==(const Gid&) const = default;
};

/// All zero, or fe80 followed by zeros.
bool is_empty_gid(std::string_view gid) noexcept;

/// "192.168.10.100" for an IPv4-mapped GID, else the IPv6 text; nothing when `gid` is not eight groups of four hex digits.
std::optional<std::string> ip_of_gid(std::string_view gid);

/// One port of an RDMA device.
struct RdmaPort {
  int port = 1;
  Fact<std::string> state;              ///< "ACTIVE", "DOWN", "INIT", "ARMED" (the word after the number)
  Fact<std::string> physical_state;     ///< "LinkUp", "Polling", "Disabled", …
  Fact<double> rate_gbit_per_s;         ///< as sysfs prints it; absent unless the physical state is LinkUp
  Fact<std::string> rate_text;          ///< "400 Gb/sec (4X NDR)"
  Fact<int> width;                      ///< lanes, from rate_text
  Fact<std::string> speed;              ///< "NDR", …
  LinkLayer link_layer = LinkLayer::unknown;
  Fact<int> active_mtu_bytes;           ///< only verbs knows it; filled by whoever has the device open
  Fact<int> max_mtu_bytes;
  Fact<int> lid;
  Fact<int> sm_lid;
  std::vector<Gid> gids;
  std::vector<int> pkeys;               ///< non-zero entries
  bool operator==(const RdmaPort&) const = default;
};

/// One RDMA device.
struct RdmaDevice {
  std::string name;                     ///< "mlx5_0"
  Fact<std::string> firmware;
  Fact<std::string> hca_type;
  Fact<std::string> board_id;
  Fact<std::string> node_guid;
  Fact<std::string> sys_image_guid;
  Fact<std::string> node_type;          ///< "1: CA", "4: RNIC" (iWARP)
  Fact<std::string> driver;             ///< "mlx5_core"
  Fact<int> numa_node;
  Fact<std::string> local_cpulist;
  Fact<std::string> char_device;        ///< "/dev/infiniband/uverbs0" if it can be opened; else the reason
  Fact<int> max_qp_depth;               ///< most requests outstanding on a QP (max_qp_wr); only verbs knows it
  Fact<int> max_qps;                    ///< most QPs of all programs together (max_qp); only verbs knows it
  Fact<int> max_cq_entries;             ///< of one completion queue (max_cqe); only verbs knows it
  bool software = false;                ///< rxe, siw: no hardware verdict
  bool simulated = false;               ///< a stand-in that says so in its firmware string
  std::vector<std::string> netdevs;
  PciPath pci;
  std::vector<RdmaPort> ports;
  bool operator==(const RdmaDevice&) const = default;
};

/// One network interface.
struct Netdev {
  std::string name;
  Fact<int> mtu_bytes;
  Fact<double> speed_gbit_per_s;        ///< absent when down or virtual
  Fact<std::string> operstate;
  Fact<bool> carrier;
  Fact<std::uint64_t> carrier_changes;
  Fact<int> type;                       ///< ARPHRD: 1 Ethernet, 32 InfiniBand, 772 loopback
  Fact<std::string> driver;
  Fact<std::string> firmware;
  Fact<int> numa_node;
  bool virtual_device = false;          ///< no device link: lo, veth, bond, VLAN …
  std::vector<std::string> bond_slaves;
  std::vector<std::string> addresses;   ///< "192.168.1.5/24", "fe80::1/64"
  PciPath pci;
  bool operator==(const Netdev&) const = default;
};

/// How far apart two PCI devices are, nearest first; the classes of `nvidia-smi topo -m`. loc: functions of one device; pix: one
/// PCIe switch between them; pxb: several; phb: they meet at a host bridge; node: between host bridges of one NUMA node; sys:
/// between NUMA nodes; unknown: sysfs does not tell.
enum class Distance { loc, pix, pxb, phb, node, sys, unknown };

/// "LOC", "PIX", "PXB", "PHB", "NODE", "SYS", "unknown"
const char* name_of(Distance) noexcept;

/// From a GPU to one RDMA device.
struct NicDistance {
  std::string device;                   ///< RDMA device: "mlx5_0"
  Distance distance = Distance::unknown;
  std::optional<std::string> meet_at;   ///< the PCI bridge above both ("0000:3a:00.0"), else their host bridge ("pci0000:39")
  std::string why;                      ///< one sentence
  bool operator==(const NicDistance&) const = default;
};

/// One GPU, as far as sysfs knows it without a driver library.
struct Gpu {
  std::string address;                  ///< "0000:3b:00.0"
  std::string vendor;                   ///< "NVIDIA", "AMD"
  Fact<std::string> model;              ///< "NVIDIA H100 80GB HBM3", as NVIDIA's driver names it
  Fact<std::string> driver;             ///< "nvidia"
  Fact<int> numa_node;
  Fact<std::string> local_cpulist;
  Fact<std::uint64_t> bar1_bytes;       ///< window through which other devices reach its memory; of NVIDIA's only
  Fact<std::string> iommu_type;
  PciPath pci;                          ///< the current speed of an idle GPU's link is lower than under load
  std::vector<NicDistance> nics;        ///< to every RDMA device of the host, in their order
  bool operator==(const Gpu&) const = default;
};

/// What GPUDirect RDMA stands on in the kernel, without a driver library.
struct GpuDirectFacts {
  Fact<std::string> driver_version;     ///< "570.86.15", of /proc/driver/nvidia/version
  Fact<bool> open_kernel_modules;       ///< NVIDIA's open modules, which dma-buf needs; not the proprietary ones
  bool peermem_loaded = false;          ///< module nvidia_peermem
  Fact<std::string> peermem_version;
  bool memory_peers = false;            ///< /sys/kernel/mm/memory_peers is there: the RDMA stack takes peer memory clients
  Fact<std::string> nv_mem_version;     ///< the client that registered there
  Fact<std::string> nv_mem_nc_version;  ///< its non-caching form
  bool operator==(const GpuDirectFacts&) const = default;
};

/// Everything read from one host, once.
struct Snapshot {
  std::string root;                     ///< the tree that was read instead of the running host; not in records, for messages here
  std::string hostname;
  std::string os;                       ///< PRETTY_NAME of os-release
  std::string kernel;                   ///< "6.1.0-25-amd64"
  std::string machine;                  ///< "x86_64"
  Fact<std::string> boot_id;            ///< random, new at each boot: tells running kernels apart, whatever their names
  Fact<std::string> kernel_command_line;
  Fact<std::string> cpu_model;
  Fact<std::string> microcode;
  Fact<int> online_cpus;
  Fact<std::string> allowed_cpulist;    ///< Cpus_allowed_list of this process
  Fact<std::uint64_t> last_level_cache_bytes;
  Fact<std::string> governor;           ///< of the first allowed CPU
  Fact<std::string> clocksource;
  Fact<std::uint64_t> memlock_limit_bytes;   ///< soft limit of this process; value absent with reason "unlimited"
  Fact<std::uint64_t> memory_bytes;
  Fact<std::uint64_t> hugepages_free;
  Fact<std::uint64_t> hugepage_bytes;
  Fact<std::string> transparent_hugepages;
  Fact<int> numa_balancing;
  Fact<std::string> product_name;       ///< DMI
  Fact<std::string> bios_version;
  Fact<std::string> iommu_type;         ///< of the first NIC's group: "identity", "DMA", …
  bool virtual_machine = false;         ///< the hypervisor flag of /proc/cpuinfo
  Fact<double> load_average_1min;
  std::map<int, std::string> numa_cpulists;          ///< node → "0-31,64-95"
  std::map<std::string, std::string> sysctls;        ///< net.ipv4.tcp_congestion_control, tcp_rmem, tcp_wmem, …
  std::map<std::string, std::string> modules;        ///< loaded modules of interest → version or ""
  std::vector<RdmaDevice> rdma_devices;
  std::vector<Netdev> netdevs;
  std::vector<Gpu> gpus;                ///< by PCI address
  GpuDirectFacts gpudirect;
  std::vector<std::string> warnings;    ///< readings that contradict each other: "mlx5_0 port 1: phys_state reads …"
  bool operator==(const Snapshot&) const = default;
};

/// Counters of one device/port/netdev at one instant: "port_xmit_data" → value, with the width in bits where it saturates or wraps.
struct CounterReading {
  std::string source;                   ///< "mlx5_0/1/counters", "mlx5_0/1/hw_counters", "eth0/statistics"
  std::map<std::string, Fact<std::uint64_t>> values;
  bool operator==(const CounterReading&) const = default;
};

/// Change of one counter between two readings.
struct CounterDelta {
  std::string source;                   ///< CounterReading::source
  std::string name;
  Fact<std::uint64_t> before;
  Fact<std::uint64_t> after;
  Fact<std::uint64_t> delta;            ///< absent with a reason when unreadable, saturated or gone backwards
  bool wrapped = false;                 ///< `delta` was taken modulo 2^32
  bool operator==(const CounterDelta&) const = default;
};

/// A difference between the two hosts worth a line.
struct Difference {
  std::string what;                     ///< "active MTU", "firmware", "PCIe link"
  std::string client;
  std::string server;
  bool matters = false;                 ///< lowers what the link can carry, or stops it
  bool operator==(const Difference&) const = default;
};

}  // namespace railgauge::host
