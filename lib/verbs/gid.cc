#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "base/log.h"
#include "verbs/check.h"
#include "verbs/device.h"
#include "verbs/newer_calls.h"

namespace railgauge::verbs {
namespace {

using host::Gid;
using host::GidType;

GidType type_of(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return GidType::roce_v2;
  return type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1 : GidType::ib;
}

std::optional<std::string> interface_of(std::uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  if (index == 0 || if_indextoname(index, name.data()) == nullptr) return std::nullopt;
  return std::string(name.data());
}

Gid gid_of(const ibv_gid_entry& entry) {
  Gid gid{.index = static_cast<int>(entry.gid_index), .gid = format_gid(entry.gid), .type = type_of(entry.gid_type),
          .netdev = interface_of(entry.ndev_ifindex), .ip = {}};
  if (gid.type != GidType::ib) gid.ip = host::ip_of_gid(gid.gid);
  return gid;
}

/// RoCE's version as sysfs has it; nothing without such a slot there.
std::optional<GidType> type_in_sysfs(const ibv_device& device, int port, int index) {
  FileText type = read_text_file(fmt::format("{}/ports/{}/gid_attrs/types/{}", device.ibdev_path, port, index));
  if (!type.text) return std::nullopt;
  return *type.text == "IB/RoCE v1" ? GidType::roce_v1 : GidType::roce_v2;
}

/// One slot; nothing where it is empty. The classic call does not tell the version of RoCE.
std::optional<Gid> read_slot(const Device& device, int port, int index, bool ethernet) {
  ibv_gid_entry entry{};
  if (auto query = newer_calls().query_gid_ex) {
    const int error = errno_of_value(query(device.context(), static_cast<std::uint32_t>(port), static_cast<std::uint32_t>(index), &entry, 0, sizeof entry));
    if (error == 0) return gid_of(entry);
    if (error != EOPNOTSUPP && error != ENOSYS) return std::nullopt;
  }
  if (errno_of_negative(ibv_query_gid(device.context(), static_cast<std::uint8_t>(port), index, &entry.gid)) != 0) return std::nullopt;
  entry.gid_index = static_cast<std::uint32_t>(index);
  entry.gid_type = ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  Gid gid = gid_of(entry);
  if (!ethernet) return gid;
  if (auto type = type_in_sysfs(*device.context()->device, port, index)) gid.type = *type;
  else gid.type_doubt = "neither libibverbs nor /sys tells its RoCE version";
  return gid;
}

/// The kernel lists an address as v1 and then as v2 (drivers/infiniband/core/cache.c, Linux 6.1).
void take_first_of_two_for_v1(std::vector<Gid>& gids) {
  for (std::size_t i = 0; i < gids.size(); ++i)
    for (std::size_t later = i + 1; later < gids.size(); ++later)
      if (gids[i].type_doubt && gids[later].type_doubt && gids[i].gid == gids[later].gid) gids[i].type = GidType::roce_v1;
}

/// For a library or device that has no call for the whole table.
std::vector<Gid> read_slot_by_slot(const Device& device, int port, const ibv_port_attr& attributes) {
  std::vector<Gid> gids;
  for (int index = 0; index < attributes.gid_tbl_len; ++index) {
    auto gid = read_slot(device, port, index, attributes.link_layer == IBV_LINK_LAYER_ETHERNET);
    if (gid && !host::is_empty_gid(gid->gid)) gids.push_back(std::move(*gid));
  }
  take_first_of_two_for_v1(gids);
  return gids;
}

}  // namespace

std::vector<Gid> Device::query_gids(int port) const {
  ibv_port_attr attributes = query_port(port);
  auto query = newer_calls().query_gid_table;
  // The table holds the entries of all ports, and the call fails when the array is too small for them.
  std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(std::max(attributes.gid_tbl_len, 1)) * limits_.phys_port_cnt);
  auto count = query == nullptr ? -ENOSYS : query(context(), entries.data(), entries.size(), 0, sizeof entries[0]);
  if (errno_of_negative(count) != 0) return read_slot_by_slot(*this, port, attributes);
  entries.resize(static_cast<std::size_t>(count));
  std::vector<Gid> gids;
  for (const ibv_gid_entry& entry : entries)
    if (entry.port_num == static_cast<std::uint32_t>(port) && !host::is_empty_gid(format_gid(entry.gid))) gids.push_back(gid_of(entry));
  return gids;
}

std::string format_gid(const ibv_gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof gid.raw; i += 2) text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
  return text;
}

ibv_gid parse_gid(const std::string& text) {
  ibv_gid gid{};
  in6_addr address{};
  // Eight groups of four digits are a way to write an IPv6 address, so the parser of those takes them.
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1)
    throw Error(ErrorKind::data, fmt::format("\"{}\" is no GID: eight groups of four hex digits were expected", printable(text)));
  std::memcpy(gid.raw, &address, sizeof gid.raw);
  return gid;
}

}  // namespace railgauge::verbs
