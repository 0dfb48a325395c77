#include <arpa/inet.h>
#include <fmt/format.h>

#include <cstring>

#include "base/log.h"
#include "verbs/device.h"

namespace railgauge::verbs {

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
