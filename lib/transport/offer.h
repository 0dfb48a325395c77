#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railgauge::transport {

/// What the peer must know of one queue pair.
struct QpInfo {
  std::uint32_t qp_number = 0;      ///< 24 bits
  std::uint32_t psn = 0;            ///< 24 bits
  std::uint64_t remote_address = 0; ///< first byte of this QP's share of the memory region
  std::uint64_t remote_bytes = 0;   ///< of it that messages land in; what is read from may be several times as long
  std::uint32_t rkey = 0;
  bool operator==(const QpInfo&) const = default;
};

/// What one side tells the other before the two connect. Plain data; crosses the control channel.
struct Offer {
  // RDMA
  std::string device;               ///< "mlx5_0"
  int port = 0;
  std::string link_layer;           ///< "InfiniBand", "Ethernet"
  std::string transport;            ///< "InfiniBand", "iWARP"
  std::uint16_t lid = 0;
  std::optional<int> gid_index;     ///< nothing: none in use (InfiniBand without GRH)
  std::string gid;                  ///< eight groups of four hex digits
  std::string gid_type;             ///< "RoCE v1", "RoCE v2", "IB"
  std::string gid_choice_reason;
  int active_mtu_bytes = 0;
  int max_responder_reads = 0;      ///< reads/atomics this side can answer per QP
  std::string rdma_cm_address;      ///< rdma_cm: where this side listens
  int rdma_cm_port = 0;
  std::vector<QpInfo> qps;          ///< in the order thread 0 QP 0, thread 0 QP 1, …
  // TCP
  std::vector<std::string> data_addresses;
  int data_port = 0;
  std::array<std::uint8_t, 16> data_nonce{};  ///< 128 bits, valid once; names the measurement on each data connection, of TCP or rdma_cm
  bool simulated = false;
  bool software = false;
  bool operator==(const Offer&) const = default;
};

}  // namespace railgauge::transport
