#include "bench/rdma/place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "host/cpu_choice.h"
#include "host/device_choice.h"
#include "host/gid_choice.h"
#include "host/facts.h"
#include "host/snapshot.h"

namespace railgauge::bench {
namespace {

/// The CPUs this process may run on, the highest first: interrupts and the kernel's housekeeping prefer the lowest.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;  // more CPUs than a cpu_set_t holds: left unbound
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

host::Gid gid_of(const transport::Offer& peer) {
  auto type = host::gid_type_from(peer.gid_type);
  if (!type) throw Error(ErrorKind::peer, fmt::format("the peer's GID has the unknown type \"{}\"", printable(peer.gid_type)));
  auto ip = host::ip_of_gid(peer.gid);
  if (!ip) throw Error(ErrorKind::peer, fmt::format("the peer's GID \"{}\" is none: eight groups of four hex digits were expected", printable(peer.gid)));
  return {.index = peer.gid_index.value_or(0), .gid = peer.gid, .type = *type, .netdev = {}, .ip = std::move(ip)};
}

}  // namespace

RdmaPlace::RdmaPlace(PlaceRequest request)
    : request_(std::move(request)), wish_(request_.side == Side::client ? request_.plan->client : request_.plan->server), placement_(wish_) {
  host::DeviceChoice choice = host::choose_device(
      *request_.facts, {.device = wish_.device, .port = wish_.port, .local_ip = request_.local_address, .common = request_.common});
  placement_.device = choice.device;
  placement_.port = choice.port;
  note(choice.reason);
}

void RdmaPlace::check(const verbs::Device& device) const {
  const plan::Plan& plan = *request_.plan;
  verbs::PortFacts facts = device.port_facts(port());
  if (!facts.active)
    throw Error(ErrorKind::system, fmt::format("port {} of {} is not ACTIVE but {}: is the cable in and the subnet manager or interface up?",
                                                    port(), device.name(), facts.state));
  if (facts.max_message_bytes && plan.message_bytes > *facts.max_message_bytes)
    throw Error(ErrorKind::verbs, fmt::format("--size {} is larger than {} can send in one message: use {} or less",
                                              format_size(plan.message_bytes), device.name(), format_size(*facts.max_message_bytes)));
  const auto most_qps = verbs::told_limit(device.limits().max_qp);
  if (most_qps && static_cast<std::uint64_t>(plan::total_qps(plan)) > *most_qps)
    throw Error(ErrorKind::verbs, fmt::format("the number of QPs of {} is {}, {} are needed: use fewer --qps or --threads", device.name(), *most_qps,
                                              plan::total_qps(plan)));
  if (is_atomic(plan.operation) && !device.has_atomics()) throw Error(ErrorKind::unsupported, fmt::format("{} has no atomics: use another --op", device.name()));
}

void RdmaPlace::choose_cpus() {
  auto threads = static_cast<std::size_t>(request_.plan->threads) + (request_.plan->under_load ? 1 : 0);
  host::CpuChoice choice = host::choose_cpus(*request_.facts, device(), static_cast<int>(same_host() ? 2 * threads : threads));
  if (!placement_.numa_node) placement_.numa_node = choice.numa_node;
  if (!placement_.cpus.empty()) return note("CPUs as asked for");
  if (!same_host()) {
    placement_.cpus = choice.cpus;
    return note(choice.reason);
  }
  // Two sides on one host must not share a CPU: the server takes the second half, of any node when the NIC's is unknown.
  std::vector<int> cpus = choice.cpus.size() >= 2 * threads ? choice.cpus : allowed_cpus();
  if (cpus.size() < 2 * threads)
    return note(fmt::format("threads are not bound: both sides on this host are {} threads on {} CPUs", 2 * threads, cpus.size()));
  auto begin = cpus.begin() + static_cast<std::ptrdiff_t>(request_.side == Side::server ? threads : 0);
  placement_.cpus.assign(begin, begin + static_cast<std::ptrdiff_t>(threads));
  note(fmt::format("CPU {}: both sides are on this host and take CPUs of their own", fmt::join(placement_.cpus, ",")));
}

void RdmaPlace::choose_gid(const verbs::Device& device, const transport::Offer* peer, transport::Offer& offer) {
  const host::RdmaDevice* known = host::find_device(*request_.facts, device.name());
  const host::RdmaPort* known_port = known != nullptr ? host::find_port(*known, port()) : nullptr;
  host::GidQuestion question;
  question.device = device.name();
  if (known_port != nullptr) question.port = *known_port;
  question.port.gids = device.query_gids(port());
  question.netdevs = request_.facts->netdevs;
  question.local_ip = request_.local_address;
  question.peer_ip = request_.peer_address;
  question.index = wish_.gid_index;
  if (peer != nullptr && peer->gid_index) question.peer.push_back(gid_of(*peer));
  host::GidChoice choice = host::choose_gid(question);
  note(choice.reason);
  warnings_.insert(warnings_.end(), choice.warnings.begin(), choice.warnings.end());
  offer.gid_choice_reason = choice.reason;
  if (!choice.index) return;
  placement_.gid_index = choice.index;
  for (const host::Gid& gid : question.port.gids) {
    if (gid.index != *choice.index) continue;
    offer.gid_index = gid.index;
    offer.gid = gid.gid;
    offer.gid_type = name_of(gid.type);
  }
}

}  // namespace railgauge::bench
