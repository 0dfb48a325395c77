#include "rates/nvlink.h"

namespace railgauge::rates {

std::optional<double> nvlink_gbyte_per_s(int generation, std::optional<int> active_links) noexcept {
  for (const NvlinkGeneration& known : kNvlink) {
    if (known.generation != generation) continue;
    if (!active_links) return known.gbyte_per_s;
    if (!known.links || *active_links < 1) return std::nullopt;
    return known.gbyte_per_s / *known.links * *active_links;
  }
  return std::nullopt;
}

}  // namespace railgauge::rates
