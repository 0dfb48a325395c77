#include "host/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "host/live.h"
#include "host/parse.h"

namespace railgauge::host {
namespace {

using Value = Fact<std::uint64_t>;

Value parse_counter(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return Value::missing(fmt::format("\"{}\"", text));
  return Value::of(value);
}

Value read_counter(const Root& root, const std::string& path) {
  Fact<std::string> text = root.text(path);
  return text ? parse_counter(*text) : Value::missing(text.reason);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A counter that stops at its maximum says nothing once it is there, even if it stood there before.
Value saturating_delta(std::uint64_t before, std::uint64_t after, int bits) {
  std::uint64_t maximum = (1ULL << bits) - 1;
  if (after >= maximum) return Value::missing(fmt::format("saturated at {} ({} bits): clear it (`perfquery -R`)", after, bits));
  if (after < before) return Value::missing(fmt::format("fell from {} to {}: cleared meanwhile", before, after));
  return Value::of(after - before);
}

/// mlx5's queue counters are 32 bits wide. A wrap that would mean more than half the range is taken for a reset.
Value wrapping_delta(std::uint64_t before, std::uint64_t after, bool& wrapped) {
  constexpr std::uint64_t kRange = 1ULL << 32;
  if (after >= before) return Value::of(after - before);
  std::uint64_t delta = after + kRange - before;
  if (before >= kRange || delta >= kRange / 2) return Value::missing(fmt::format("fell from {} to {}: cleared meanwhile", before, after));
  wrapped = true;
  return Value::of(delta);
}

CounterDelta delta_of(const std::string& source, const std::string& name, const Value& before, const Value& after) {
  CounterDelta result{source, name, before, after, {}, false};
  if (!before || !after) {
    result.delta = Value::missing(before ? after.reason : before.reason);
    return result;
  }
  std::optional<int> bits = ends_with(source, "/counters") ? saturating_bits(name) : std::nullopt;
  if (bits)
    result.delta = saturating_delta(*before, *after, *bits);
  else if (ends_with(source, "/hw_counters"))
    result.delta = wrapping_delta(*before, *after, result.wrapped);
  else if (*after < *before)
    result.delta = Value::missing(fmt::format("fell from {} to {}: cleared meanwhile", *before, *after));
  else
    result.delta = Value::of(*after - *before);
  return result;
}

/// A bond has no lanes: what is counted of cables is counted by its slaves.
std::vector<std::string> with_slaves(const Root& root, const std::vector<std::string>& netdevs) {
  std::vector<std::string> out;
  for (const std::string& netdev : netdevs) {
    out.push_back(netdev);
    if (Fact<std::string> slaves = root.text("/sys/class/net/" + netdev + "/bonding/slaves"))
      for (std::string_view slave : split_words(*slaves)) out.emplace_back(slave);
  }
  return out;
}

}  // namespace

CounterReader::CounterReader(const Root& root, const CounterTarget& target) : root_(root) {
  if (target.device) {
    std::string directory = "/sys/class/infiniband/" + *target.device;
    std::string port = fmt::format("{}/ports/{}", directory, target.port);
    add_if_present({fmt::format("{}/{}/counters", *target.device, target.port), port + "/counters"});
    add_if_present({fmt::format("{}/{}/hw_counters", *target.device, target.port), port + "/hw_counters"});
    add_if_present({fmt::format("{}/hw_counters", *target.device), directory + "/hw_counters"});
    if (std::optional<std::string> real = root_.resolve(directory + "/device"))
      add_if_present({real->substr(real->rfind('/') + 1) + "/aer_dev_correctable", *real + "/aer_dev_correctable", Form::name_value_lines});
  }
  for (const std::string& netdev : with_slaves(root_, target.netdevs)) {
    std::string directory = "/sys/class/net/" + netdev;
    add_if_present({netdev + "/statistics", directory + "/statistics"});
    add_if_present({netdev + "/carrier_changes", directory + "/carrier_changes", Form::one_file});
    if (root_.live()) sources_.push_back({netdev + "/ethtool", netdev, Form::ethtool});
  }
  for (const Source& source : sources_)
    if (ends_with(source.name, "/hw_counters"))
      if (Fact<std::int64_t> lifespan = root_.integer(source.path + "/lifespan"); lifespan && *lifespan > 0)
        wait_ = std::max(wait_, std::chrono::milliseconds(std::min<std::int64_t>(*lifespan, 10'000) + 1));
}

void CounterReader::add_if_present(Source source) {
  if (root_.exists(source.path)) sources_.push_back(std::move(source));
}

CounterReading CounterReader::read_source(const Source& source) const {
  CounterReading reading{source.name, {}};
  switch (source.form) {
    case Form::file_per_value:
      for (const std::string& name : root_.list(source.path))
        if (name != "lifespan") reading.values[name] = read_counter(root_, source.path + "/" + name);
      break;
    case Form::one_file:
      reading.values[source.path.substr(source.path.rfind('/') + 1)] = read_counter(root_, source.path);
      break;
    case Form::name_value_lines:
      if (FileText file = root_.read(source.path); file.text) {
        std::vector<std::string_view> words = split_words(*file.text);
        for (std::size_t i = 0; i + 1 < words.size(); i += 2) reading.values[std::string(words[i])] = parse_counter(words[i + 1]);
      }
      break;
    case Form::ethtool:
      for (const auto& [name, value] : live_ethtool_statistics(source.path))
        if (meaning_of(name)) reading.values[name] = Value::of(value);
      break;
  }
  return reading;
}

std::vector<CounterReading> CounterReader::read() const {
  std::vector<CounterReading> readings;
  for (const Source& source : sources_) {
    CounterReading reading = read_source(source);
    if (!reading.values.empty()) readings.push_back(std::move(reading));
  }
  return readings;
}

std::vector<CounterDelta> counter_deltas(const std::vector<CounterReading>& before, const std::vector<CounterReading>& after) {
  std::vector<CounterDelta> deltas;
  for (const CounterReading& first : before) {
    auto second = std::find_if(after.begin(), after.end(), [&](const CounterReading& r) { return r.source == first.source; });
    if (second == after.end()) continue;
    for (const auto& [name, value] : first.values) {
      auto later = second->values.find(name);
      if (later != second->values.end()) deltas.push_back(delta_of(first.source, name, value, later->second));
    }
  }
  return deltas;
}

std::optional<int> saturating_bits(std::string_view name) noexcept {
  using Width = std::pair<std::string_view, int>;
  // The last six are recalled, not re-read in the specification (host-facts, section 3.1).
  constexpr std::array<Width, 13> kWidths = {
      Width("symbol_error", 16), Width("link_error_recovery", 8), Width("link_downed", 8), Width("port_rcv_errors", 16),
      Width("local_link_integrity_errors", 4), Width("excessive_buffer_overrun_errors", 4), Width("port_xmit_wait", 32),
      Width("port_rcv_remote_physical_errors", 16), Width("port_rcv_switch_relay_errors", 16), Width("port_xmit_discards", 16),
      Width("VL15_dropped", 16), Width("port_rcv_constraint_errors", 8), Width("port_xmit_constraint_errors", 8)};
  for (const Width& width : kWidths)
    if (width.first == name) return width.second;
  return std::nullopt;
}

}  // namespace railgauge::host
