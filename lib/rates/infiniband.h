#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "base/lane_speed.h"

namespace railgauge::rates {

/// Widths a port can have.
inline constexpr std::array<int, 5> kWidths = {1, 2, 4, 8, 12};

const LaneFacts& lane_facts(LaneSpeed speed) noexcept;

/// The lane speed called `name`, in either case ("NDR", "ndr"); empty for any other word.
std::optional<LaneSpeed> lane_speed_from(std::string_view name);

/// True for 1, 2, 4, 8, 12.
bool is_width(int width) noexcept;

/// Data rate of an InfiniBand port: what packets, headers included, can use. Not for Ethernet ports, which reuse the
/// names with another meaning (40G Ethernet reads "4X QDR" and carries 40, not 32).
double infiniband_data_gbit_per_s(LaneSpeed speed, int width) noexcept;

}  // namespace railgauge::rates
