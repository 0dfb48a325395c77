#include "report/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/counters.h"
#include "report/cause.h"
#include "report/used_path.h"

namespace railgauge::report {
namespace {

using results::CounterDelta;
using results::Measurement;
using results::Node;
using results::Record;
using results::SideResult;

/// One counter of one host, over all measurements.
struct Moved {
  std::string name;
  std::string host;
  std::uint64_t sum = 0;
  std::size_t measurements = 0;
  bool is_cause = false;  ///< said beside a verdict already
};

/// What an idle, healthy path does not do, but no verdict rests on.
void add_moved(std::vector<std::string>& out, const Record& record) {
  std::vector<Moved> all;
  for (const Measurement& measurement : record.measurements) {
    for (const SideResult& side : measurement.sides) {
      for (const CounterDelta& counter : side.counters) {
        const auto meaning = host::meaning_of(counter.name);
        if (!counter.delta || *counter.delta == 0 || !meaning || meaning->severity == host::CounterSeverity::info) continue;
        auto at = std::find_if(all.begin(), all.end(), [&](const Moved& m) { return m.name == counter.name && m.host == side.host; });
        if (at == all.end()) at = all.insert(all.end(), {counter.name, side.host});
        at->sum += *counter.delta;
        ++at->measurements;
        at->is_cause = at->is_cause || measurement.verdict.cause.find(moved_text(side, counter)) != std::string::npos;
      }
    }
  }
  for (const Moved& moved : all) {
    if (moved.is_cause) continue;
    const auto meaning = host::meaning_of(moved.name);
    const std::string when = moved.measurements > 1 ? fmt::format(" in {} measurements", moved.measurements) : "";
    const std::string remedy = meaning->remedy.empty() ? "" : ": " + meaning->remedy;
    out.push_back(fmt::format("{} +{} on {}{}: {}{}", moved.name, moved.sum, moved.host, when, meaning->sentence, remedy));
  }
}

/// A counter at its maximum cannot tell a fault any more.
void add_saturated(std::vector<std::string>& out, const Record& record) {
  for (const Measurement& measurement : record.measurements) {
    for (const SideResult& side : measurement.sides) {
      for (const CounterDelta& counter : side.counters) {
        const auto bits = host::saturating_bits(counter.name);
        if (counter.delta || !counter.after || !bits || *counter.after < (1ULL << *bits) - 1) continue;
        std::string text = fmt::format("{} on {} cannot move any more: {}", counter.name, side.host, counter.delta.reason);
        if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
      }
    }
  }
}

/// Field case F91: "powersave" and "ondemand" clock the CPU down between messages.
void add_governor(std::vector<std::string>& out, const Record& record) {
  const bool latency = std::any_of(record.measurements.begin(), record.measurements.end(), [](const Measurement& m) { return m.latency.has_value(); });
  if (!latency) return;
  auto note = [&](const std::string& governor, const std::string& where) {
    out.push_back(fmt::format("CPU governor is {} on {}: latency is likely worse: `cpupower frequency-set -g performance`", governor, where));
  };
  auto saves_power = [](const Node& node) { return node.facts.governor && *node.facts.governor != "performance"; };
  const auto& nodes = record.nodes;
  if (!record.same_host && nodes.size() == 2 && saves_power(nodes[0]) && nodes[0].facts.governor == nodes[1].facts.governor)
    return note(*nodes[0].facts.governor, "both hosts");
  for (const Node& node : nodes) {
    if (saves_power(node)) note(*node.facts.governor, node.facts.hostname);
    if (record.same_host) return;
  }
}

const Measurement* first_of(const Record& record, plan::Transport transport) {
  for (const Measurement& m : record.measurements)
    if (m.plan.transport == transport && m.outcome != results::Outcome::skipped) return &m;
  return nullptr;
}

/// A VLAN on it, or the bond that it is a slave of, leads through the same port.
bool leads_through(const host::Netdev& used, const host::Netdev& port) {
  const auto& slaves = used.bond_slaves;
  return used.name == port.name || used.name.rfind(port.name + ".", 0) == 0 || port.name.rfind(used.name + ".", 0) == 0 ||
         std::find(slaves.begin(), slaves.end(), port.name) != slaves.end();
}

/// The control connection's address chooses where TCP runs: a management network says nothing of the data network.
void add_other_interface(std::vector<std::string>& out, const Record& record) {
  const Measurement* rdma = first_of(record, plan::Transport::rdma);
  const Measurement* tcp = first_of(record, plan::Transport::tcp);
  if (!rdma || !tcp || record.same_host) return;
  for (auto node = record.nodes.rbegin(); node != record.nodes.rend(); ++node) {  // the server first: its address is what is named
    const SideResult* through = side_of(*rdma, node->role);
    const SideResult* over = side_of(*tcp, node->role);
    const host::Netdev* port = through && !through->simulated ? netdev_of(*node, *through) : nullptr;
    const host::Netdev* used = over ? netdev_of(*node, *over) : nullptr;
    if (!port || !used || leads_through(*used, *port)) continue;
    const std::string speed = used->speed_gbit_per_s ? fmt::format(" ({:g} Gb/s)", *used->speed_gbit_per_s) : "";
    const std::string address = port->addresses.empty() ? "" : port->addresses.front().substr(0, port->addresses.front().find('/'));
    std::string mend = address.empty() ? fmt::format("give {} an address and name it", port->name) : fmt::format("name {} (an address of {})", address, port->name);
    if (node->role == "client") mend = "name an address of the server there";
    out.push_back(fmt::format("TCP ran over {}{} on {}, not {}: {} to test the data network", used->name, speed, node->facts.hostname, port->name, mend));
    return;
  }
}

}  // namespace

std::vector<std::string> notes_of(const Record& record) {
  std::vector<std::string> out;
  add_moved(out, record);
  add_saturated(out, record);
  add_governor(out, record);
  add_other_interface(out, record);
  return out;
}

}  // namespace railgauge::report
