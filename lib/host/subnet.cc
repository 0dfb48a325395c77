#include "host/subnet.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstring>

#include "host/parse.h"

namespace railgauge::host {
namespace {

using Bytes = std::array<unsigned char, 16>;
constexpr Bytes kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr int kMappedBits = 96;

bool is_mapped(const Bytes& bytes) { return std::equal(bytes.begin(), bytes.begin() + 12, kMappedPrefix.begin()); }

std::optional<Bytes> bytes_of_ip(std::string_view ip) {
  std::string text(ip);
  Bytes bytes = kMappedPrefix;
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

Bytes masked(Bytes bytes, int bits) {
  for (int i = 0; i < 16; ++i) {
    int keep = std::clamp(bits - 8 * i, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<unsigned char>(0xff << (8 - keep));
  }
  return bytes;
}

}  // namespace

std::optional<Subnet> subnet_of(std::string_view address_with_prefix) {
  std::size_t slash = address_with_prefix.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::optional<Bytes> bytes = bytes_of_ip(address_with_prefix.substr(0, slash));
  std::optional<std::int64_t> bits = parse_integer(address_with_prefix.substr(slash + 1));
  if (!bytes || !bits || *bits < 0) return std::nullopt;
  std::int64_t total = *bits + (is_mapped(*bytes) ? kMappedBits : 0);
  if (total > 128) return std::nullopt;
  return Subnet{masked(*bytes, static_cast<int>(total)), static_cast<int>(total)};
}

std::optional<Subnet> subnet_of_own_ip(std::string_view ip, const std::vector<Netdev>& netdevs) {
  for (const Netdev& netdev : netdevs)
    for (const std::string& address : netdev.addresses)
      if (std::string_view(address).substr(0, address.find('/')) == ip) return subnet_of(address);
  std::optional<Bytes> bytes = bytes_of_ip(ip);
  if (bytes && (*bytes)[0] == 0xfe && ((*bytes)[1] & 0xc0) == 0x80) return Subnet{masked(*bytes, 64), 64};
  return std::nullopt;
}

bool contains(const Subnet& subnet, std::string_view ip) {
  std::optional<Bytes> bytes = bytes_of_ip(ip);
  return bytes && masked(*bytes, subnet.bits) == subnet.network;
}

std::string text_of(const Subnet& subnet) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  bool mapped = is_mapped(subnet.network) && subnet.bits >= kMappedBits;
  if (mapped)
    inet_ntop(AF_INET, subnet.network.data() + 12, text.data(), text.size());
  else
    inet_ntop(AF_INET6, subnet.network.data(), text.data(), text.size());
  return fmt::format("{}/{}", text.data(), mapped ? subnet.bits - kMappedBits : subnet.bits);
}

}  // namespace railgauge::host
