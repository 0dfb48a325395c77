#include "device.h"

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace railgauge::simverbs {

namespace {

union ibv_gid gid_from(const char* text) {
  union ibv_gid gid {};
  inet_pton(AF_INET6, text, gid.raw);
  return gid;
}

/// A real RoCE table lists each address once as v1 and once as v2. Here v2 comes first at index 0 and 1, as rxe has it.
std::vector<GidDescription> default_gids() {
  const auto link_local = gid_from("fe80::200:52ff:fe00:1");
  const auto mapped = gid_from("::ffff:127.0.0.1");
  return {{0, link_local, 2, "lo"}, {1, mapped, 2, "lo"}, {2, link_local, 1, "lo"}, {3, mapped, 1, "lo"}};
}

}  // namespace

void give_default_gids(PortDescription& port) {
  if (!port.gids.empty()) return;
  if (port.ethernet) {
    port.gids = default_gids();
  } else {
    port.gids = {{0, gid_from("fe80::200:5200:0:1"), 0, ""}};
    if (port.lid == 0) port.lid = 1;
    if (port.sm_lid == 0) port.sm_lid = 1;
  }
}

std::vector<DeviceDescription> load_devices() {
  std::vector<DeviceDescription> devices;
  const char* path = std::getenv("RAILGAUGE_SIM_DEVICE");
  if (path == nullptr || *path == '\0') {
    devices.emplace_back();
    for (auto& port : devices.back().ports) give_default_gids(port);
    return devices;
  }
  // A FIFO would hold the program up, a device fill its memory.
  std::error_code none;
  const bool plain = std::filesystem::is_regular_file(path, none) && std::filesystem::file_size(path, none) <= (1U << 20);
  std::ifstream file(plain ? path : "");
  std::stringstream text;
  text << file.rdbuf();
  std::string error;
  if (!plain) {
    error = "is no plain file of at most 1 MiB";
  } else if (!file) {
    error = "cannot be read";
  } else if (parse_devices(text.str(), devices, error)) {
    return devices;
  }
  std::fprintf(stderr, "railgauge-sim: RAILGAUGE_SIM_DEVICE=%s: %s\n", path, error.c_str());
  std::_Exit(2);
}

std::uint64_t wire_bytes(std::uint64_t payload, std::uint32_t mtu_bytes, bool ethernet) noexcept {
  const std::uint64_t packets = payload == 0 ? 1 : (payload + mtu_bytes - 1) / mtu_bytes;
  return payload + packets * (ethernet ? 82 : 28);
}

}  // namespace railgauge::simverbs
