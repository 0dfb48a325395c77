#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/facts.h"

namespace railgauge::host {

/// Interface → addresses with prefix length as getifaddrs gives them now; empty when the call fails.
std::map<std::string, std::vector<std::string>> live_addresses();

/// Firmware as ethtool's GDRVINFO names it; missing with the reason where the driver says none.
Fact<std::string> live_firmware(const std::string& interface);

/// Name → value of the driver's own statistics (`ethtool -S`); empty where the driver has none. Two system calls and as many
/// firmware reads as the driver needs: not for use while something is measured.
std::map<std::string, std::uint64_t> live_ethtool_statistics(const std::string& interface);

/// Opens `path` read-write and closes it: its own name, or the reason with what mends it.
Fact<std::string> try_open_device(const std::string& path);

/// uname -m.
std::string live_machine();

}  // namespace railgauge::host
