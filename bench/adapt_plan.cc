#include "bench/adapt_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "bench/check_plans.h"
#include "bench/engine.h"
#include "plan/label.h"

namespace railgauge::bench {
namespace {

struct Hosts {
  const results::Node& client;
  const results::Node& server;
};

struct Limit {
  int value;
  std::string text;
};

/// A limit of RDMA devices, and what it counts.
struct LimitKind {
  host::Fact<int> host::RdmaDevice::* fact;
  const char* words;
};
constexpr LimitKind kQps{&host::RdmaDevice::max_qps, "queue pairs"};
constexpr LimitKind kDepth{&host::RdmaDevice::max_qp_depth, "requests on a queue pair"};
constexpr LimitKind kCqEntries{&host::RdmaDevice::max_cq_entries, "entries in a completion queue"};

/// Of the device that the wish names, else the smallest of the host: which one is chosen depends on more than is known here,
/// and no two in the field differ below what the tool chooses.
void take_smaller(std::optional<Limit>& least, const LimitKind& kind, const results::Node& node, const std::optional<std::string>& wish) {
  for (const auto& device : node.facts.rdma_devices) {
    const auto& fact = device.*kind.fact;
    if (!fact || (wish && device.name != *wish) || (least && least->value <= *fact)) continue;
    least = Limit{*fact, fmt::format("{} of {} holds {} {}", printable(device.name), printable(node.facts.hostname), *fact, kind.words)};
  }
}

std::optional<Limit> smallest(const LimitKind& kind, const plan::Plan& plan, const Hosts& hosts) {
  std::optional<Limit> least;
  take_smaller(least, kind, hosts.client, plan.client.device);
  take_smaller(least, kind, hosts.server, plan.server.device);
  return least;
}

/// Requests that a queue pair and its share of a completion queue hold.
struct Room {
  int depth = INT_MAX;
  int cq_entries = INT_MAX;
};

int step_of(const plan::RdmaSettings& r) { return std::lcm(r.post_batch, r.signal_every); }

/// The deepest queue that fits, in whole posts and signals; 0: none. A completion queue need hold the signalled requests only.
int deepest(const plan::RdmaSettings& r, const Room& room) {
  const int step = step_of(r);
  for (int depth = std::min(r.depth, room.depth) / step * step; depth > 0; depth -= step)
    if (std::int64_t{r.qps} * std::min(depth, depth / r.signal_every + 1) <= room.cq_entries) return depth;
  return 0;
}

/// The next smaller number that divides it, so that whatever is a multiple of it stays one.
int next_divisor(int number) {
  for (int d = number / 2; d > 1; --d)
    if (number % d == 0) return d;
  return 1;
}

/// With one post or one signal in a queue nothing overlaps, so that smaller ones are tried until there are two.
plan::RdmaSettings fitted(const plan::RdmaSettings& wanted, const Typed& typed, const Room& room) {
  plan::RdmaSettings best = wanted;
  best.depth = 0;
  for (plan::RdmaSettings tried = wanted;;) {
    plan::RdmaSettings found = tried;
    found.depth = deepest(tried, room);
    const bool overlaps = found.depth == wanted.depth || found.depth >= 2 * step_of(tried);
    if (overlaps || found.depth > best.depth) best = found;
    if (overlaps) return best;
    if (!typed.signal_every) tried.signal_every = next_divisor(tried.signal_every);
    if (!typed.post_batch) tried.post_batch = next_divisor(tried.post_batch);
    if (tried.signal_every == found.signal_every && tried.post_batch == found.post_batch) return best;
  }
}

/// "x instead of y", for what has changed.
void say(std::string& text, const char* what, int now, int before) {
  if (now != before) text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", what, now, before);
}

std::string fit_qps(plan::Plan& plan, const Hosts& hosts) {
  auto limit = smallest(kQps, plan, hosts);
  auto entries = smallest(kCqEntries, plan, hosts);
  const int before = plan.rdma.qps;
  int most = before;
  std::string why;
  const bool shared = one_host(hosts.client.facts, hosts.server.facts, {}, {}) && plan.client.device == plan.server.device;
  if (limit && limit->value / (shared ? 2 : 1) / plan.threads < most) {
    most = limit->value / (shared ? 2 : 1) / plan.threads;
    why = limit->text + (shared ? ", for both sides" : "");
  }
  if (entries && entries->value / 2 < most) {  // two of each, so that something overlaps
    most = entries->value / 2;
    why = entries->text;
  }
  plan.rdma.qps = std::max(1, most);
  std::string text;
  say(text, "QPs", plan.rdma.qps, before);
  return text.empty() ? text : text + ": " + why;
}

std::string fit_depth(plan::Plan& plan, const Typed& typed, const Hosts& hosts) {
  auto depth = smallest(kDepth, plan, hosts);
  auto entries = smallest(kCqEntries, plan, hosts);
  Room room;
  if (depth) room.depth = depth->value;
  const int without_cq = fitted(plan.rdma, typed, room).depth;
  if (entries) room.cq_entries = entries->value;
  const plan::RdmaSettings fit = fitted(plan.rdma, typed, room);
  if (fit.depth == 0) return {};
  std::string text;
  say(text, "depth", fit.depth, plan.rdma.depth);
  say(text, "posts of", fit.post_batch, plan.rdma.post_batch);
  say(text, "a signal every", fit.signal_every, plan.rdma.signal_every);
  if (text.empty()) return text;
  const bool by_depth = depth && depth->value < plan.rdma.depth;
  text += fmt::format(": {}", by_depth ? depth->text : entries->text);
  if (by_depth && fit.depth != without_cq) text += ", and " + entries->text;
  plan.rdma = fit;
  return text;
}

bool has_software_rdma(const results::Node& node) {
  return std::any_of(node.facts.rdma_devices.begin(), node.facts.rdma_devices.end(),
                     [](const host::RdmaDevice& device) { return device.software && !device.simulated; });
}

}  // namespace

std::string fit_queues(plan::Plan& plan, const Typed& typed, const results::Node& client, const results::Node& server) {
  if (plan.transport != plan::Transport::rdma) return {};
  const Hosts hosts{client, server};
  std::string text = typed.qps ? std::string() : fit_qps(plan, hosts);
  if (!text.empty()) plan.label = plan::label_of(plan);
  if (!typed.depth && plan.metric != plan::Metric::latency)  // a latency's own few requests follow the device by themselves
    if (std::string depth = fit_depth(plan, typed, hosts); !depth.empty()) text += (text.empty() ? "" : "; ") + depth;
  plan::validate(plan, plan::Limits{});
  return text;
}

std::string spare_software_device(plan::Plan& plan, const results::Node& client, const results::Node& server) {
  if (plan.metric == plan::Metric::latency || (!has_software_rdma(client) && !has_software_rdma(server))) return {};
  // Soft-RoCE moves some 5 to 50 MB/s where the CPU is slow: with a NIC's depth the queued bytes alone take longer than the
  // window, and what is merely late is sent again. 1 MiB in flight is still more than it can keep busy.
  std::uint64_t depth = std::max<std::uint64_t>(4, (1ULL << 20) / (plan.message_bytes * static_cast<std::uint64_t>(plan.rdma.qps)));
  if (depth >= static_cast<std::uint64_t>(plan.rdma.depth)) return {};
  std::string text;
  say(text, "depth", static_cast<int>(depth), plan.rdma.depth);
  plan.rdma.depth = static_cast<int>(depth);
  plan.rdma.post_batch = std::min(plan.rdma.post_batch, static_cast<int>(depth));
  plan.rdma.signal_every = 1;
  plan::validate(plan, plan::Limits{});
  return text + ": a software RDMA device is slow, 1 MiB in flight keeps it busy";
}

}  // namespace railgauge::bench
