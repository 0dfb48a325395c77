#include <fmt/format.h>

#include <cmath>

#include "report/cause.h"
#include "report/used_path.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using results::SideResult;

std::size_t flows_of(const plan::Plan& plan) {
  return static_cast<std::size_t>(plan.transport == plan::Transport::rdma ? plan::total_qps(plan) : plan.streams);
}

/// The most that one of `slaves` carries: with two flows a slave the expectation is that of all of them (rates/expect.h).
double slave_gbit_per_s(const rates::Term& link, std::size_t slaves, std::size_t flows) {
  const bool whole = link.given_by_user || flows >= 2 * slaves;
  return whole ? link.gbit_per_s / static_cast<double>(slaves) : link.gbit_per_s;
}

}  // namespace

Cause cause_in_bond(const Measurement& measurement, const Record& record) {
  constexpr double kAbout = 0.1;  // as much as word_of calls marginal
  const rates::Term* link = measurement.expectation.slowest_link();
  const std::size_t flows = flows_of(measurement.plan);
  if (!link || flows < 2 || !measurement.throughput || !measurement.throughput->mean_gbit_per_s.value) return {};
  for (const results::Node& node : record.nodes) {
    const SideResult* side = side_of(measurement, node.role);
    const host::Netdev* bond = side ? netdev_of(node, *side) : nullptr;
    const std::size_t slaves = bond ? bond->bond_slaves.size() : 0;
    if (slaves < 2) continue;
    const double one = slave_gbit_per_s(*link, slaves, flows);
    if (std::fabs(*measurement.throughput->mean_gbit_per_s.value / one - 1) > kAbout) continue;
    return {fmt::format("about the rate of one of {} slaves of {} on {}: all {} {} leave through one port", slaves, bond->name, node.facts.hostname, flows,
                        measurement.plan.transport == plan::Transport::rdma ? "QPs" : "streams"),
            {"see the bond's mode and hash policy (`xmit_hash_policy layer3+4`), the switch's, and the LAG mode of the NIC; use more --qps or --streams"}};
  }
  return {};
}

Cause cause_in_bond_name(const Measurement& measurement, const Record& record) {
  for (const results::Node& node : record.nodes) {
    const SideResult* side = side_of(measurement, node.role);
    if (!side || !side->placement.device || side->placement.device->find("bond") == std::string::npos) continue;
    const host::Netdev* netdev = netdev_of(node, *side);
    if (netdev && netdev->bond_slaves.size() > 1) continue;
    return {fmt::format("{} on {} is a LAG by its name, and the expectation counts one port, since the host's facts name no slaves", *side->placement.device,
                        node.facts.hostname),
            {"say what all its ports carry together: --link-gbps"}};
  }
  return {};
}

}  // namespace railgauge::report
