#include "cluster/rank_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace railgauge::cluster {

std::string ranks_text(const std::vector<int>& ranks, std::size_t most) {
  std::string text;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (pieces++ == most) return text + fmt::format(" and {} more ranks", ranks.size() - i);
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    // Two neighbours read better as "5, 6".
    if (last == i + 1) text += fmt::format(", {}", ranks[last]);
    if (last > i + 1) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string ranks_on_hosts_text(const std::vector<RankOnHost>& ranks, std::size_t most) {
  std::vector<std::pair<std::string, std::vector<int>>> hosts;
  for (const RankOnHost& one : ranks) {
    auto same = std::find_if(hosts.begin(), hosts.end(), [&](const auto& entry) { return entry.first == one.second; });
    if (same == hosts.end()) same = hosts.insert(hosts.end(), {one.second, {}});
    same->second.push_back(one.first);
  }
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (i == most) return text + fmt::format(" and {} more hosts", hosts.size() - i);
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", ranks_text(hosts[i].second), hosts[i].first);
  }
  return text;
}

std::string named_ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranks_text(ranks));
}

}  // namespace railgauge::cluster
