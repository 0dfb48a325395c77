#include "host/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

#include "host/parse.h"

namespace railgauge::host {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kConfigBytes = 256;  // standard capabilities end here; the PCI Express one is never in the extended space
constexpr int kCapabilityLimit = 48;
constexpr unsigned kPciExpressCapability = 0x10;

/// "0000:41:00.0", "10000:e1:00.0" (VMD domains have five digits).
bool is_pci_address(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || text.size() != colon + 8) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == colon || i == colon + 3 || i == colon + 6) continue;
    if (std::string_view("0123456789abcdef").find(text[i]) == std::string_view::npos) return false;
  }
  return text[colon + 3] == ':' && text[colon + 6] == '.';
}

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }
unsigned word_at(std::string_view bytes, std::size_t at) { return byte_at(bytes, at) | byte_at(bytes, at + 1) << 8; }

/// Offset of the PCI Express capability, or why it is not known.
Fact<std::size_t> find_express_capability(std::string_view bytes) {
  if (bytes.size() <= kHeaderBytes)
    return Fact<std::size_t>::missing(fmt::format("unreadable beyond byte {} (run as root)", bytes.size()));
  if ((word_at(bytes, 0x06) & 0x10) == 0) return Fact<std::size_t>::missing("no capability list");
  std::size_t at = byte_at(bytes, 0x34) & 0xfc;
  for (int step = 0; step < kCapabilityLimit && at >= kHeaderBytes; ++step) {
    if (at + 2 > bytes.size()) return Fact<std::size_t>::missing("capability list leaves the configuration space");
    if (byte_at(bytes, at) == kPciExpressCapability) {
      if (at + 0x14 > bytes.size()) return Fact<std::size_t>::missing("PCI Express capability cut off");
      return Fact<std::size_t>::of(at);
    }
    at = byte_at(bytes, at + 1) & 0xfc;
  }
  return Fact<std::size_t>::missing(at == 0 ? "no PCI Express capability" : "capability list without end");
}

/// GT/s per lane of a link speed code; PCI Express Base 7.5.3.6 via the supported speeds vector.
Fact<double> speed_of_code(unsigned code) {
  constexpr std::array<double, 7> kSpeeds = {0, 2.5, 5, 8, 16, 32, 64};
  if (code == 0 || code >= kSpeeds.size()) return Fact<double>::missing(fmt::format("link speed code {}", code));
  return Fact<double>::of(kSpeeds[code]);
}

Fact<int> lanes_of_bits(unsigned bits) {
  if (bits == 0) return Fact<int>::missing("link width code 0");
  return Fact<int>::of(static_cast<int>(bits));
}

template <typename T>
Fact<T> first_known(Fact<T> preferred, const Fact<T>& other) {
  return preferred || !other ? std::move(preferred) : other;
}

Fact<double> read_speed(const Root& root, const std::string& path) {
  Fact<std::string> text = root.text(path);
  return text ? parse_link_speed(*text) : Fact<double>::missing(text.reason);
}

Fact<int> read_width(const Root& root, const std::string& path) {
  Fact<std::string> text = root.text(path);
  return text ? parse_link_width(*text) : Fact<int>::missing(text.reason);
}

PciConfig read_config(const Root& root, const std::string& directory) {
  FileText file = root.read_bytes(directory + "/config", kConfigBytes);
  if (file.text) return decode_pci_config(*file.text);
  std::string why = reason_of(file.error);
  return {Fact<double>::missing(why), Fact<int>::missing(why), Fact<double>::missing(why), Fact<int>::missing(why),
          Fact<int>::missing(why), Fact<int>::missing(why), Fact<bool>::missing(why)};
}

Fact<std::string> read_id(const Root& root, const std::string& directory) {
  Fact<std::string> vendor = root.text(directory + "/vendor");
  Fact<std::string> device = root.text(directory + "/device");
  if (!vendor || !device) return Fact<std::string>::missing(vendor ? device.reason : vendor.reason);
  auto digits = [](const std::string& text) { return text.substr(0, 2) == "0x" ? text.substr(2) : text; };
  return Fact<std::string>::of(digits(*vendor) + ":" + digits(*device));
}

std::map<std::string, std::uint64_t> read_aer(const Root& root, const std::string& directory) {
  std::map<std::string, std::uint64_t> counts;
  FileText file = root.read(directory + "/aer_dev_correctable");
  if (!file.text) return counts;
  std::vector<std::string_view> words = split_words(*file.text);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    std::optional<std::int64_t> count = parse_integer(words[i + 1]);
    if (count && *count >= 0) counts[std::string(words[i])] = static_cast<std::uint64_t>(*count);
  }
  return counts;
}

PciPlace no_place() {
  constexpr const char* kWhy = "not a PCI device";
  PciPlace place;
  place.path.id = Fact<std::string>::missing(kWhy);
  place.path.max_payload_bytes = Fact<int>::missing(kWhy);
  place.path.max_read_request_bytes = Fact<int>::missing(kWhy);
  place.path.relaxed_ordering = Fact<bool>::missing(kWhy);
  place.numa_node = Fact<int>::missing(kWhy);
  place.local_cpulist = Fact<std::string>::missing(kWhy);
  return place;
}

Fact<int> read_numa_node(const Root& root, const std::string& directory) {
  Fact<std::int64_t> node = root.integer(directory + "/numa_node");
  if (!node) return Fact<int>::missing(node.reason);
  if (*node < 0) return Fact<int>::missing("-1 (the firmware or the hypervisor names no node)");
  return Fact<int>::of(static_cast<int>(*node));
}

}  // namespace

std::vector<std::string> pci_functions_of(const std::string& path) {
  std::vector<std::string> found;
  for (std::size_t at = 1; at < path.size();) {
    std::size_t end = path.find('/', at);
    if (end == std::string::npos) end = path.size();
    if (is_pci_address(std::string_view(path).substr(at, end - at))) found.insert(found.begin(), path.substr(0, end));
    at = end + 1;
  }
  return found;
}

std::optional<std::string> pci_address_of(std::string_view text) {
  std::string address(text);
  for (char& c : address)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  if (std::count(address.begin(), address.end(), ':') == 1) address = "0000:" + address;
  std::size_t colon = address.find(':');
  while (colon != std::string::npos && colon > 4 && address.front() == '0') {
    address.erase(0, 1);
    --colon;
  }
  if (!is_pci_address(address)) return std::nullopt;
  return address;
}

Fact<double> parse_link_speed(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  bool unit_fits = rest == " GT/s" || rest.substr(0, 6) == " GT/s ";
  if (error != std::errc() || !unit_fits || value <= 0) return Fact<double>::missing(fmt::format("\"{}\"", text));
  return Fact<double>::of(value);
}

Fact<int> parse_link_width(std::string_view text) {
  std::optional<std::int64_t> lanes = parse_integer(text);
  if (!lanes || *lanes <= 0 || *lanes > 32) return Fact<int>::missing(fmt::format("unknown (\"{}\")", text));
  return Fact<int>::of(static_cast<int>(*lanes));
}

PciConfig decode_pci_config(std::string_view bytes) {
  Fact<std::size_t> cap = find_express_capability(bytes);
  if (!cap) {
    return {Fact<double>::missing(cap.reason), Fact<int>::missing(cap.reason),  Fact<double>::missing(cap.reason),
            Fact<int>::missing(cap.reason),    Fact<int>::missing(cap.reason),  Fact<int>::missing(cap.reason),
            Fact<bool>::missing(cap.reason)};
  }
  unsigned device_control = word_at(bytes, *cap + 0x08);
  unsigned link_capabilities = word_at(bytes, *cap + 0x0c);  // the upper half of the register is not needed
  unsigned link_status = word_at(bytes, *cap + 0x12);
  auto size_of_code = [](unsigned code) {
    if (code > 5) return Fact<int>::missing(fmt::format("reserved size code {}", code));
    return Fact<int>::of(128 << code);
  };
  return {speed_of_code(link_status & 0xf),
          lanes_of_bits(link_status >> 4 & 0x3f),
          speed_of_code(link_capabilities & 0xf),
          lanes_of_bits(link_capabilities >> 4 & 0x3f),
          size_of_code(device_control >> 5 & 0x7),
          size_of_code(device_control >> 12 & 0x7),
          Fact<bool>::of((device_control & 0x10) != 0)};
}

const PciLink& PciReader::link_at(const std::string& directory, const std::string& address) {
  auto known = links_.find(directory);
  if (known != links_.end()) return known->second;
  PciLink link{address, read_speed(root_, directory + "/current_link_speed"), read_width(root_, directory + "/current_link_width"),
               read_speed(root_, directory + "/max_link_speed"), read_width(root_, directory + "/max_link_width")};
  const PciConfig& config = configs_.emplace(directory, read_config(root_, directory)).first->second;
  // sysfs says "Unknown" where an old kernel does not know a speed code that the register holds.
  link.current_gt_per_s = first_known(std::move(link.current_gt_per_s), config.current_gt_per_s);
  link.current_width = first_known(std::move(link.current_width), config.current_width);
  link.max_gt_per_s = first_known(std::move(link.max_gt_per_s), config.max_gt_per_s);
  link.max_width = first_known(std::move(link.max_width), config.max_width);
  return links_.emplace(directory, std::move(link)).first->second;
}

PciPlace PciReader::place_of(const std::string& device_directory) {
  std::optional<std::string> real = root_.resolve(device_directory);
  std::vector<std::string> functions = real ? pci_functions_of(*real) : std::vector<std::string>();
  if (functions.empty()) return no_place();
  auto known = places_.find(functions.front());
  if (known != places_.end()) return known->second;
  return places_.emplace(functions.front(), read_place(functions.front())).first->second;
}

PciPlace PciReader::read_place(const std::string& own_directory) {
  PciPlace place;
  place.function_directory = own_directory;
  std::string physical = own_directory;
  if (std::optional<std::string> function = root_.resolve(own_directory + "/physfn")) {
    place.path.virtual_function = last_component(own_directory);
    physical = *function;  // a VF's own link registers read as zero (PCI Express Base 9.3.5.7)
  }
  for (const std::string& directory : pci_functions_of(physical))
    place.path.links.push_back(link_at(directory, last_component(directory)));
  const PciConfig& config = configs_.at(physical);
  place.path.id = read_id(root_, own_directory);
  place.path.max_payload_bytes = config.max_payload_bytes;
  place.path.max_read_request_bytes = config.max_read_request_bytes;
  place.path.relaxed_ordering = config.relaxed_ordering;
  place.path.aer_correctable = read_aer(root_, physical);
  place.numa_node = read_numa_node(root_, own_directory);
  place.local_cpulist = root_.text(own_directory + "/local_cpulist");
  return place;
}

Fact<std::string> read_iommu_type(const Root& root, const std::string& function_directory) {
  std::optional<std::string> group = root.resolve(function_directory + "/iommu_group");
  if (!group) return Fact<std::string>::missing("no IOMMU group");
  return root.text(*group + "/type");
}

}  // namespace railgauge::host
