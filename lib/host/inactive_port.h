#pragma once
#include <string>

#include "host/facts.h"

namespace railgauge::host {

/// It can carry traffic.
bool is_active(const RdmaPort& port) noexcept;

/// Why a port of `device` cannot carry traffic and what mends it there, in words that hold on any host; empty when it is ACTIVE.
std::string why_not_active(const std::string& hostname, const RdmaDevice& device, const RdmaPort& port);

}  // namespace railgauge::host
