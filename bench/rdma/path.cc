#include "bench/rdma/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/error.h"

namespace railgauge::bench {
namespace {

int agreed_mtu(const plan::Plan& plan, const transport::Offer& own, const transport::Offer& peer) {
  int smaller = std::min(own.active_mtu_bytes, peer.active_mtu_bytes);
  if (!plan.rdma.mtu_bytes) return smaller;
  const int wanted = *plan.rdma.mtu_bytes;
  // rxe accepts a path MTU above the port's without a word (kernels 6.1, 6.12) and then loses every packet.
  if (wanted > smaller)
    throw Error(ErrorKind::usage, fmt::format("--mtu {} is larger than the active MTU: {} has {}, the peer's {} has {}: use {} or less",
                                              wanted, own.device, own.active_mtu_bytes, peer.device, peer.active_mtu_bytes, smaller));
  return wanted;
}

/// What does not fit is settings of the two hosts, to be mended by other ones: usage.
void check_addresses(const transport::Offer& own, const transport::Offer& peer) {
  if (own.link_layer != peer.link_layer)
    throw Error(ErrorKind::usage, fmt::format("{} port {} is {}, the peer's {} port {} is {}: choose ports of one kind with --device",
                                                    own.device, own.port, own.link_layer, peer.device, peer.port, peer.link_layer));
  if (own.gid_index && peer.gid_index && own.gid_type != peer.gid_type)
    throw Error(ErrorKind::usage,
                fmt::format("GID index {} of {} is {}, index {} of the peer's {} is {}: these do not talk, choose with --gid-index",
                            *own.gid_index, own.device, own.gid_type, *peer.gid_index, peer.device, peer.gid_type));
  if (own.transport != peer.transport)
    throw Error(ErrorKind::usage, fmt::format("{} speaks {}, the peer's {} {}: these do not talk, choose with --device and --peer-device", own.device,
                                              own.transport, peer.device, peer.transport));
}

}  // namespace

Agreement agree(const plan::Plan& plan, const transport::Offer& own, const transport::Offer& peer, const verbs::Device& device) {
  check_addresses(own, peer);
  if (own.qps.size() != peer.qps.size())
    throw Error(ErrorKind::peer, fmt::format("the peer offers {} QPs, {} are needed", peer.qps.size(), own.qps.size()));
  Agreement a;
  a.mtu_bytes = agreed_mtu(plan, own, peer);
  bool software = own.software || peer.software;
  plan::RdmaSettings in_effect = plan.rdma;
  // What a NIC acknowledges in 67 ms (code 14) takes a CPU longer, and rxe then repeats everything: 18 is 1.07 s.
  if (software) in_effect.timeout_code = std::max(in_effect.timeout_code, 18);
  // 7 means "for ever" to rxe (rxe_comp.c), which no measurement may wait.
  if (software) in_effect.retry_count = std::min(in_effect.retry_count, 6);
  a.timeout_code = static_cast<std::uint8_t>(in_effect.timeout_code);
  a.retry_count = static_cast<std::uint8_t>(in_effect.retry_count);
  a.stall_limit = plan::stall_limit(in_effect, software);
  int most = std::min({device.limits().max_qp_init_rd_atom, peer.max_responder_reads, 255});
  if (plan.rdma.max_reads) most = static_cast<int>(std::min<std::uint64_t>(*plan.rdma.max_reads, static_cast<std::uint64_t>(most)));
  // A read on a QP that may have none outstanding never ends on rxe.
  if (most < 1 && is_read_or_atomic(plan.operation))
    throw Error(ErrorKind::unsupported,
                fmt::format("{} can have {} reads outstanding, the peer's {} answers {}: --op {} needs one", own.device,
                            device.limits().max_qp_init_rd_atom, peer.device, peer.max_responder_reads, plan::name_of(plan.operation)));
  a.initiator_reads = static_cast<std::uint8_t>(std::max(most, 0));
  a.responder_reads = static_cast<std::uint8_t>(std::clamp(own.max_responder_reads, 0, 255));
  return a;
}


std::vector<std::uint32_t> random_psns(std::size_t count) {
  std::random_device random;
  std::vector<std::uint32_t> psns(count);
  for (auto& psn : psns) psn = random() & 0xFFFFFFU;
  return psns;
}

}  // namespace railgauge::bench
