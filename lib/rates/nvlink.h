#pragma once
#include <array>
#include <optional>

namespace railgauge::rates {

/// What NVLink gives one GPU of a generation, all of its links together, in one direction.
struct NvlinkGeneration {
  int generation = 0;
  std::optional<int> links;     ///< of the fully connected GPU of that generation; nothing: not published where we looked
  double gbyte_per_s = 0;
};

/// P100, V100, A100, H100, B200, Rubin. Data sheets print both directions together: 160, 300, 600, 900, 1800, 3600 GB/s; these
/// are the halves. Products with fewer links (H800, A800, cards joined by a bridge) carry less: ask with the links in use.
inline constexpr std::array<NvlinkGeneration, 6> kNvlink = {
    {{1, 4, 80}, {2, 6, 150}, {3, 12, 300}, {4, 18, 450}, {5, 18, 900}, {6, std::nullopt, 1800}}};

/// GB/s in one direction of a GPU with `active_links` links, or of all that its generation has. Before protocol overhead: copies
/// reach 83 to 92 % of it (274 to 276 of 300 on A100, 376 to 380 of 450 on H100, published nvbandwidth runs). Nothing for a
/// generation not in the table, for no link, and for a count where the rate of one link is not known.
std::optional<double> nvlink_gbyte_per_s(int generation, std::optional<int> active_links = {}) noexcept;

}  // namespace railgauge::rates
