#include "bench/local_host.h"

#include <fmt/format.h>

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
  std::error_code unknown;
  if (!sysroot.empty() && !std::filesystem::is_directory(sysroot, unknown))
    throw Error(ErrorKind::usage, fmt::format("RAILGAUGE_SYSROOT={}: it is no directory; name a host's tree, or unset it", printable(sysroot)));
  LocalHost local{host::Root(sysroot), {}};
  local.node.tool = results::this_build();
  local.node.command_line = command_line;
  local.node.environment = recordable_environment();
  local.node.facts = host::read_snapshot(local.root);
  // A replayed tree describes another machine: the devices of this one do not belong into it.
  if (local.root.live()) verbs::merge_into(local.node.facts);
  local.node.clock_read_cost = measure_clock_cost();
  return local;
}

bool has_no_rdma_device(const host::Snapshot& facts, std::string& reason) {
  if (!facts.rdma_devices.empty()) return false;
  reason = "no RDMA device on " + facts.hostname +
           ": Soft-RoCE gives one (modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IF), scripts/lab brings two hosts that have it";
  return true;
}

}  // namespace railgauge::bench
