#include "bench/local_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "host/snapshot.h"
#include "results/provenance.h"
#include "verbs/device.h"

namespace railgauge::bench {

LocalHost read_local_host(const std::string& sysroot, const std::vector<std::string>& command_line) {
  std::string folder = sysroot.empty() ? read_environment().sysroot.value_or("") : sysroot;
  std::error_code unknown;
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    throw Error(ErrorKind::usage, fmt::format("{}{}: it is no directory; name a host's tree, or leave it out",
                                              sysroot.empty() ? "RAILGAUGE_SYSROOT=" : "--sysroot ", printable(folder)));
  LocalHost local{host::Root(folder), {}};
  local.node.tool = results::this_build();
  local.node.command_line = command_line;
  local.node.environment = recordable_environment();
  local.node.facts = host::read_snapshot(local.root);
  // A replayed tree may describe another machine: devices of this one that are not in it do not belong into it. Those that are
  // will be opened here.
  verbs::merge_into(local.node.facts, local.root.live() ? verbs::Merge::all : verbs::Merge::known);
  if (local.node.facts.hostname.empty()) local.node.facts.hostname = "localhost";  // as a host without a name of its own is called
  local.node.clock_read_cost = measure_clock_cost();
  return local;
}

plan::Limits default_limits(const host::Snapshot& facts, bool both_sides) {
  plan::Limits limits;
  if (facts.memory_bytes) limits.max_memory_bytes = std::min(limits.max_memory_bytes, *facts.memory_bytes / (both_sides ? 4 : 2));
  return limits;
}

bool has_no_rdma_device(const host::Snapshot& facts, std::string& reason) {
  if (!facts.rdma_devices.empty()) return false;
  reason = "no RDMA device on " + facts.hostname + (facts.root.empty() ? "" : " as " + facts.root + " describes it") +
           ": Soft-RoCE gives one (modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IF), scripts/lab brings two hosts that have it";
  return true;
}

}  // namespace railgauge::bench
