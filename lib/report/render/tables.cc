#include "report/render/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/render/columns.h"
#include "report/render/words.h"

namespace railgauge::report {
namespace {

using plan::Metric;
using plan::Transport;
using results::Measurement;
using results::Record;

bool was_measured(const Measurement& measurement) { return measurement.throughput || measurement.latency; }

/// Limiting terms in order of their first use, as letters: a … z, A … Z, then "+".
class Letters {
 public:
  std::string of(const results::Verdict& verdict, const rates::Expectation& expectation) {
    if (verdict.limiting_term.empty()) return {};
    auto at = std::find_if(terms_.begin(), terms_.end(), [&](const rates::Term& term) { return term.name == verdict.limiting_term; });
    auto index = static_cast<std::size_t>(at - terms_.begin());
    if (at == terms_.end()) {
      terms_.push_back(expectation.limit() ? *expectation.limit() : rates::Term{});
      terms_.back().name = verdict.limiting_term;
    } else if (expectation.limit() && expectation.limit()->formula != at->formula) {
      varies_.push_back(index);
    }
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string letter(1, index < kLetters.size() ? kLetters[index] : '+');
    letters_.resize(terms_.size());
    letters_[index] = letter;
    return letter;
  }
  std::vector<std::string> legend() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      std::string before = fmt::format("  {} = ", letters_[i]);
      bool varies = std::find(varies_.begin(), varies_.end(), i) != varies_.end();
      const char* more = varies ? "; other sizes and operations likewise, in the record" : "";
      for (const std::string& line : wrap(fmt::format("{}: {}{}", shown(terms_[i].name), shown(terms_[i].formula), more), 72)) {
        out.push_back(before + line);
        before = std::string(display_width(before), ' ');
      }
    }
    return out;
  }

 private:
  std::vector<rates::Term> terms_;
  std::vector<std::size_t> varies_;  ///< terms whose formula is not the same in every row
  std::vector<std::string> letters_;
};

struct BandwidthRow {
  std::string name;
  std::string measured;
  std::string lowest;
  std::string should;
  std::string letter;
  std::string percent;
  std::string verdict;  ///< empty for a second line
};

std::string format_row(const BandwidthRow& row) {
  std::string line = fmt::format("  {} {} {} {} {} {} {}", row.name, right(row.measured, 8), right(row.lowest, 7),
                                 right(row.should, 8), left(row.letter, 1), right(row.percent, 4), row.verdict);
  while (line.back() == ' ') line.pop_back();
  return line;
}

BandwidthRow bandwidth_row(const std::string& way, const stats::ThroughputSummary& throughput, const Measurement& measurement) {
  BandwidthRow row;
  row.name = short_name(measurement.plan, way, 28);
  row.measured = figure(throughput.mean_gbit_per_s.value);
  row.lowest = figure(throughput.min_gbit_per_s.value);
  // A user's limit stands in the verdict; without either there is still the expectation to look at.
  auto should = measurement.verdict.expected ? measurement.verdict.expected : measurement.expectation.gbit_per_s();
  if (measurement.plan.metric == Metric::rate) {
    auto rate = throughput.messages_per_s.value;
    row.measured = figure(rate ? std::optional<double>(*rate / 1e6) : std::nullopt);
    row.lowest = figure(throughput.mean_gbit_per_s.value);
    should = measurement.expectation.gbit_per_s();
  }
  row.should = figure(should);
  if (should && *should > 0 && throughput.mean_gbit_per_s.value)
    row.percent = fmt::format("{:.0f}", 100 * *throughput.mean_gbit_per_s.value / *should);
  return row;
}

/// The low end of the intervals where there are enough of them for a percentile; of a rate also the lowest, which has no column.
void add_interval_line(std::vector<std::string>& out, const stats::ThroughputSummary& throughput, Metric metric) {
  const bool percentiles = throughput.p5_gbit_per_s.value.has_value();
  if (!percentiles && (metric != Metric::rate || !throughput.min_gbit_per_s.value)) return;
  std::string line = fmt::format("    {} intervals of {}, Gbit/s: lowest {}", throughput.whole_intervals, format_duration(throughput.interval),
                                 figure(throughput.min_gbit_per_s.value));
  if (percentiles) line += fmt::format(", p1 {}, p5 {}", figure(throughput.p1_gbit_per_s.value), figure(throughput.p5_gbit_per_s.value));
  out.push_back(line);
}

/// Where the kernel copied after all, zero-copy was none: always so to an address of the same host.
void add_zerocopy_lines(std::vector<std::string>& out, const Measurement& measurement) {
  for (const results::SideResult& side : measurement.sides) {
    if (!side.zerocopy_completions || !side.zerocopy_copied) continue;
    const std::uint64_t all = *side.zerocopy_completions;
    const std::string share = all > 0 ? fmt::format(" ({:.1f} %)", 100.0 * static_cast<double>(*side.zerocopy_copied) / static_cast<double>(all)) : "";
    out.push_back(fmt::format("    zero-copy, {}: {} of {} sends copied{}", side.role == "client" ? "A" : "B", *side.zerocopy_copied, all, share));
  }
}

void add_bandwidth_rows(std::vector<std::string>& out, const Measurement& measurement, Letters& letters, bool color) {
  const results::Verdict& verdict = measurement.verdict;
  bool both = measurement.throughput_reverse.has_value();
  BandwidthRow row = bandwidth_row(both ? " →" : "", *measurement.throughput, measurement);
  row.letter = letters.of(verdict, measurement.expectation);
  row.verdict = colored(verdict_text(verdict), verdict.word, color);
  out.push_back(format_row(row));
  add_interval_line(out, *measurement.throughput, measurement.plan.metric);
  if (both) {
    out.push_back(format_row(bandwidth_row(" ←", *measurement.throughput_reverse, measurement)));
    add_interval_line(out, *measurement.throughput_reverse, measurement.plan.metric);
  }
  add_zerocopy_lines(out, measurement);
}

const char* short_meaning(const Measurement& measurement) { return measurement.latency_meaning.compare(0, 4, "half") == 0 ? "half RTT" : "RTT"; }

void add_latency_row(std::vector<std::string>& out, const Measurement& measurement, bool color) {
  const stats::LatencySummary& latency = *measurement.latency;
  auto us = [](const stats::Value& value) { return figure(value.value ? std::optional<double>(*value.value / 1000) : std::nullopt); };
  out.push_back(fmt::format("  {} {} {} {} {} {} {}", short_name(measurement.plan, "", 22), right(us(latency.p50_ns), 7),
                            right(us(latency.p99_ns), 7), right(us(latency.max_ns), 8), right(short_count(latency.samples), 5),
                            left(short_meaning(measurement), 8),
                            colored(verdict_text(measurement.verdict), measurement.verdict.word, color)));
}

std::string heading(Transport transport, Metric metric) {
  const char* who = transport == Transport::rdma ? "RDMA" : "TCP";
  if (metric == Metric::latency)
    return fmt::format("{} {} {} {} {} {} {}", left(fmt::format("{} latency (us)", who), 24), right("p50", 7), right("p99", 7),
                       right("max", 8), right("n", 5), left("meaning", 8), "verdict");
  bool rate = metric == Metric::rate;
  return fmt::format("{} {} {} {} {} {} {}", left(fmt::format("{} {}", who, rate ? "message rate" : "bandwidth (Gbit/s)"), 30),
                     right(rate ? "M/s" : "measured", 8), right(rate ? "Gbit/s" : "lowest", 7), right(rate ? "at most" : "should", 8), " ",
                     right("%", 4), "verdict");
}

/// Why rows have no percentiles: the first reason stands for those of the others, which may count one interval more or less.
std::vector<std::string> missing_percentiles(const std::vector<const Measurement*>& group) {
  for (const Measurement* measurement : group) {
    if (!measurement->throughput) continue;
    const stats::Value& p5 = measurement->throughput->p5_gbit_per_s;
    if (!p5.value && !p5.reason.empty()) return {fmt::format("  (without p5 and p1: {})", shown(p5.reason))};
  }
  return {};
}

std::vector<std::string> meanings_of(const std::vector<const Measurement*>& group) {
  std::vector<std::string> out;
  for (const Measurement* measurement : group) {
    std::string line = fmt::format("  ({}: {})", short_meaning(*measurement), shown(measurement->latency_meaning));
    if (!measurement->latency_meaning.empty() && std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
  }
  return out;
}

void add_group(std::vector<std::string>& out, const Record& record, Transport transport, Metric metric, Letters& letters, bool color) {
  std::vector<const Measurement*> group;
  for (const Measurement& measurement : record.measurements)
    if (measurement.plan.transport == transport && measurement.plan.metric == metric && was_measured(measurement)) group.push_back(&measurement);
  if (group.empty()) return;
  out.emplace_back();
  out.push_back(heading(transport, metric));
  for (const Measurement* measurement : group) {
    if (metric == Metric::latency && measurement->latency) add_latency_row(out, *measurement, color);
    if (metric != Metric::latency && measurement->throughput) add_bandwidth_rows(out, *measurement, letters, color);
  }
  for (const std::string& line : metric == Metric::latency ? meanings_of(group) : missing_percentiles(group)) out.push_back(line);
}

const results::Node* node_of(const Record& record, const std::string& role) {
  for (const results::Node& node : record.nodes)
    if (node.role == role) return &node;
  return nullptr;
}

template <typename T>
std::string fact_text(const host::Fact<T>& fact) {
  return fact ? fmt::format("{}", *fact) : fmt::format("unknown ({})", fact.reason);
}

const results::SideResult* first_side(const Record& record, Transport transport, const std::string& role) {
  for (const Measurement& measurement : record.measurements)
    for (const results::SideResult& side : measurement.sides)
      if (measurement.plan.transport == transport && side.role == role) return &side;
  return nullptr;
}

struct Row {
  std::string name;
  std::string value;
  std::string place{};  ///< where it is, printed behind the value: no difference by itself
};
using Rows = std::vector<Row>;

void add_device_rows(Rows& rows, const host::RdmaDevice& device, int port_number) {
  for (const host::RdmaPort& port : device.ports) {
    if (port.port != port_number) continue;
    rows.push_back({"RDMA port", fmt::format("{} port {}, {}", device.name, port.port, port.state ? *port.state : port.state.reason)});
    rows.push_back({"link", fact_text(port.rate_text)});
    rows.push_back({"path MTU", port.active_mtu_bytes ? fmt::format("{} of {}", *port.active_mtu_bytes, fact_text(port.max_mtu_bytes))
                                                      : fact_text(port.active_mtu_bytes)});
  }
  rows.push_back({"firmware", fact_text(device.firmware)});
  if (device.pci.links.empty()) return;
  const host::PciLink& link = device.pci.links.front();
  const bool known = link.current_gt_per_s && link.current_width;
  rows.push_back({"PCIe", known ? fmt::format("{:g} GT/s x{}", *link.current_gt_per_s, *link.current_width) : fact_text(link.current_gt_per_s),
                  known ? " at " + link.address : ""});
  rows.push_back({"NUMA node", fact_text(device.numa_node)});
}

/// What of one host a reader of the figures wants to see.
Rows rows_of(const Record& record, const results::Node& node) {
  Rows rows = {{"host", node.facts.hostname}, {"system", node.facts.os}, {"kernel", node.facts.kernel}, {"CPU", fact_text(node.facts.cpu_model)}};
  const results::SideResult* rdma = first_side(record, Transport::rdma, node.role);
  for (const host::RdmaDevice& device : node.facts.rdma_devices)
    if (rdma && rdma->placement.device == device.name) add_device_rows(rows, device, rdma->placement.port.value_or(1));
  const results::SideResult* tcp = first_side(record, Transport::tcp, node.role);
  for (const host::Netdev& netdev : node.facts.netdevs) {
    if (!tcp || tcp->placement.interface != netdev.name) continue;
    std::string speed = netdev.speed_gbit_per_s ? fmt::format("{:g} Gbit/s", *netdev.speed_gbit_per_s)
                                                : fmt::format("speed unknown ({})", netdev.speed_gbit_per_s.reason);
    rows.push_back({"interface", fmt::format("{}, MTU {}, {}", netdev.name, fact_text(netdev.mtu_bytes), speed)});
  }
  return rows;
}

Row find_row(const Rows& rows, const std::string& name) {
  for (const Row& row : rows)
    if (row.name == name) return row;
  return {name, "–"};
}

}  // namespace

std::string colored(const std::string& cell, results::VerdictWord word, bool color) {
  return color ? look_of(word).color + cell + "\x1b[0m" : cell;
}

std::vector<std::string> measurement_tables(const Record& record, bool color) {
  std::vector<std::string> out;
  Letters letters;
  for (Transport transport : {Transport::rdma, Transport::tcp})
    for (Metric metric : {Metric::bandwidth, Metric::rate, Metric::latency}) add_group(out, record, transport, metric, letters, color);
  std::vector<std::string> legend = letters.legend();
  if (!legend.empty()) {
    out.emplace_back();
    out.emplace_back("What the link should carry, by its smallest term (payload)");
    out.insert(out.end(), legend.begin(), legend.end());
  }
  return out;
}

std::vector<std::string> host_table(const Record& record) {
  const results::Node* client = node_of(record, "client");
  const results::Node* server = node_of(record, "server");
  if (!client) return {};
  Rows left_rows = rows_of(record, *client);
  Rows right_rows = server ? rows_of(record, *server) : Rows{};
  for (const Row& row : right_rows)
    if (find_row(left_rows, row.name).value == "–") left_rows.push_back({row.name, "–"});
  std::vector<std::string> out = {fmt::format("  {} {}", left("", 10), server ? left("A (client)", 33) + " B (server)" : "A (client)")};
  for (const Row& row : left_rows) {
    const Row other = server ? find_row(right_rows, row.name) : Row{};
    const bool differs = server && row.name != "host" && row.value != other.value;
    out.push_back(fmt::format("{} {} {} {}", differs ? "≠" : " ", left(row.name, 10), left(shown(row.value + row.place), 33), left(shown(other.value + other.place), 32)));
    while (!out.back().empty() && out.back().back() == ' ') out.back().pop_back();
  }
  return out;
}

}  // namespace railgauge::report
