#include "host/inactive_port.h"

#include <fmt/format.h>

namespace railgauge::host {
namespace {

/// A port, and where it is.
struct Located {
  const std::string& hostname;
  const RdmaDevice& device;
  const RdmaPort& port;
  std::string host() const { return hostname.empty() ? "its host" : hostname; }
};

/// What switches a port on: an Ethernet port follows its interface, an InfiniBand port has none that must be up.
std::string switch_on(const Located& at) {
  if (at.port.link_layer == LinkLayer::infiniband)
    return fmt::format("`mlxlink -d {} -a UP`, or `ibportstate -C {} -P {} -D 0 {} enable`", at.device.name, at.device.name, at.port.port, at.port.port);
  return fmt::format("`ip link set {} up`", at.device.netdevs.empty() ? "IF" : at.device.netdevs.front());
}

/// The subnet manager keeps a virtual function's port off until it has a GUID (field case F78).
std::string switch_on_vf(const Located& at) {
  const bool no_guid = at.device.node_guid && at.device.node_guid.value->find_first_not_of("0:") == std::string::npos;
  return fmt::format("a virtual function of {}: its subnet manager must support virtualisation (opensm: `virt_enabled 2`), and the host of the "
                     "function must give it a GUID{} and a link state (`ip link set PF vf N node_guid G`, `port_guid G`, `state auto`)",
                     at.device.pci.links.empty() ? at.host() : at.device.pci.links.front().address, no_guid ? ", now zero," : "");
}

/// The hints of host-facts.md 2.1. Disabled is this end, Polling the cable or the other end (field case F79).
std::string hint_for(const Located& at, const std::string& state, const std::string& physical) {
  bool infiniband = at.port.link_layer == LinkLayer::infiniband;
  if (physical == "Polling")
    return fmt::format("no signal reaches {}: check the cable, the far port, breakout or split, speed and FEC", at.host());
  if (physical == "Disabled" && infiniband && at.device.pci.virtual_function) return switch_on_vf(at);
  if (physical == "Disabled") return fmt::format("switched off on {}, there: {}", at.host(), switch_on(at));
  if (infiniband && (state == "INIT" || state == "ARMED" || physical == "LinkUp"))
    return "no subnet manager has configured this port: start opensm or UFM";
  if (state == "INIT" || state == "ARMED") return fmt::format("the interface is not up yet, on {}: {}", at.host(), switch_on(at));
  if (physical == "LinkUp") return fmt::format("the link is up, the port is not, on {}: {}", at.host(), switch_on(at));
  if (physical == "PortConfigurationTraining" || physical == "LinkErrorRecovery")
    return "the link does not finish training: reseat or replace the cable";
  return fmt::format("see dmesg on {}", at.host());
}

}  // namespace

bool is_active(const RdmaPort& port) noexcept { return port.state && *port.state == "ACTIVE"; }

std::string why_not_active(const std::string& hostname, const RdmaDevice& device, const RdmaPort& port) {
  if (is_active(port)) return {};
  std::string state = port.state ? *port.state : "of unknown state (" + port.state.reason + ")";
  std::string physical = port.physical_state ? *port.physical_state : "unknown (" + port.physical_state.reason + ")";
  return fmt::format("{}, physical state {} ({})", state, physical, hint_for({hostname, device, port}, state, physical));
}

}  // namespace railgauge::host
