#include "host/rdma_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>

#include "host/live.h"
#include "host/parse.h"
#include "host/rdma_port.h"

namespace railgauge::host {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "mlx5_2" before "mlx5_10": digits are compared as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::size_t end_a = std::min(a.find_first_not_of("0123456789", i), a.size());
    std::size_t end_b = std::min(b.find_first_not_of("0123456789", j), b.size());
    std::string_view run_a = a.substr(i, end_a - i);
    std::string_view run_b = b.substr(j, end_b - j);
    if (run_a.size() != run_b.size()) return run_a.size() < run_b.size();
    if (run_a != run_b) return run_a < run_b;
    i = end_a;
    j = end_b;
  }
  return a.size() - i < b.size() - j;
}

/// RDMA device → name of its uverbs node.
std::map<std::string, std::string> uverbs_nodes(const Root& root) {
  std::map<std::string, std::string> nodes;
  for (const std::string& node : root.list("/sys/class/infiniband_verbs"))
    if (Fact<std::string> device = root.text(fmt::format("/sys/class/infiniband_verbs/{}/ibdev", node))) nodes[*device] = node;
  return nodes;
}

Fact<std::string> read_char_device(const Root& root, const std::map<std::string, std::string>& nodes, const std::string& device) {
  auto node = nodes.find(device);
  if (node == nodes.end()) return Fact<std::string>::missing("no uverbs node (`modprobe ib_uverbs`)");
  std::string path = "/dev/infiniband/" + node->second;
  if (root.live()) return try_open_device(path);
  return root.exists(path) ? Fact<std::string>::of(path) : Fact<std::string>::missing("absent: " + path);
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The GIDs' interfaces first: on a bond they name the bond, while device/net lists one slave.
std::vector<std::string> read_netdevs_of(const Root& root, const std::string& directory, const RdmaDevice& device) {
  std::vector<std::string> names;
  for (const RdmaPort& port : device.ports)
    for (const Gid& gid : port.gids)
      if (gid.netdev) add_once(names, *gid.netdev);
  for (const std::string& name : root.list(directory + "/device/net")) add_once(names, name);
  if (Fact<std::string> parent = root.text(directory + "/parent")) add_once(names, *parent);
  return names;
}

std::vector<RdmaPort> read_ports(const Root& root, const std::string& directory, const std::string& name,
                                 std::vector<std::string>& warnings) {
  std::vector<int> numbers;
  for (const std::string& entry : root.list(directory + "/ports"))
    if (std::optional<std::int64_t> number = parse_integer(entry)) numbers.push_back(static_cast<int>(*number));
  std::sort(numbers.begin(), numbers.end());
  std::vector<RdmaPort> ports;
  for (int number : numbers) {
    ports.push_back(read_rdma_port(root, fmt::format("{}/ports/{}", directory, number), fmt::format("{} port {}", name, number),
                                   warnings));
    ports.back().port = number;
  }
  return ports;
}

/// rxe and siw have no `device` link: they lie in /sys/devices/virtual, and `parent` names their interface.
bool is_software(const Root& root, const std::string& directory) {
  if (root.exists(directory + "/device")) return false;
  std::optional<std::string> real = root.resolve(directory);
  bool in_virtual = real && real->compare(0, 21, "/sys/devices/virtual/") == 0;
  return in_virtual || root.exists(directory + "/parent");
}

RdmaDevice read_device(const Root& root, PciReader& pci, const std::string& name, std::vector<std::string>& warnings) {
  std::string directory = "/sys/class/infiniband/" + name;
  RdmaDevice device;
  device.name = name;
  device.firmware = root.text(directory + "/fw_ver");
  device.hca_type = root.text(directory + "/hca_type");
  device.board_id = root.text(directory + "/board_id");
  device.node_guid = root.text(directory + "/node_guid");
  device.sys_image_guid = root.text(directory + "/sys_image_guid");
  device.node_type = root.text(directory + "/node_type");
  device.driver = root.link_name(directory + "/device/driver");
  device.software = is_software(root, directory);
  device.simulated = device.firmware && device.firmware.value->compare(0, 9, "simulated") == 0;
  PciPlace place = pci.place_of(directory + "/device");
  device.pci = std::move(place.path);
  device.numa_node = std::move(place.numa_node);
  device.local_cpulist = std::move(place.local_cpulist);
  device.ports = read_ports(root, directory, name, warnings);
  device.netdevs = read_netdevs_of(root, directory, device);
  return device;
}

}  // namespace

std::vector<RdmaDevice> read_rdma_devices(const Root& root, PciReader& pci, std::vector<std::string>& warnings) {
  std::vector<std::string> names = root.list("/sys/class/infiniband");
  std::sort(names.begin(), names.end(), natural_less);
  std::map<std::string, std::string> nodes = uverbs_nodes(root);
  std::vector<RdmaDevice> devices;
  for (const std::string& name : names) {
    devices.push_back(read_device(root, pci, name, warnings));
    devices.back().char_device = read_char_device(root, nodes, name);
    for (auto* limit : {&devices.back().max_qp_depth, &devices.back().max_qps, &devices.back().max_cq_entries})
      *limit = Fact<int>::missing("only verbs knows it");
  }
  return devices;
}

}  // namespace railgauge::host
