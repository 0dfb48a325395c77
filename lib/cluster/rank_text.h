#pragma once
#include <string>
#include <utility>
#include <vector>

namespace railgauge::cluster {

/// A rank and the name of its host.
using RankOnHost = std::pair<int, std::string>;

/// Rising rank numbers, short: {3, 5, 6, 7, 12} → "3, 5-7, 12". After `most` pieces "and N more ranks".
std::string ranks_text(const std::vector<int>& ranks, std::size_t most = 16);

/// Ranks by host, in the order of each host's first rank: "0-3 (gpu-a01), 4, 6 (gpu-a02)". After `most` hosts "and N more hosts".
std::string ranks_on_hosts_text(const std::vector<RankOnHost>& ranks, std::size_t most = 8);

/// "rank 3" or "ranks 3, 5".
std::string named_ranks_text(const std::vector<int>& ranks);

}  // namespace railgauge::cluster
