/// The description of the simulated devices: what a file says, or one device that works out of the box.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace railgauge::simverbs {

/// One line of a port's GID table.
struct GidDescription {
  std::uint32_t index = 0;
  union ibv_gid gid {};
  std::uint32_t type = 0;  ///< 0 InfiniBand, 1 RoCEv1, 2 RoCEv2 (ibv_gid_type)
  std::string netdev;
};

struct PortDescription {
  bool ethernet = true;
  ibv_port_state state = IBV_PORT_ACTIVE;
  std::uint8_t phys_state = 5;     ///< 5 is LinkUp
  std::uint32_t speed_code = 64;   ///< verbs active_speed_ex, a bit per generation
  std::uint8_t width_code = 2;     ///< verbs active_width, 2 is 4X
  double gbit_per_s = 200;         ///< what the pace and the sysfs rate file use
  std::string speed_name = "HDR";
  ibv_mtu max_mtu = IBV_MTU_4096;
  ibv_mtu active_mtu = IBV_MTU_4096;
  std::uint16_t lid = 0, sm_lid = 0;
  std::uint32_t gid_table_length = 16;
  std::vector<GidDescription> gids;
  std::map<std::string, std::uint64_t> counters;     ///< counters/NAME
  std::map<std::string, std::uint64_t> hw_counters;  ///< hw_counters/NAME
};

struct DeviceDescription {
  std::string name = "sim0";
  std::string firmware = "simulated-1";  ///< always begins with "simulated"
  std::string board = "railgauge-sim";
  std::uint64_t guid = 0x0200520000000001;  ///< locally administered, so no vendor's
  int numa_node = -1;
  // limits; the figures of a ConnectX class device unless the file says otherwise
  int max_qp = 4096, max_cq = 4096, max_mr = 65535, max_pd = 4096;
  int max_qp_wr = 32768, max_sge = 30, max_sge_rd = 30, max_cqe = 1 << 20, max_rd_atomic = 16;
  std::uint64_t max_mr_bytes = 1ull << 40;
  std::uint32_t max_msg_bytes = 1u << 30, max_inline_bytes = 220;
  bool gid_table = true;  ///< there is a call for the whole GID table
  bool classic = false;  ///< only the calls of the first libibverbs, no sysfs tree, no event channel
  bool dmabuf = true, peermem = true;  ///< take device memory by dma-buf, by its address
  bool atomics = true, extended_qp = true, data_in_order = true, enforce_memlock = false;
  // modelled costs
  bool paced = false;            ///< completions no sooner than the wire allows
  bool copy_payload = true;      ///< "payload = short" leaves messages above 256 B unmoved
  bool rnr_waits_full_timer = false;
  std::uint64_t doorbell_ns = 100, latency_ns = 0;
  std::vector<PortDescription> ports{1};
};

/// Devices of the file named by RAILGAUGE_SIM_DEVICE, or the default one. A line that cannot be understood is reported
/// on stderr and ends the process with status 2: a description that is half believed would be worse than none.
std::vector<DeviceDescription> load_devices();

/// Parses a description; on failure returns false and says why in `error` ("line 7: …").
bool parse_devices(const std::string& text, std::vector<DeviceDescription>& out, std::string& error);

/// Payload and header bytes on the wire for a message: RoCEv2 over IPv4 adds 82 B a packet (preamble 8, Ethernet 14,
/// IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12), InfiniBand 28 (LRH 8, BTH 12, ICRC 4, VCRC 2, and 2 of framing).
std::uint64_t wire_bytes(std::uint64_t payload, std::uint32_t mtu_bytes, bool ethernet) noexcept;

}  // namespace railgauge::simverbs
