#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"

namespace railgauge::host {

/// An IP network; IPv4 as IPv4-mapped IPv6. Ordered by address, the same on every host of the network.
struct Subnet {
  std::array<unsigned char, 16> network{};  ///< host bits zero
  int bits = 128;                           ///< 0…128; an IPv4 /24 is 120
  auto operator<=>(const Subnet&) const = default;
};

/// The network of "10.0.0.5/24" or "fe80::1/64"; nothing for other text.
std::optional<Subnet> subnet_of(std::string_view address_with_prefix);

/// The network of `ip` as the interface addresses of this host give it; link-local IPv6 is fe80::/64 always.
std::optional<Subnet> subnet_of_own_ip(std::string_view ip, const std::vector<Netdev>& netdevs);

/// True if `ip` (either family, no prefix length) lies in `subnet`.
bool contains(const Subnet& subnet, std::string_view ip);

/// "10.0.0.0/24".
std::string text_of(const Subnet& subnet);

}  // namespace railgauge::host
