#include "rates/infiniband.h"

#include <algorithm>
#include <cctype>

namespace railgauge::rates {

const LaneFacts& lane_facts(LaneSpeed speed) noexcept { return kLaneSpeeds[static_cast<std::size_t>(speed)]; }

std::optional<LaneSpeed> lane_speed_from(std::string_view name) {
  auto same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b); };
  for (const LaneFacts& lane : kLaneSpeeds) {
    const std::string_view known = lane.name;
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(), same)) return lane.speed;
  }
  return std::nullopt;
}

bool is_width(int width) noexcept { return std::find(kWidths.begin(), kWidths.end(), width) != kWidths.end(); }

double infiniband_data_gbit_per_s(LaneSpeed speed, int width) noexcept {
  return lane_facts(speed).data_gbit_per_s * width;
}

}  // namespace railgauge::rates
