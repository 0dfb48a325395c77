#pragma once
#include <algorithm>
#include <array>

namespace railgauge {

/// The path MTUs of verbs, in payload bytes (enum ibv_mtu of <infiniband/verbs.h>, ibv_query_port(3)).
inline constexpr std::array<int, 5> kPathMtus = {256, 512, 1024, 2048, 4096};
/// For messages: "256, 512, 1024, 2048 or 4096".
inline constexpr const char* kPathMtuWords = "256, 512, 1024, 2048 or 4096";

constexpr bool is_path_mtu(int bytes) noexcept { return std::find(kPathMtus.begin(), kPathMtus.end(), bytes) != kPathMtus.end(); }

}  // namespace railgauge
