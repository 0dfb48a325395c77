/// The reader of description files: `[device NAME]`, `[port N]`, `key = value`, `#` begins a comment.
#include <arpa/inet.h>

#include <cctype>
#include <functional>
#include <sstream>

#include "device.h"

namespace railgauge::simverbs {

void give_default_gids(PortDescription& port);

namespace {

struct NamedSpeed {
  const char* name;
  std::uint32_t code;       ///< IBTA PortInfo / verbs active_speed_ex
  double lane_gbit_per_s;   ///< data rate of a lane after coding
};
// Codes and lane rates: rdma-core's ibv_devinfo tables and the IBTA link speeds. XDR's code 256 does not fit the old field
// of eight bits, which the kernel then fills with NDR's.
constexpr NamedSpeed kSpeeds[] = {{"SDR", 1, 2},      {"DDR", 2, 4},   {"QDR", 4, 8},   {"FDR10", 8, 10}, {"FDR", 16, 13.64},
                                  {"EDR", 32, 25},    {"HDR", 64, 50}, {"NDR", 128, 100}, {"XDR", 256, 200}};
struct NamedWidth {
  const char* name;
  std::uint8_t code;
  int lanes;
};
constexpr NamedWidth kWidths[] = {{"1X", 1, 1}, {"2X", 16, 2}, {"4X", 2, 4}, {"8X", 4, 8}, {"12X", 8, 12}};

std::string trim(const std::string& text) {
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (begin < end && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  return text.substr(begin, end - begin);
}

bool to_number(const std::string& text, std::uint64_t& value) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  char* end = nullptr;
  value = std::strtoull(text.c_str(), &end, 0);
  return *end == '\0';
}

bool to_bool(const std::string& text, bool& value) {
  value = text == "yes" || text == "true" || text == "1";
  return value || text == "no" || text == "false" || text == "0";
}

template <class Integer>
bool set_number(const std::string& text, Integer& target) {
  std::uint64_t number = 0;
  if (!to_number(text, number) || static_cast<std::uint64_t>(static_cast<Integer>(number)) != number) return false;
  target = static_cast<Integer>(number);
  return true;
}

bool set_device(DeviceDescription& d, const std::string& key, const std::string& value) {
  using Setter = std::function<bool(DeviceDescription&, const std::string&)>;
#define NUMBER(field) {#field, [](DeviceDescription& x, const std::string& v) { return set_number(v, x.field); }}
#define SWITCH(field) {#field, [](DeviceDescription& x, const std::string& v) { return to_bool(v, x.field); }}
  static const std::map<std::string, Setter> kSetters = {
      NUMBER(guid), NUMBER(max_qp), NUMBER(max_cq), NUMBER(max_mr), NUMBER(max_pd), NUMBER(max_qp_wr), NUMBER(max_sge),
      NUMBER(max_sge_rd), NUMBER(max_cqe), NUMBER(max_rd_atomic), NUMBER(max_mr_bytes), NUMBER(max_msg_bytes),
      NUMBER(max_inline_bytes), NUMBER(doorbell_ns), NUMBER(latency_ns), NUMBER(numa_node), SWITCH(atomics), SWITCH(dmabuf), SWITCH(peermem),
      SWITCH(classic), SWITCH(gid_table), SWITCH(extended_qp), SWITCH(data_in_order), SWITCH(enforce_memlock), SWITCH(paced), SWITCH(rnr_waits_full_timer),
      {"board", [](DeviceDescription& x, const std::string& v) { return x.board = "railgauge-sim " + v, true; }},
      {"firmware", [](DeviceDescription& x, const std::string& v) { return x.firmware = "simulated-" + v, true; }},
      {"payload", [](DeviceDescription& x, const std::string& v) {
         return x.copy_payload = v == "real", v == "real" || v == "short";
       }}};
#undef NUMBER
#undef SWITCH
  const auto setter = kSetters.find(key);
  return setter != kSetters.end() && setter->second(d, value);
}

bool set_mtu(const std::string& value, ibv_mtu& target) {
  std::uint64_t bytes = 0;
  if (!to_number(value, bytes)) return false;
  for (int code = 1; code <= 5; ++code) {
    if (bytes == (128u << code)) return target = static_cast<ibv_mtu>(code), true;
  }
  return false;
}

/// "4X HDR"; sets codes, name and the data rate.
bool set_link(PortDescription& port, const std::string& value) {
  std::istringstream words(value);
  std::string width;
  std::string speed;
  words >> width >> speed;
  for (const auto& w : kWidths) {
    for (const auto& s : kSpeeds) {
      if (width != w.name || speed != s.name) continue;
      port.width_code = w.code;
      port.speed_code = s.code;
      port.speed_name = speed;
      port.gbit_per_s = s.lane_gbit_per_s * w.lanes;
      return true;
    }
  }
  return false;
}

/// "fe80::1, v2, eth0" at the index given in the key.
bool set_gid(PortDescription& port, const std::string& index, const std::string& value) {
  GidDescription gid;
  if (!set_number(trim(index), gid.index) || gid.index >= 64) return false;
  std::istringstream parts(value);
  std::string address;
  std::string type;
  std::getline(parts, address, ',');
  std::getline(parts, type, ',');
  std::getline(parts, gid.netdev);
  gid.netdev = trim(gid.netdev);
  type = trim(type);
  if (type != "ib" && type != "v1" && type != "v2") return false;
  gid.type = type == "ib" ? 0 : type == "v1" ? 1 : 2;
  address = trim(address);
  if (address.find(':') == std::string::npos) address = "::ffff:" + address;
  if (inet_pton(AF_INET6, address.c_str(), gid.gid.raw) != 1) return false;
  port.gids.push_back(gid);
  if (gid.index >= port.gid_table_length) port.gid_table_length = gid.index + 1;
  return true;
}

bool set_state(PortDescription& port, const std::string& value) {
  constexpr const char* kNames[] = {"", "down", "init", "armed", "active", "active_defer"};
  for (int state = 1; state <= 5; ++state) {
    if (value != kNames[state]) continue;
    port.state = static_cast<ibv_port_state>(state);
    if (state == IBV_PORT_DOWN) port.phys_state = 3;  // Disabled
    return true;
  }
  return false;
}

bool set_port(PortDescription& port, const std::string& key, const std::string& value) {
  if (key == "link_layer") return port.ethernet = value == "ethernet", value == "ethernet" || value == "infiniband";
  if (key == "state") return set_state(port, value);
  if (key == "phys_state") return set_number(value, port.phys_state);
  if (key == "link") return set_link(port, value);
  if (key == "active_mtu") return set_mtu(value, port.active_mtu);
  if (key == "max_mtu") return set_mtu(value, port.max_mtu);
  if (key == "lid") return set_number(value, port.lid);
  if (key == "sm_lid") return set_number(value, port.sm_lid);
  if (key == "gid_table_length") return set_number(value, port.gid_table_length) && port.gid_table_length <= 64;
  if (key == "gids") return value == "none" && (port.gids.clear(), true);
  if (key == "rate") {
    port.gbit_per_s = std::atof(value.c_str());
    return port.gbit_per_s > 0;
  }
  if (key.rfind("gid ", 0) == 0) return set_gid(port, key.substr(4), value);
  if (key.rfind("counter ", 0) == 0) return set_number(value, port.counters[trim(key.substr(8))]);
  if (key.rfind("hw_counter ", 0) == 0) return set_number(value, port.hw_counters[trim(key.substr(11))]);
  return false;
}

/// What the following lines speak of.
struct Cursor {
  std::vector<DeviceDescription>& devices;
  int port = -1;
};

bool open_section(Cursor& at, const std::string& section) {
  std::istringstream words(section);
  std::string kind;
  std::string name;
  words >> kind >> name;
  if (kind == "device" && !name.empty() && name.size() < IBV_SYSFS_NAME_MAX) {
    at.devices.emplace_back();
    at.devices.back().name = name;
    at.devices.back().guid += at.devices.size() - 1;
    at.port = -1;
    return true;
  }
  std::uint64_t number = 0;
  if (kind != "port" || at.devices.empty() || !to_number(name, number) || number < 1 || number > 4) return false;
  auto& ports = at.devices.back().ports;
  if (ports.size() < number) ports.resize(number);
  at.port = static_cast<int>(number) - 1;
  return true;
}

bool read_line(Cursor& at, const std::string& line) {
  if (line.front() == '[' && line.back() == ']') return open_section(at, line.substr(1, line.size() - 2));
  const auto equals = line.find('=');
  if (equals == std::string::npos || at.devices.empty()) return false;
  const std::string key = trim(line.substr(0, equals));
  const std::string value = trim(line.substr(equals + 1));
  auto& device = at.devices.back();
  if (at.port < 0) return set_device(device, key, value);
  auto& port = device.ports[static_cast<std::size_t>(at.port)];
  if (key == "gids" && value == "none") port.gid_table_length = 0;
  return set_port(port, key, value);
}

}  // namespace

bool parse_devices(const std::string& text, std::vector<DeviceDescription>& out, std::string& error) {
  Cursor at{out};
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trim(line.substr(0, line.find('#')));
    if (!line.empty() && !read_line(at, line)) {
      error = "line " + std::to_string(number) + ": cannot understand \"" + line + "\"";
      return false;
    }
  }
  for (auto& device : out) {
    for (auto& port : device.ports) {
      if (port.gid_table_length != 0) give_default_gids(port);
    }
  }
  return true;
}

}  // namespace railgauge::simverbs
