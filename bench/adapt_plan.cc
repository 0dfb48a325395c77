#include "bench/adapt_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/log.h"

namespace railgauge::bench {
namespace {

struct Limit {
  int depth;
  std::string text;
};

/// The device that the wish names, else the smallest of the host: which one is chosen depends on more than is known here, and
/// no two in the field differ below the depths that the tool chooses.
std::optional<Limit> smallest(const results::Node& node, const std::optional<std::string>& wish) {
  std::optional<Limit> least;
  for (const auto& device : node.facts.rdma_devices) {
    if (!device.max_qp_depth || (wish && device.name != *wish)) continue;
    if (least && least->depth <= *device.max_qp_depth) continue;
    least = Limit{*device.max_qp_depth,
                  fmt::format("{} of {} holds {} requests on a queue pair", printable(device.name), printable(node.facts.hostname), *device.max_qp_depth)};
  }
  return least;
}

bool has_software_rdma(const results::Node& node) {
  return std::any_of(node.facts.rdma_devices.begin(), node.facts.rdma_devices.end(),
                     [](const host::RdmaDevice& device) { return device.software && !device.simulated; });
}

std::string lowered(plan::Plan& plan, int depth, const std::string& why) {
  std::string text = fmt::format("depth {} instead of {}: {}", depth, plan.rdma.depth, why);
  plan.rdma.depth = depth;
  plan::validate(plan, plan::Limits{});
  return text;
}

}  // namespace

std::string fit_depth(plan::Plan& plan, const results::Node& client, const results::Node& server) {
  if (plan.transport != plan::Transport::rdma || plan.metric == plan::Metric::latency) return {};
  auto least = smallest(client, plan.client.device);
  auto other = smallest(server, plan.server.device);
  if (!least || (other && other->depth < least->depth)) least = other;
  if (!least || least->depth >= plan.rdma.depth) return {};
  const int step = std::lcm(plan.rdma.post_batch, plan.rdma.signal_every);
  const int depth = least->depth / step * step;
  return depth > 0 ? lowered(plan, depth, least->text) : std::string();
}

std::string spare_software_device(plan::Plan& plan, const results::Node& client, const results::Node& server) {
  if (plan.metric == plan::Metric::latency || (!has_software_rdma(client) && !has_software_rdma(server))) return {};
  // Soft-RoCE moves some 5 to 50 MB/s where the CPU is slow: with a NIC's depth the queued bytes alone take longer than the
  // window, and what is merely late is sent again. 1 MiB in flight is still more than it can keep busy.
  std::uint64_t depth = std::max<std::uint64_t>(4, (1ULL << 20) / (plan.message_bytes * static_cast<std::uint64_t>(plan.rdma.qps)));
  if (depth >= static_cast<std::uint64_t>(plan.rdma.depth)) return {};
  plan.rdma.post_batch = std::min(plan.rdma.post_batch, static_cast<int>(depth));
  plan.rdma.signal_every = 1;
  return lowered(plan, static_cast<int>(depth), "a software RDMA device is slow, 1 MiB in flight keeps it busy");
}

}  // namespace railgauge::bench
