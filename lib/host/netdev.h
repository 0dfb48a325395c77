#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "host/pci.h"
#include "host/root.h"

namespace railgauge::host {

/// The `speed` file, Mb/s → Gb/s; −1, 0 and 4294967295 (how old kernels print −1) mean unknown.
Fact<double> parse_netdev_speed(std::string_view text);

/// Interface → addresses with prefix length, from the text that `ip -o addr` prints.
std::map<std::string, std::vector<std::string>> parse_ip_addresses(std::string_view text);

/// Every interface of /sys/class/net, sorted by name. Addresses and firmware come from the kernel on the live root; below
/// another root addresses come from the file `/ip-addr.txt` there (text of `ip -o addr`) and firmware is missing.
std::vector<Netdev> read_netdevs(const Root& root, PciReader& pci);

}  // namespace railgauge::host
