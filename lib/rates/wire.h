#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/path_mtu.h"

namespace railgauge::rates {

/// What carries the packets of a reliable connection.
enum class Wire { infiniband, roce_v1, roce_v2 };

/// Operations that differ in their headers.
enum class RdmaOperation { write, write_imm, read, send, atomic };

const char* name_of(Wire wire) noexcept;
const char* name_of(RdmaOperation operation) noexcept;
/// The inverse of name_of; "fetch_add" and "compare_swap" are atomics. Empty for any other word.
std::optional<RdmaOperation> rdma_operation_from(std::string_view name);

/// Ethernet rates in Gbit/s that NICs are sold with.
inline constexpr std::array<int, 8> kEthernetGbitPerS = {10, 25, 40, 50, 100, 200, 400, 800};

/// Everything that decides how many bytes stand around the payload of one packet.
struct PacketFormat {
  Wire wire = Wire::infiniband;
  bool grh = false;         ///< InfiniBand: a global route header (RoCE v1 always has it)
  bool ipv6 = false;        ///< RoCE v2
  bool vlan = false;        ///< Ethernet: one 802.1Q tag
  bool operator==(const PacketFormat&) const = default;
};

/// Bytes a packet takes on the wire beside its payload: InfiniBand 28 (68 with GRH), RoCE v2 82 over IPv4 and 102 over
/// IPv6, RoCE v1 94, +4 with a VLAN tag; Ethernet counts preamble and inter-frame gap. The 2 B of InfiniBand delimiters
/// are uncertain: published sums run from 26 to 30 B, which moves the goodput at MTU 4096 by 0.1 %.
int packet_overhead_bytes(const PacketFormat& format) noexcept;

/// "LRH 8 + BTH 12 + ICRC 4 + VCRC 2 + delimiters 2": the sum behind packet_overhead_bytes.
std::string packet_overhead_text(const PacketFormat& format);

/// Bytes a message takes beyond its packets' overhead, in the direction of its payload. `packets` ≥ 1.
/// For an atomic: the 28 B AtomicETH, which holds the operands; its 8 payload bytes do not travel a second time.
int message_overhead_bytes(RdmaOperation operation, std::uint64_t packets) noexcept;

/// One kind of message on one kind of wire.
struct Message {
  RdmaOperation operation = RdmaOperation::write;
  std::uint64_t bytes = 65536;      ///< ≥ 1; 8 for an atomic
  int path_mtu_bytes = 4096;
  PacketFormat format;
};

/// Packets of `message`: ceil(bytes / path MTU).
std::uint64_t packet_count(const Message& message) noexcept;

/// Payload share of the wire: L / (L + n·P + X). Acknowledgements travel the other way and are not counted.
double wire_efficiency(const Message& message) noexcept;

/// "65536 / (65536 + 16 x 82 + 16)": the arithmetic of wire_efficiency.
std::string wire_formula(const Message& message);

/// Path MTU that the kernel derives from a netdev's MTU: headers off (96 B; 80 B for rxe), rounded down to a path MTU.
/// Empty below 256 B of payload. Source: include/rdma/ib_addr.h iboe_get_mtu, drivers/infiniband/sw/rxe/rxe.c (6.1).
std::optional<int> path_mtu_of_netdev(int netdev_mtu_bytes, bool rxe) noexcept;

/// TCP over Ethernet with timestamps on.
struct TcpFormat {
  int mtu_bytes = 1500;
  bool ipv6 = false;
  bool vlan = false;
};

/// Largest TCP payload of one frame: MTU − IP 20 or 40 − TCP 20 − timestamps 12. ≤ 0 where the MTU has no room.
int tcp_payload_bytes(const TcpFormat& format) noexcept;

/// Payload share of the wire: tcp_payload_bytes / (MTU + 38), one full frame after another.
double tcp_efficiency(const TcpFormat& format) noexcept;

/// "1448 / 1538": the arithmetic of tcp_efficiency.
std::string tcp_formula(const TcpFormat& format);

}  // namespace railgauge::rates
