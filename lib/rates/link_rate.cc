#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "rates/expect.h"

namespace railgauge::rates {
namespace {

using host::Fact;

constexpr int kArphrdLoopback = 772;
constexpr int kArphrdInfiniband = 32;

LinkRate user_rate(double gbit_per_s) {
  return {.gbit_per_s = gbit_per_s, .name = fmt::format("{:g} Gb/s as given", gbit_per_s), .source = "given by the user", .given_by_user = true};
}

/// Rate of one slave: the slowest that is known, else an equal share of the bond's speed.
std::optional<double> slave_rate(const host::Netdev& bond, const std::vector<host::Netdev>& slaves) {
  std::optional<double> slowest;
  for (const host::Netdev& slave : slaves) {
    if (slave.speed_gbit_per_s) slowest = std::min(slowest.value_or(*slave.speed_gbit_per_s), *slave.speed_gbit_per_s);
  }
  if (!slowest && bond.speed_gbit_per_s) slowest = *bond.speed_gbit_per_s / static_cast<double>(bond.bond_slaves.size());
  return slowest;
}

/// What `flows` reach if each leaves through a slave of its own, the fastest first. `slave`: the rate of one whose speed is unknown.
double best_case(const host::Netdev& bond, const std::vector<host::Netdev>& slaves, std::size_t flows, double slave) {
  std::vector<double> speeds;
  for (const host::Netdev& each : slaves) speeds.push_back(each.speed_gbit_per_s.value.value_or(slave));
  speeds.resize(std::max(speeds.size(), bond.bond_slaves.size()), slave);
  std::sort(speeds.rbegin(), speeds.rend());
  const auto used = static_cast<std::ptrdiff_t>(std::min(flows, speeds.size()));
  const double sum = std::accumulate(speeds.begin(), speeds.begin() + used, 0.0);
  // Of an active-backup bond the kernel's figure is that of the one slave that sends.
  return bond.speed_gbit_per_s ? std::min(sum, *bond.speed_gbit_per_s) : sum;
}

/// One flow leaves through one slave; only two flows a slave at least make it likely that all slaves are used.
Fact<LinkRate> bond_rate(const host::Netdev& bond, const std::vector<host::Netdev>& slaves, int flows) {
  const std::size_t count = bond.bond_slaves.size();
  const auto slave = slave_rate(bond, slaves);
  if (!slave) return Fact<LinkRate>::missing(fmt::format("speed of {} and of its slaves unknown", bond.name));
  if (static_cast<std::size_t>(flows) < 2 * count) {
    const double best = best_case(bond, slaves, static_cast<std::size_t>(flows), *slave);
    const bool spread = best > *slave;
    return Fact<LinkRate>::of({.gbit_per_s = *slave,
                               .name = fmt::format("{:g} Gb/s (one of {} slaves of {}{})", *slave, count, bond.name,
                                                   spread ? fmt::format(", {:g} at best", best) : ""),
                               .source = fmt::format("speed of the slaves of {}", bond.name),
                               .at_most_gbit_per_s = spread ? std::optional(best) : std::nullopt});
  }
  const double sum = bond.speed_gbit_per_s ? *bond.speed_gbit_per_s : *slave * static_cast<double>(count);
  return Fact<LinkRate>::of(
      {.gbit_per_s = sum, .name = fmt::format("{:g} Gb/s ({} slaves of {})", sum, count, bond.name), .source = fmt::format("speed of {}", bond.name)});
}

Fact<LinkRate> netdev_rate(const host::Netdev& netdev) {
  const double speed = *netdev.speed_gbit_per_s;
  return Fact<LinkRate>::of(
      {.gbit_per_s = speed, .name = fmt::format("{:g} Gb/s Ethernet", speed), .source = fmt::format("/sys/class/net/{}/speed", netdev.name)});
}

/// Why what the driver prints for an Ethernet port is no rate; empty when it is one.
/// "1X SDR" stands for 1G and for an unknown speed; the kernel's generic helper (all drivers but mlx4 and mlx5) prints
/// "4X EDR" for anything from 50G up on 6.1, and "4X NDR" for anything above 200G on 6.12.
std::string why_filler(const RdmaEnd& end, double printed) {
  const std::string speed = end.port.speed ? *end.port.speed : "";
  const int width = end.port.width ? *end.port.width : 0;
  if (speed == "SDR" && width == 1) return fmt::format("{:g} Gb/s (1X SDR) is what drivers print for an unknown speed", printed);
  const std::string driver = end.device.driver ? *end.device.driver : "";
  const bool translates = driver.rfind("mlx", 0) == 0 || end.device.simulated;
  if (!translates && width == 4 && (speed == "EDR" || speed == "NDR")) {
    return fmt::format("4X {} stands for several Ethernet speeds in this driver", speed);
  }
  return {};
}

Fact<LinkRate> printed_ethernet_rate(const RdmaEnd& end) {
  const auto& printed = end.port.rate_gbit_per_s;
  if (!printed) return Fact<LinkRate>::missing(printed.reason);
  if (const std::string why = why_filler(end, *printed); !why.empty()) return Fact<LinkRate>::missing(why);
  // Nominal, never the 8b/10b data rate: 10G and 40G Ethernet are printed as QDR.
  return Fact<LinkRate>::of({.gbit_per_s = *printed, .name = fmt::format("{:g} Gb/s Ethernet", *printed), .source = "width x speed of the port"});
}

Fact<LinkRate> ethernet_rate(const RdmaEnd& end, int qps) {
  // A stand-in lies beside the host's real interfaces: only its own port attributes describe it.
  if (end.netdev && !end.device.simulated) {
    if (end.netdev->bond_slaves.size() > 1) return bond_rate(*end.netdev, end.slaves, qps);
    if (end.netdev->speed_gbit_per_s) return netdev_rate(*end.netdev);
  }
  return printed_ethernet_rate(end);
}

Fact<LinkRate> infiniband_rate(const host::RdmaPort& port) {
  const auto lane = port.speed ? lane_speed_from(*port.speed) : std::nullopt;
  if (lane && port.width && is_width(*port.width)) {
    const LaneFacts& facts = lane_facts(*lane);
    const double nominal = facts.nominal_gbit_per_s * *port.width;
    const double data = infiniband_data_gbit_per_s(*lane, *port.width);
    std::string name = fmt::format("{:g} Gb/s ({}X {})", nominal, *port.width, facts.name);
    if (data != nominal) name += fmt::format(", {:.4g} Gb/s after {}", data, facts.coding);
    return Fact<LinkRate>::of({.gbit_per_s = data, .name = name, .source = "width x speed of the port, lane table"});
  }
  if (!port.rate_gbit_per_s) return Fact<LinkRate>::missing(port.rate_gbit_per_s.reason);
  if (!port.speed) return Fact<LinkRate>::missing("lane speed unknown: " + port.speed.reason);
  // A speed newer than the table: from EDR on nominal and data rate are the same.
  return Fact<LinkRate>::of({.gbit_per_s = *port.rate_gbit_per_s,
                             .name = fmt::format("{:g} Gb/s ({})", *port.rate_gbit_per_s, *port.speed),
                             .source = "rate of the port as printed"});
}

}  // namespace

Fact<LinkRate> link_rate(const RdmaEnd& end, int qps) {
  const host::RdmaPort& port = end.port;
  if (end.link_gbit_per_s) return Fact<LinkRate>::of(user_rate(*end.link_gbit_per_s));
  if (port.physical_state && *port.physical_state != "LinkUp") return Fact<LinkRate>::missing("the port is " + *port.physical_state);
  if (port.state && (*port.state).rfind("ACTIVE", 0) != 0) return Fact<LinkRate>::missing("the port is " + *port.state);
  switch (port.link_layer) {
    case host::LinkLayer::ethernet: return ethernet_rate(end, qps);
    case host::LinkLayer::infiniband: return infiniband_rate(port);
    case host::LinkLayer::unknown: break;
  }
  return Fact<LinkRate>::missing("link layer unknown");
}

Fact<LinkRate> link_rate(const TcpEnd& end, int streams) {
  const host::Netdev& netdev = end.netdev;
  if (end.link_gbit_per_s) return Fact<LinkRate>::of(user_rate(*end.link_gbit_per_s));
  if (netdev.type && *netdev.type == kArphrdLoopback) return Fact<LinkRate>::missing("loopback has no link");
  if (netdev.type && *netdev.type == kArphrdInfiniband) return Fact<LinkRate>::missing("IP over InfiniBand is not modelled");
  if (netdev.carrier && !*netdev.carrier) return Fact<LinkRate>::missing("no carrier");
  if (netdev.bond_slaves.size() > 1) return bond_rate(netdev, end.slaves, streams);
  if (netdev.virtual_device && netdev.bond_slaves.empty()) return Fact<LinkRate>::missing("virtual interface");
  if (!netdev.speed_gbit_per_s) return Fact<LinkRate>::missing("speed: " + netdev.speed_gbit_per_s.reason);
  return netdev_rate(netdev);
}

}  // namespace railgauge::rates
