#include <fmt/format.h>

#include <algorithm>

#include "cuda/nccl_used.h"

namespace railgauge::cuda {
namespace {

/// What NCCL said of the NICs' ability, where that explains channels without GDRDMA.
std::string why_no_gdr(const NcclLog& log) {
  std::vector<const Origin*> lines;
  for (const HcaGdr& hca : log.hca_gdr)
    if (!hca.enabled) lines.push_back(&hca.origin);
  for (const PairGdr& pair : log.pair_gdr)
    if (!pair.enabled) lines.push_back(&pair.origin);
  return lines.empty() ? std::string() : fmt::format("; NCCL says {}", quoted_lines(lines));
}

Satisfied gdr_satisfied(const NcclLog& log) {
  const GdrUsed used = gdr_used(log);
  if (used.both == Share::all) return {true, fmt::format("gdr: {}", used.reason)};
  return {false, fmt::format("gdr is required, but {}{}", used.reason, used.both == Share::unknown ? "" : why_no_gdr(log))};
}

/// The lines by which the network is known.
std::vector<const Origin*> network_lines(const NcclLog& log, const NetworkUsed& used) {
  std::vector<const Origin*> lines;
  if (used.evidence == Evidence::channels)
    for (const NetChannel& channel : log.net_channels)
      if (channel.network != "IB" || used.over_verbs) lines.push_back(&channel.origin);
  if (used.evidence == Evidence::chosen)
    for (const NetworkName& network : log.networks)
      if (network.name != "IB" || used.over_verbs) lines.push_back(&network.origin);
  if (used.evidence == Evidence::listed)
    for (const NicList& list : log.nic_lists) lines.push_back(&list.origin);
  return lines;
}

/// "; libnccl-net.so was not loaded": what often stands behind a fall-back to sockets.
std::string why_no_ib(const NcclLog& log) {
  std::vector<const Origin*> lines;
  for (const NicList& list : log.nic_lists)
    if (list.devices.empty()) lines.push_back(&list.origin);
  for (const PluginLine& plugin : log.plugins)
    if (plugin.kind == "NET" && plugin.news == PluginNews::not_found) lines.push_back(&plugin.origin);
  return lines.empty() ? std::string() : fmt::format("; NCCL says {}", quoted_lines(lines));
}

Satisfied ib_satisfied(const NcclLog& log) {
  const NetworkUsed used = network_used(log);
  if (used.kind == NetworkKind::none || used.kind == NetworkKind::unknown) return {false, fmt::format("ib is required, but {}", used.reason)};
  const std::string lines = quoted_lines(network_lines(log, used));
  if (used.over_verbs && used.evidence == Evidence::listed) return {false, fmt::format("ib is required, but {}: {}", used.reason, lines)};
  if (used.over_verbs) return {true, fmt::format("ib: the network is {}; {}: {}", used.name, used.reason, lines)};
  return {false, fmt::format("ib is required, but the network is {}; {}: {}{}", used.name, used.reason, lines, why_no_ib(log))};
}

bool is_nvlink(const std::string& type) { return type == "NVL" || type == "NVB"; }

Satisfied nvlink_satisfied(const NcclLog& log) {
  std::vector<const Origin*> bad;
  for (const std::size_t i : shm_instead_of_p2p(log)) bad.push_back(&log.local_channels[i].origin);
  if (!bad.empty())
    return {false, fmt::format("nvlink is required, but {} channels go through host memory: {}", bad.size(), quoted_lines(bad))};
  std::vector<const Origin*> good;
  for (const GraphSearch& graph : log.graphs)
    if (graph.channels > 0 && graph.type_intra != "LOC") (is_nvlink(graph.type_intra) ? good : bad).push_back(&graph.origin);
  if (!bad.empty()) return {false, fmt::format("nvlink is required, but NCCL found another path between the GPUs of a node: {}", quoted_lines(bad))};
  if (!good.empty()) return {true, fmt::format("nvlink: NCCL found it between the GPUs of a node: {}", quoted_lines(good))};
  if (log.local_channels.empty()) return {false, "nvlink is required, but the log shows no channel between GPUs of a node"};
  for (const LocalChannel& channel : log.local_channels)
    (channel.path == LocalPath::p2p_mnnvl ? good : bad).push_back(&channel.origin);
  if (bad.empty()) return {true, fmt::format("nvlink: all {} channels are multi-node NVLink: {}", good.size(), quoted_lines(good))};
  return {false, fmt::format("nvlink is required, but the log does not say what P2P runs over: {}; run with GRAPH in NCCL_DEBUG_SUBSYS",
                             quoted_lines(bad))};
}

}  // namespace

Satisfied satisfies(const NcclLog& log, Requirement requirement) {
  switch (requirement) {
    case Requirement::gdr: return gdr_satisfied(log);
    case Requirement::ib: return ib_satisfied(log);
    case Requirement::nvlink: return nvlink_satisfied(log);
  }
  return {};
}

}  // namespace railgauge::cuda
