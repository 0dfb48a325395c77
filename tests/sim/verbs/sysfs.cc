#include "sysfs.h"

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "proc.h"

namespace railgauge::simverbs {

namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream(path) << text << '\n';
}

std::string guid_text(std::uint64_t guid) {
  char text[20];
  std::snprintf(text, sizeof text, "%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xffff), static_cast<unsigned>(guid >> 16 & 0xffff),
                static_cast<unsigned>(guid & 0xffff));
  return text;
}

std::string gid_text(const union ibv_gid& gid) {
  char text[40];
  char* at = text;
  for (int i = 0; i < 16; i += 2) {
    at += std::snprintf(at, 6, "%02x%02x%s", gid.raw[i], gid.raw[i + 1], i < 14 ? ":" : "");
  }
  return text;
}

std::string state_text(ibv_port_state state) {
  constexpr const char* kNames[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return std::to_string(static_cast<int>(state)) + ": " + kNames[state];
}

std::string phys_text(int state) {
  constexpr const char* kNames[] = {"",         "Sleep", "Polling",        "Disabled", "PortConfigurationTraining",
                                    "LinkUp",   "LinkErrorRecovery", "Phy Test"};
  return std::to_string(state) + ": " + (state >= 1 && state <= 7 ? kNames[state] : "<unknown>");
}

std::string rate_text(const PortDescription& port) {
  const char* width = port.width_code == 1 ? "1X" : port.width_code == 16 ? "2X" : port.width_code == 2 ? "4X"
                      : port.width_code == 4 ? "8X" : "12X";
  char text[64];
  std::snprintf(text, sizeof text, "%g Gb/sec (%s %s)", port.gbit_per_s, width, port.speed_name.c_str());
  return text;
}

/// The counters every driver has; those of the description replace or add to them.
void write_counters(const fs::path& folder, std::map<std::string, std::uint64_t> values,
                    std::initializer_list<const char*> standard) {
  for (const char* name : standard) values.emplace(name, 0);
  for (const auto& [name, value] : values) put(folder / name, std::to_string(value));
}

void write_port(const fs::path& at, const PortDescription& port) {
  put(at / "state", state_text(port.state));
  put(at / "phys_state", phys_text(port.phys_state));
  put(at / "rate", rate_text(port));
  put(at / "link_layer", port.ethernet ? "Ethernet" : "InfiniBand");
  char lid[16];
  std::snprintf(lid, sizeof lid, "0x%x", port.lid);
  put(at / "lid", lid);
  std::snprintf(lid, sizeof lid, "0x%x", port.sm_lid);
  put(at / "sm_lid", lid);
  put(at / "lid_mask_count", "0");
  put(at / "sm_sl", "0");
  put(at / "cap_mask", "0x00010000");
  put(at / "pkeys/0", "0xffff");
  union ibv_gid empty {};
  for (std::uint32_t i = 0; i < port.gid_table_length; ++i) put(at / "gids" / std::to_string(i), gid_text(empty));
  for (const auto& gid : port.gids) {
    const std::string index = std::to_string(gid.index);
    put(at / "gids" / index, gid_text(gid.gid));
    if (!port.ethernet) continue;
    put(at / "gid_attrs/types" / index, gid.type == 2 ? "RoCE v2" : "IB/RoCE v1");
    if (!gid.netdev.empty()) put(at / "gid_attrs/ndevs" / index, gid.netdev);
  }
  write_counters(at / "counters", port.counters,
                 {"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "port_xmit_wait",
                  "port_xmit_discards", "port_rcv_errors", "symbol_error", "link_downed", "link_error_recovery",
                  "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped"});
  write_counters(at / "hw_counters", port.hw_counters,
                 {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "np_cnp_sent",
                  "rp_cnp_handled", "np_ecn_marked_roce_packets", "duplicate_request"});
  put(at / "hw_counters/lifespan", "100");  // ms: how often the helper brings the files up to date
}

void write_device(const fs::path& root, SimDevice& device) {
  const DeviceDescription& d = device.description;
  const fs::path at = root / "class/infiniband" / d.name;
  put(at / "node_type", "1: CA");
  put(at / "node_guid", guid_text(d.guid));
  put(at / "sys_image_guid", guid_text(d.guid));
  put(at / "node_desc", "railgauge-sim, a stand-in in software");
  put(at / "fw_ver", d.firmware);
  put(at / "hca_type", "railgauge-sim");
  put(at / "board_id", d.board);
  put(at / "hw_rev", "0");
  // no vendor and device files: there is no PCI function behind it
  put(at / "device/numa_node", std::to_string(d.numa_node));
  for (std::size_t port = 1; port <= d.ports.size(); ++port) {
    write_port(at / "ports" / std::to_string(port), d.ports[port - 1]);
  }
  const fs::path uverbs = root / "class/infiniband_verbs" / device.verbs.dev_name;
  put(uverbs / "ibdev", d.name);
  put(uverbs / "abi_version", "1");
  std::snprintf(device.verbs.ibdev_path, sizeof device.verbs.ibdev_path, "%s", at.c_str());
  std::snprintf(device.verbs.dev_path, sizeof device.verbs.dev_path, "%s", uverbs.c_str());
}

/// Removes the private folder in the process that made it, not in its forked children.
struct PrivateFolder {
  fs::path path;
  pid_t owner = getpid();
  ~PrivateFolder() {
    if (owner != getpid()) return;
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

const std::string kPrefix = "/tmp/railgauge-sim-";

/// Folders of processes that were killed before they could remove them. Another user's cannot be removed, and stay.
void remove_abandoned_folders() {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const auto& entry : fs::directory_iterator("/tmp", ignored)) {
    const std::string path = entry.path().string();
    if (path.rfind(kPrefix, 0) != 0) continue;
    const auto pid = static_cast<std::uint32_t>(std::strtoul(path.c_str() + kPrefix.size(), nullptr, 10));
    if (pid != 0 && process_start_time(pid) == 0) abandoned.push_back(entry.path());
  }
  for (const auto& path : abandoned) fs::remove_all(path, ignored);
}

}  // namespace

void write_sysfs(std::vector<SimDevice*>& devices) {
  fs::path root;
  if (const char* given = std::getenv("RAILGAUGE_SIM_SYSFS"); given != nullptr && *given != '\0') {
    root = given;
  } else {
    remove_abandoned_folders();
    std::string name = kPrefix + std::to_string(getpid()) + "-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return std::perror("railgauge-sim: mkdtemp below /tmp");
    static PrivateFolder folder{name};
    root = folder.path;
  }
  bool wanted = false;
  for (auto* device : devices) {
    if (device->description.classic) continue;
    wanted = true;
    write_device(root, *device);
  }
  if (wanted && !fs::exists(root / "class/infiniband")) {
    std::fprintf(stderr, "railgauge-sim: cannot write the sysfs tree below %s\n", root.c_str());
  }
}

}  // namespace railgauge::simverbs
