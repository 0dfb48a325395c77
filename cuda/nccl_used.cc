#include "cuda/nccl_used.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace railgauge::cuda {
namespace {

constexpr const char* kHowToSeeChannels = "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS with INIT and NET";

const std::string* host_of(const NcclLog& log, const Origin& origin) { return origin.process ? &log.processes[*origin.process].host : nullptr; }

/// Whether all ranks run on one node: NCCL's own count, or every rank seen on one host.
bool is_one_node(const NcclLog& log) {
  std::set<int> seen;
  std::set<std::string> hosts;
  int nranks = 0;
  for (const Comm& comm : log.comms) {
    if (comm.nodes) return std::all_of(log.comms.begin(), log.comms.end(), [](const Comm& c) { return !c.nodes || *c.nodes == 1; });
    nranks = std::max(nranks, comm.nranks);
    seen.insert(comm.rank);
    if (const std::string* host = host_of(log, comm.origin)) hosts.insert(*host);
  }
  return nranks > 0 && hosts.size() == 1 && seen.size() == static_cast<std::size_t>(nranks);
}

bool lists_verbs_ports(const NcclLog& log) {
  return std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const NicList& list) { return !list.devices.empty(); });
}

NetworkUsed network_named(const NcclLog& log, const std::set<std::string>& names, Evidence evidence, std::string reason) {
  NetworkUsed used{NetworkKind::plugin, {}, false, evidence, std::move(reason)};
  for (const std::string& name : names) used.name += (used.name.empty() ? "" : ", ") + name;
  if (names.size() > 1) used.kind = NetworkKind::mixed;
  else if (used.name == "IB") used.kind = NetworkKind::ib;
  else if (used.name == "Socket") used.kind = NetworkKind::socket;
  used.over_verbs = used.kind == NetworkKind::ib || (used.kind == NetworkKind::plugin && lists_verbs_ports(log));
  return used;
}

Share share_of(std::size_t with, std::size_t without) {
  if (with + without == 0) return Share::unknown;
  return without == 0 ? Share::all : with == 0 ? Share::none : Share::some;
}

Share share_in(const NcclLog& log, ChannelDirection direction) {
  std::size_t with = 0, without = 0;
  for (const NetChannel& channel : log.net_channels)
    if (channel.direction == direction) ++(channel.gdr ? with : without);
  return share_of(with, without);
}

std::optional<NicName> name_of_ports(const std::vector<NicPort>& ports) {
  NicName found;
  for (const NicPort& port : ports) {
    found.name += fmt::format("{}{}:{}", found.name.empty() ? "" : "+", port.device, port.port);
    if (port.link == ports.front().link) found.link = port.link;
  }
  if (!std::all_of(ports.begin(), ports.end(), [&](const NicPort& port) { return port.link == ports.front().link; })) found.link.reset();
  return found;
}

/// How well a statement speaks for what is asked: 2 from the same process, 1 from its host, 0 where one of the two has no
/// name, nothing from another host.
std::optional<int> nearness(const NcclLog& log, const Origin& said, const Origin& asked) {
  if (said.process && said.process == asked.process) return 2;
  const std::string* a = host_of(log, said);
  const std::string* b = host_of(log, asked);
  if (a == nullptr || b == nullptr) return 0;
  return *a == *b ? std::optional(1) : std::nullopt;
}

}  // namespace

std::optional<int> rank_of(const NcclLog& log, std::size_t process) {
  std::optional<int> rank;
  std::string first;
  for (const Comm& comm : log.comms) {
    if (comm.origin.process != process) continue;
    // Ranks of one process in its first communicator have that communicator's id in common, if it is written.
    const std::string id = comm.comm_id.value_or("") + fmt::format("/{}", comm.nranks);
    if (rank && id == first && *rank != comm.rank) return std::nullopt;
    if (!rank) first = id;
    if (!rank) rank = comm.rank;
  }
  return rank;
}

std::optional<NicName> nic_name_of(const NcclLog& log, const Origin& origin, const std::string& network, int net_dev) {
  std::optional<NicName> best;
  int nearest = -1;
  std::set<std::string> strangers;            // what lines without a name call it: an answer only if they agree
  const auto offer = [&](const Origin& said, NicName name) {
    const std::optional<int> near = nearness(log, said, origin);
    if (near == 0) strangers.insert(name.name);
    if (near && *near > nearest) {
      nearest = *near;
      best = std::move(name);
    }
  };
  if (network == "Socket") {
    for (const NamedInterface& interface : log.interfaces)
      if (interface.said_by == network && interface.index == net_dev) offer(interface.origin, {interface.name, std::nullopt});
  } else {
    for (const NicList& list : log.nic_lists)
      for (const NetDevice& device : list.devices)
        if (device.index == net_dev) offer(list.origin, *name_of_ports(device.ports));
    for (const VirtualNic& nic : log.virtual_nics)
      if (nic.index == net_dev) offer(nic.origin, {nic.name, std::nullopt});
  }
  if (nearest == 0 && strangers.size() > 1) return std::nullopt;
  return best;
}

NetworkUsed network_used(const NcclLog& log) {
  std::set<std::string> names;
  for (const NetChannel& channel : log.net_channels) names.insert(channel.network);
  if (!names.empty()) return network_named(log, names, Evidence::channels, fmt::format("{} channel ends run over it", log.net_channels.size()));
  if (is_one_node(log)) return {NetworkKind::none, {}, false, Evidence::channels, "all ranks are on one node: nothing crosses a network"};
  for (const NetworkName& network : log.networks) names.insert(network.name);
  if (!names.empty()) return network_named(log, names, Evidence::chosen, "NCCL chose it; the log shows no channel over it");
  if (lists_verbs_ports(log))
    return network_named(log, {"IB"}, Evidence::listed, "NCCL lists its NICs; the log shows neither the choice nor a channel");
  return {NetworkKind::unknown, {}, false, Evidence::nothing, fmt::format("the log names no network: {}", kHowToSeeChannels)};
}

GdrUsed gdr_used(const NcclLog& log) {
  GdrUsed used;
  used.ends = log.net_channels.size();
  for (std::size_t i = 0; i < log.net_channels.size(); ++i)
    if (!log.net_channels[i].gdr) used.without.push_back(i);
  used.both = share_of(used.ends - used.without.size(), used.without.size());
  used.send = share_in(log, ChannelDirection::send);
  used.receive = share_in(log, ChannelDirection::receive);
  if (used.ends > 0) {
    std::vector<const Origin*> lines;
    for (const std::size_t i : used.without) lines.push_back(&log.net_channels[i].origin);
    used.reason = lines.empty() ? fmt::format("all {} NET channel ends have GDRDMA", used.ends)
                                : fmt::format("{} of {} NET channel ends are without GDRDMA: {}", lines.size(), used.ends, quoted_lines(lines));
  } else {
    used.reason = is_one_node(log) ? "all ranks are on one node: nothing crosses a network"
                                   : fmt::format("the log has no NET channel line: {}", kHowToSeeChannels);
  }
  return used;
}

std::vector<std::size_t> shm_instead_of_p2p(const NcclLog& log) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < log.local_channels.size(); ++i)
    if (log.local_channels[i].path == LocalPath::shm) found.push_back(i);
  return found;
}

std::string quoted_lines(const std::vector<const Origin*>& origins) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < origins.size() && i < kShown; ++i)
    text += fmt::format("{}line {} \"{}\"", i == 0 ? "" : ", ", origins[i]->line, origins[i]->text);
  if (origins.size() > kShown) text += fmt::format(" and {} more", origins.size() - kShown);
  return text;
}

}  // namespace railgauge::cuda
