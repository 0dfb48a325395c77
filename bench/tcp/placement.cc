#include "bench/tcp/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/tcp/links.h"
#include "host/cpu_choice.h"
#include "host/snapshot.h"

namespace railgauge::bench {
namespace {

constexpr int kArphrdLoopback = 772;

/// Shares `cpus` out: round trip first, then senders, then receivers.
void share_out(TcpPlacement& placement, const std::vector<int>& cpus, std::size_t senders, std::size_t receivers, bool round_trip) {
  if (cpus.empty()) return;
  std::size_t next = 0;
  const auto take = [&] { return cpus[next++ % cpus.size()]; };
  if (round_trip) placement.round_trip = take();
  for (std::size_t i = 0; i < senders; ++i) placement.senders.push_back(take());
  for (std::size_t i = 0; i < receivers; ++i) placement.receivers.push_back(take());
}

}  // namespace

std::vector<int> TcpPlacement::all() const {
  std::vector<int> cpus;
  if (round_trip) cpus.push_back(*round_trip);
  cpus.insert(cpus.end(), senders.begin(), senders.end());
  cpus.insert(cpus.end(), receivers.begin(), receivers.end());
  return cpus;
}

TcpPlacement place_tcp_threads(const plan::Plan& plan, Side side, const host::Snapshot& local, const std::string& local_address) {
  const bool latency = plan.metric == plan::Metric::latency;
  const bool bulk = !latency || plan.under_load;
  const auto each = static_cast<std::size_t>(bulk ? threads_of(plan) : 0);
  const bool to_peer = plan.direction == plan::Direction::both || (plan.direction == plan::Direction::to) == (side == Side::client);
  const bool from_peer = plan.direction == plan::Direction::both || !to_peer;
  const std::size_t senders = to_peer ? each : 0;
  const std::size_t receivers = from_peer ? each : 0;
  const std::size_t threads = senders + receivers + (latency ? 1 : 0);
  const auto& wish = side == Side::client ? plan.client : plan.server;

  TcpPlacement placement;
  placement.numa_node = wish.numa_node;
  const auto* netdev = host::find_netdev_by_address(local, local_address);
  placement.interface = wish.interface;
  if (!placement.interface && netdev != nullptr) placement.interface = netdev->name;
  const bool loopback = netdev != nullptr && netdev->type && *netdev->type == kArphrdLoopback;
  const std::size_t ends = loopback ? 2 : 1;
  if (local.online_cpus && threads * ends > static_cast<std::size_t>(*local.online_cpus)) {
    placement.warning = fmt::format("{} measuring threads on this host's {} CPUs: they take turns, which lowers the figure", threads * ends,
                                    *local.online_cpus);
  }
  if (!wish.cpus.empty()) {
    share_out(placement, wish.cpus, senders, receivers, latency);
    placement.reason = "CPUs as asked for";
  } else if (loopback) {
    placement.reason = "threads not bound: on loopback both ends share this host's CPUs";
  } else if (netdev == nullptr) {
    placement.reason = fmt::format("threads not bound: no interface with address {} is known", local_address);
  } else {
    const auto choice = host::choose_cpus(local, netdev->name, static_cast<int>(threads));
    share_out(placement, choice.cpus, senders, receivers, latency);
    if (!placement.numa_node) placement.numa_node = choice.numa_node;
    placement.reason = choice.reason;
  }
  return placement;
}

}  // namespace railgauge::bench
