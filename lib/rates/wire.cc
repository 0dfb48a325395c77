#include "rates/wire.h"

#include <fmt/format.h>

#include <algorithm>

namespace railgauge::rates {
namespace {

// Ethernet framing, IEEE 802.3: preamble and SFD 8, header 14, FCS 4, inter-frame gap 12; 802.1Q tag 4.
constexpr int kEthernetFraming = 8 + 14 + 4 + 12;
constexpr int kVlanTag = 4;
// include/rdma/ib_pack.h and drivers/infiniband/sw/rxe/rxe_hdr.h (Linux 6.1).
constexpr int kLrh = 8, kGrh = 40, kBth = 12, kIcrc = 4, kVcrc = 2;
constexpr int kReth = 16, kAeth = 4, kImmediate = 4, kAtomicEth = 28;
constexpr int kDelimiters = 2;  // InfiniBand start and end symbols; approximate, see the header
constexpr int kIpv4 = 20, kIpv6 = 40, kUdp = 8;
constexpr int kTcp = 20, kTimestamps = 12;

}  // namespace

const char* name_of(Wire wire) noexcept {
  switch (wire) {
    case Wire::infiniband: return "InfiniBand";
    case Wire::roce_v1: return "RoCE v1";
    case Wire::roce_v2: return "RoCE v2";
  }
  return "InfiniBand";
}

const char* name_of(RdmaOperation operation) noexcept {
  switch (operation) {
    case RdmaOperation::write: return "write";
    case RdmaOperation::write_imm: return "write_imm";
    case RdmaOperation::read: return "read";
    case RdmaOperation::send: return "send";
    case RdmaOperation::atomic: return "atomic";
  }
  return "write";
}

std::optional<RdmaOperation> rdma_operation_from(std::string_view name) {
  for (auto operation : {RdmaOperation::write, RdmaOperation::write_imm, RdmaOperation::read, RdmaOperation::send, RdmaOperation::atomic}) {
    if (name == name_of(operation)) return operation;
  }
  if (name == "fetch_add" || name == "compare_swap") return RdmaOperation::atomic;
  return std::nullopt;
}


int packet_overhead_bytes(const PacketFormat& format) noexcept {
  const int transport = kBth + kIcrc;
  if (format.wire == Wire::infiniband) return kDelimiters + kLrh + (format.grh ? kGrh : 0) + transport + kVcrc;
  const int framing = kEthernetFraming + (format.vlan ? kVlanTag : 0);
  if (format.wire == Wire::roce_v1) return framing + kGrh + transport;
  return framing + (format.ipv6 ? kIpv6 : kIpv4) + kUdp + transport;
}

std::string packet_overhead_text(const PacketFormat& format) {
  if (format.wire == Wire::infiniband) {
    return fmt::format("LRH {}{} + BTH {} + ICRC {} + VCRC {} + delimiters {}", kLrh,
                       format.grh ? fmt::format(" + GRH {}", kGrh) : "", kBth, kIcrc, kVcrc, kDelimiters);
  }
  const std::string framing = fmt::format("Ethernet {}{}", kEthernetFraming, format.vlan ? fmt::format(" + VLAN {}", kVlanTag) : "");
  if (format.wire == Wire::roce_v1) return fmt::format("{} + GRH {} + BTH {} + ICRC {}", framing, kGrh, kBth, kIcrc);
  return fmt::format("{} + {} + UDP {} + BTH {} + ICRC {}", framing,
                     format.ipv6 ? fmt::format("IPv6 {}", kIpv6) : fmt::format("IPv4 {}", kIpv4), kUdp, kBth, kIcrc);
}

int message_overhead_bytes(RdmaOperation operation, std::uint64_t packets) noexcept {
  switch (operation) {
    case RdmaOperation::write: return kReth;
    case RdmaOperation::write_imm: return kReth + kImmediate;
    case RdmaOperation::read: return packets == 1 ? kAeth : 2 * kAeth;  // first and last response carry one each
    case RdmaOperation::send: return 0;
    case RdmaOperation::atomic: return kAtomicEth;
  }
  return 0;
}

std::uint64_t packet_count(const Message& message) noexcept {
  const auto mtu = static_cast<std::uint64_t>(message.path_mtu_bytes);
  return (message.bytes + mtu - 1) / mtu;
}

double wire_efficiency(const Message& message) noexcept {
  const double payload = static_cast<double>(message.bytes);
  const double packets = static_cast<double>(packet_count(message)) * packet_overhead_bytes(message.format);
  const double extra = message_overhead_bytes(message.operation, packet_count(message));
  const double carried = message.operation == RdmaOperation::atomic ? 0 : payload;
  return payload / (carried + packets + extra);
}

std::string wire_formula(const Message& message) {
  const std::uint64_t packets = packet_count(message);
  const std::string around = fmt::format("{} x {} + {}", packets, packet_overhead_bytes(message.format),
                                         message_overhead_bytes(message.operation, packets));
  if (message.operation == RdmaOperation::atomic) return fmt::format("{} / ({})", message.bytes, around);
  return fmt::format("{} / ({} + {})", message.bytes, message.bytes, around);
}

std::optional<int> path_mtu_of_netdev(int netdev_mtu_bytes, bool rxe) noexcept {
  const int room = netdev_mtu_bytes - (rxe ? 80 : 96);
  std::optional<int> found;
  for (int mtu : kPathMtus) {
    if (mtu <= room) found = mtu;
  }
  return found;
}

int tcp_payload_bytes(const TcpFormat& format) noexcept {
  return format.mtu_bytes - (format.ipv6 ? kIpv6 : kIpv4) - kTcp - kTimestamps;
}

double tcp_efficiency(const TcpFormat& format) noexcept {
  return static_cast<double>(tcp_payload_bytes(format)) / (format.mtu_bytes + kEthernetFraming + (format.vlan ? kVlanTag : 0));
}

std::string tcp_formula(const TcpFormat& format) {
  return fmt::format("{} / {}", tcp_payload_bytes(format), format.mtu_bytes + kEthernetFraming + (format.vlan ? kVlanTag : 0));
}

}  // namespace railgauge::rates
