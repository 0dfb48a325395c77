#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "host/snapshot.h"
#include "host/topology.h"

namespace railgauge::host {
namespace {

/// Nearest first. Addresses of the same length compare as text; longer domains are larger numbers.
using Rank = std::tuple<Distance, bool, std::size_t, std::string>;

struct Candidate {
  const Gpu* gpu;
  const NicDistance* way;   ///< null: the snapshot holds none
  Rank rank;
};

Candidate candidate(const Gpu& gpu, const RdmaDevice& device) {
  auto way = std::find_if(gpu.nics.begin(), gpu.nics.end(), [&](const NicDistance& nic) { return nic.device == device.name; });
  const bool same_node = gpu.numa_node && device.numa_node && *gpu.numa_node == *device.numa_node;
  Candidate out{&gpu, way == gpu.nics.end() ? nullptr : &*way, {}};
  const Distance distance = out.way == nullptr ? Distance::unknown : out.way->distance;
  out.rank = {distance, distance == Distance::unknown && !same_node, gpu.address.size(), gpu.address};
  return out;
}

std::string reason_for(const std::vector<Candidate>& sorted, const RdmaDevice& device) {
  const Candidate& best = sorted.front();
  const Distance distance = std::get<Distance>(best.rank);
  const std::string why = best.way == nullptr ? "their distance is unknown" : best.way->why;
  if (sorted.size() == 1) return fmt::format("the only NVIDIA GPU, {}: {}", name_of(distance), why);
  if (distance == Distance::unknown)
    return fmt::format("the first {}of {} GPUs whose distance to {} is unknown: {}", std::get<bool>(best.rank) ? "" : "of its NUMA node, ",
                       sorted.size(), device.name, why);
  const auto equals = std::count_if(sorted.begin(), sorted.end(), [&](const Candidate& c) { return std::get<Distance>(c.rank) == distance; });
  const std::string which = equals > 1 ? fmt::format("the first of the {} nearest of {}", equals, sorted.size()) : fmt::format("the nearest of {}", sorted.size());
  return fmt::format("{} GPUs, {}: {}", which, name_of(distance), why);
}

}  // namespace

GpuChoice nearest_gpu(const Snapshot& snapshot, const std::string& device) {
  const RdmaDevice* nic = find_device(snapshot, device);
  if (nic == nullptr) throw Error(ErrorKind::usage, fmt::format("no RDMA device {} on {}", device, snapshot.hostname));
  std::vector<Candidate> sorted;
  for (const Gpu& gpu : snapshot.gpus)
    if (gpu.vendor == "NVIDIA") sorted.push_back(candidate(gpu, *nic));
  if (sorted.empty())
    throw Error(ErrorKind::unsupported, fmt::format("no NVIDIA GPU is present on {} ({}/sys/bus/pci/devices shows {})", snapshot.hostname, snapshot.root,
                                                    snapshot.gpus.empty() ? "no GPU" : "GPUs of another vendor only"));
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  const Candidate& best = sorted.front();
  return {best.gpu->address, std::get<Distance>(best.rank), fmt::format("GPU {}: {}", best.gpu->address, reason_for(sorted, *nic))};
}

}  // namespace railgauge::host
