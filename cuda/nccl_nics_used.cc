// Which NICs carry channels, and the sign of a misread topology: two GPUs on one NIC while another idles (NVIDIA/nccl#820).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cuda/nccl_used.h"

namespace railgauge::cuda {
namespace {

using Key = std::tuple<std::string, std::string, int>;  // host, network, index

enum class Coverage { whole, part, unknown };

/// Whether the log has the channels of all ranks of a host: as many ranks as its communicators say it has.
Coverage coverage_of(const NcclLog& log, const std::string& host) {
  std::set<int> ranks;
  std::optional<int> local_ranks;
  for (const Comm& comm : log.comms) {
    if (!comm.origin.process || log.processes[*comm.origin.process].host != host) continue;
    ranks.insert(comm.rank);
    if (comm.local_ranks) local_ranks = std::max(local_ranks.value_or(0), *comm.local_ranks);
  }
  if (!local_ranks) return Coverage::unknown;
  return ranks.size() >= static_cast<std::size_t>(*local_ranks) ? Coverage::whole : Coverage::part;
}

std::string name_of(const NicUse& nic) {
  const std::string path = fmt::format("NET/{}/{}", nic.network, nic.net_dev);
  return nic.name ? fmt::format("{} ({})", nic.name->name, path) : path;
}

/// Adds the NICs that the lists name but no channel uses, under the network that the host's channels use.
void add_idle(const NcclLog& log, std::map<Key, NicUse>& nics) {
  std::map<std::string, std::set<std::string>> networks;  // by host
  for (const auto& [key, nic] : nics) networks[nic.host].insert(nic.network);
  for (const NicList& list : log.nic_lists) {
    if (!list.origin.process) continue;
    const std::string& host = log.processes[*list.origin.process].host;
    for (const std::string& network : networks[host]) {
      if (network == "Socket") continue;
      for (const NetDevice& device : list.devices) {
        NicUse& nic = nics[{host, network, device.index}];
        nic.host = host;
        nic.network = network;
        nic.net_dev = device.index;
        if (!nic.name) nic.name = nic_name_of(log, list.origin, network, device.index);
      }
    }
  }
}

void count(NicUse& nic, const NetChannel& channel) {
  const bool sends = channel.direction == ChannelDirection::send;
  if (sends) ++nic.send;
  else if (channel.direction) ++nic.receive;
  else ++nic.directionless;
  // By PXN all GPUs of a node meet on one rail on purpose.
  if (channel.proxy_rank && *channel.proxy_rank != channel.from_rank) return;
  if (!channel.direction) return;
  const int rank = sends ? channel.from_rank : channel.to_rank;
  const auto place = std::lower_bound(nic.ranks.begin(), nic.ranks.end(), rank);
  if (place == nic.ranks.end() || *place != rank) nic.ranks.insert(place, rank);
}

/// A shared and an idle NIC of the same kind on one host.
void judge_host(const NcclLog& log, const std::vector<NicUse>& nics, const std::string& host, std::vector<std::string>& findings) {
  const Coverage coverage = coverage_of(log, host);
  if (coverage == Coverage::part) return;
  std::vector<std::string> idle;
  for (const NicUse& nic : nics)
    if (nic.host == host && nic.send + nic.receive + nic.directionless == 0) idle.push_back(name_of(nic));
  if (idle.empty()) return;
  for (const NicUse& nic : nics) {
    if (nic.host != host || nic.ranks.size() < 2) continue;
    findings.push_back(fmt::format("host {}: ranks {} share {} while {} carr{} no channel{}", host, fmt::join(nic.ranks, ", "), name_of(nic),
                                   fmt::join(idle, ", "), idle.size() == 1 ? "ies" : "y",
                                   coverage == Coverage::whole ? "" : "; whether the log has all ranks of the host it does not say"));
  }
}

}  // namespace

NicsUsed nics_used(const NcclLog& log) {
  std::map<Key, NicUse> found;
  std::set<std::string> hosts;
  for (const NetChannel& channel : log.net_channels) {
    const std::string host = channel.origin.process ? log.processes[*channel.origin.process].host : std::string();
    NicUse& nic = found[{host, channel.network, channel.net_dev}];
    nic.host = host;
    nic.network = channel.network;
    nic.net_dev = channel.net_dev;
    if (!nic.name) nic.name = nic_name_of(log, channel.origin, channel.network, channel.net_dev);
    count(nic, channel);
    hosts.insert(host);
  }
  add_idle(log, found);
  NicsUsed used;
  for (auto& [key, nic] : found) used.nics.push_back(std::move(nic));
  for (const std::string& host : hosts) judge_host(log, used.nics, host, used.findings);
  return used;
}

}  // namespace railgauge::cuda
