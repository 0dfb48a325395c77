// What NCCL found and chose: versions, variables, NICs, GPUDirect, plugins. Formats: NCCL src/transport/net_ib/, net_socket.cc,
// src/plugin/, src/graph/{topo,paths}.cc, src/misc/param.cc.
#include <algorithm>

#include "cuda/nccl_log_lines.h"
#include "cuda/nccl_log_scan.h"

namespace railgauge::cuda {
namespace {

bool is_variable_character(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// "NET/IB : " and "NET/IB: " → "IB".
std::optional<std::string> take_network_head(Scanner& scanner) {
  if (!scanner.take("NET/")) return std::nullopt;
  const std::string name(scanner.until(" :"));
  scanner.skip_spaces();
  if (name.empty() || !scanner.take(":")) return std::nullopt;
  scanner.skip_spaces();
  return name;
}

/// "eth0:10.0.0.1<0>": interface and address.
std::optional<NamedInterface> take_interface(Scanner& scanner) {
  NamedInterface interface;
  interface.name = std::string(scanner.until(": "));
  if (interface.name.empty() || !scanner.take(":")) return std::nullopt;
  interface.address = std::string(scanner.until("< "));
  if (interface.address.empty() || !scanner.take("<")) return std::nullopt;  // NCCL writes the port, 0 too
  scanner.until(" ");
  return interface;
}

/// "mlx5_0:1:2:0/IB/SHARP"
std::optional<NicPort> port_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Scanner scanner(text.substr(0, slash));
  NicPort port;
  port.device = std::string(scanner.until(":"));
  const auto number = scanner.take(":") ? scanner.integer() : std::nullopt;
  if (port.device.empty() || !number) return std::nullopt;
  port.port = *number;
  if (scanner.take(":")) port.rail = std::string(scanner.until(":"));
  if (scanner.take(":")) port.plane = std::string(scanner.until(":"));
  if (port.rail == "") port.rail.reset();
  if (port.plane == "") port.plane.reset();
  Scanner link(text.substr(slash + 1));
  port.link = std::string(link.until("/"));
  if (link.take("/")) port.more = std::string(link.rest());
  if (!scanner.done() || (port.link != "IB" && port.link != "RoCE")) return std::nullopt;
  return port;
}

/// "={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}": how 2.20 to 2.23 write merged NICs.
bool take_merged(Scanner& scanner, NetDevice& device) {
  do {
    scanner.skip_spaces();
    if (!scanner.take("[") || !scanner.integer() || !scanner.take("]")) return false;
    scanner.skip_spaces();
    std::optional<NicPort> port = port_of(scanner.until(",}"));
    if (!port) return false;
    device.ports.push_back(std::move(*port));
  } while (scanner.take(","));
  return scanner.take("}");
}

/// "[3]mlx5_3:1/IB"
std::optional<NetDevice> take_device(Scanner& scanner) {
  const auto index = scanner.integer();
  if (!index || *index < 0 || !scanner.take("]")) return std::nullopt;
  NetDevice device{*index, {}};
  if (scanner.take("={")) return take_merged(scanner, device) ? std::optional(std::move(device)) : std::nullopt;
  scanner.skip_spaces();
  std::optional<NicPort> port = port_of(scanner.until(" ;"));
  if (!port) return std::nullopt;
  device.ports.push_back(std::move(*port));
  return device;
}

/// "[0]ib0:10.0.0.1<0> [1]…" after "Using".
bool read_interface_list(NcclLog& log, const Origin& origin, const std::string& network, Scanner scanner) {
  std::vector<NamedInterface> found;
  for (scanner.skip_spaces(); scanner.take("["); scanner.skip_spaces()) {
    const auto index = scanner.integer();
    if (!index || !scanner.take("]")) return false;
    std::optional<NamedInterface> interface = take_interface(scanner);
    if (!interface) return false;
    interface->origin = origin;
    interface->said_by = network;
    interface->index = *index;
    found.push_back(std::move(*interface));
  }
  if (found.empty() || !scanner.done()) return false;
  std::move(found.begin(), found.end(), std::back_inserter(log.interfaces));
  return true;
}

std::optional<std::string> value_after(std::string_view text, std::string_view key) {
  Scanner scanner(text);
  if (!scanner.skip_past(key)) return std::nullopt;
  return std::string(scanner.until(" "));
}

std::optional<int> number_after(std::string_view text, std::string_view key) {
  const auto value = value_after(text, key);
  return value ? whole_number(*value) : std::nullopt;
}

bool read_pair_gdr(NcclLog& log, const Origin& origin, bool enabled, Scanner scanner) {
  PairGdr pair{origin, std::string(scanner.until(" ")), {}, enabled, 0, 0, std::nullopt};
  if (!scanner.take(" / HCA ")) return false;
  pair.hca = std::string(scanner.until(" "));
  const auto distance = scanner.take(" (distance ") ? scanner.integer() : std::nullopt;
  scanner.skip_spaces();
  scanner.until(" ");  // "<=", ">", in old releases "<" and ">="
  scanner.skip_spaces();
  const auto limit = scanner.integer();
  if (pair.gpu.empty() || pair.hca.empty() || !distance || !limit || !scanner.take(")")) return false;
  pair.distance = *distance;
  pair.limit = *limit;
  if (const auto read = scanner.take(", read ") ? scanner.integer() : std::nullopt) pair.read = *read != 0;
  log.pair_gdr.push_back(std::move(pair));
  return true;
}

}  // namespace

bool read_version(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  scanner.skip_spaces();
  if (!scanner.skip_past("NCCL version ")) return false;
  NcclVersion version;
  version.origin = origin;
  version.text = std::string(Scanner(scanner.rest()).until(" "));
  const auto major = scanner.integer();
  const auto minor = scanner.take(".") ? scanner.integer() : std::nullopt;
  if (!major || !minor) return false;
  version.major = *major;
  version.minor = *minor;
  if (scanner.take(".")) version.patch = scanner.integer();
  if (scanner.skip_past("+cuda")) version.cuda = std::string(scanner.until(" "));
  log.versions.push_back(std::move(version));
  return true;
}

bool read_driver_version(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  const auto version = scanner.take("cudaDriverVersion ") ? scanner.integer() : std::nullopt;
  if (!version) return false;
  if (!log.cuda_driver_version) log.cuda_driver_version = version;
  return true;
}

bool read_environment(NcclLog& log, const Origin& origin) {
  constexpr std::string_view kSet = " set by environment to ";
  const std::string_view text = origin.text;
  const std::size_t end = std::min(text.find(kSet), text.size());
  const std::string_view name = text.substr(0, end);
  if (end == text.size() || name.empty() || !std::all_of(name.begin(), name.end(), is_variable_character)) return false;
  std::string_view value = text.substr(end + kSet.size());
  // Numbers are written with a full stop (NCCL src/misc/param.cc), texts are not.
  if (value.ends_with('.') && whole_number<std::int64_t>(value.substr(0, value.size() - 1))) value.remove_suffix(1);
  log.environment.push_back({origin, std::string(name), std::string(value)});
  return true;
}

bool read_network_name(NcclLog& log, const Origin& origin) {
  std::string_view text = origin.text;
  constexpr std::string_view kUsing = "Using network ", kAssigned = "Assigned NET plugin ", kToComm = " to comm";
  if (text.starts_with(kUsing)) {
    text.remove_prefix(kUsing.size());
  } else if (text.starts_with(kAssigned) && text.ends_with(kToComm)) {
    text = text.substr(kAssigned.size(), text.size() - kAssigned.size() - kToComm.size());
  } else {
    return false;
  }
  if (text.empty()) return false;
  log.networks.push_back({origin, std::string(text)});
  return true;
}

bool read_interfaces(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("Bootstrap")) return false;
  scanner.skip_spaces();
  if (!scanner.take(": Using ")) return false;
  if (scanner.rest().starts_with('[')) return read_interface_list(log, origin, "Bootstrap", scanner);  // up to 2.8
  std::optional<NamedInterface> interface = take_interface(scanner);
  if (!interface) return false;
  interface->origin = origin;
  interface->said_by = "Bootstrap";
  log.interfaces.push_back(std::move(*interface));
  return true;
}

bool read_nic_list(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  const auto network = take_network_head(scanner);
  if (!network) return false;
  NicList list{origin, *network, {}, false, std::nullopt, std::nullopt};
  if (scanner.take("No device found")) {
    log.nic_lists.push_back(std::move(list));
    return true;
  }
  if (!scanner.take("Using")) return false;
  const Scanner after_using = scanner;
  for (scanner.skip_spaces(); scanner.take("["); scanner.skip_spaces()) {
    if (scanner.take("RO]")) {
      list.relaxed_ordering = true;
      continue;
    }
    std::optional<NetDevice> device = take_device(scanner);
    if (!device) return read_interface_list(log, origin, *network, after_using);
    list.devices.push_back(std::move(*device));
  }
  if (scanner.take("; OOB ")) {
    const std::optional<NamedInterface> oob = take_interface(scanner);
    if (!oob) return false;
    list.oob_interface = oob->name;
    list.oob_address = oob->address;
  }
  if (list.devices.empty() || !scanner.done()) return false;
  log.nic_lists.push_back(std::move(list));
  return true;
}

bool read_nic_detail(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!take_network_head(scanner) || !scanner.take("[")) return false;
  const auto index = scanner.integer();
  if (!index || !scanner.take("] ")) return false;
  NicDetail detail;
  detail.origin = origin;
  detail.index = *index;
  detail.device = std::string(scanner.until(": "));
  if (!scanner.take(":")) return false;
  scanner.until(": ");  // "uverbs2"
  const auto port = scanner.take(":") ? scanner.integer() : std::nullopt;
  if (!port || !scanner.take("/")) return false;
  detail.port = *port;
  detail.link = std::string(scanner.until(" "));
  detail.provider = value_after(scanner.rest(), " provider=");
  detail.speed_mbit_per_s = number_after(scanner.rest(), " speed=");
  detail.pci_path = value_after(scanner.rest(), " pciPath=");
  if (const auto ar = number_after(scanner.rest(), " ar=")) detail.adaptive_routing = *ar != 0;
  log.nic_details.push_back(std::move(detail));
  return true;
}

bool read_virtual_nic(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!take_network_head(scanner) || !scanner.take("Made virtual device [")) return false;
  const auto index = scanner.integer();
  const auto name = value_after(scanner.rest(), "name=");
  if (!index || !name || name->empty()) return false;
  log.virtual_nics.push_back({origin, *index, *name});
  return true;
}

bool read_gdr(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  take_network_head(scanner);  // releases 2.5 to 2.2x write none before the line of a pair
  if (!scanner.take("GPU Direct RDMA ")) return false;
  const bool enabled = scanner.take("Enabled for ");
  if (!enabled && !scanner.take("Disabled for ")) return false;
  if (scanner.take("GPU ")) return read_pair_gdr(log, origin, enabled, scanner);
  const auto hca = scanner.take("HCA ") ? scanner.integer() : std::nullopt;
  if (!hca) return false;
  HcaGdr gdr{origin, *hca, std::nullopt, enabled};
  if (scanner.take(" '")) {
    gdr.name = std::string(scanner.until("'"));
    if (!scanner.take("'")) return false;
  }
  log.hca_gdr.push_back(std::move(gdr));
  return true;
}

bool read_dmabuf(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  const auto dev = scanner.take("DMA-BUF is available on GPU device ") ? scanner.integer() : std::nullopt;
  if (!dev) return false;
  log.dmabuf.push_back({origin, *dev});
  return true;
}

}  // namespace railgauge::cuda
