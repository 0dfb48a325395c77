#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cuda/nccl_log.h"
#include "cuda/nccl_used.h"

namespace {

using namespace railgauge::cuda;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_ours(const NcclLog& log, const Origin& origin) { return !origin.process || *origin.process < log.processes.size(); }

/// Bounds, and that all answers agree with each other.
void check(const NcclLog& log, std::size_t bytes) {
  for (const KeptLines* lines : {&log.unknown, &log.foreign}) {
    require(lines->first.size() <= kKeptLines && lines->first.size() <= lines->count);
    for (const auto& [number, text] : lines->first) require(number > 0 && text.size() <= kKeptLineBytes);
  }
  for (const NetChannel& channel : log.net_channels) {
    require(channel.channel >= 0 && channel.from_rank >= 0 && channel.to_rank >= 0 && channel.net_dev >= 0 && is_ours(log, channel.origin));
    require(!channel.gdr || channel.origin.text.find("/GDRDMA") != std::string::npos);
    require(channel.origin.line <= bytes);
  }
  for (const Comm& comm : log.comms) require(comm.rank >= 0 && comm.rank < comm.nranks && is_ours(log, comm.origin));
  for (std::size_t process = 0; process < log.processes.size(); ++process) rank_of(log, process);
}

void ask(const NcclLog& log) {
  const NetworkUsed network = network_used(log);
  const GdrUsed gdr = gdr_used(log);
  require(gdr.ends == log.net_channels.size() && gdr.without.size() <= gdr.ends);
  require((gdr.both == Share::unknown) == log.net_channels.empty() && !gdr.reason.empty() && !network.reason.empty());
  std::size_t ends = 0;
  for (const NicUse& nic : nics_used(log).nics) ends += nic.send + nic.receive + nic.directionless;
  require(ends == log.net_channels.size());
  for (const Requirement requirement : {Requirement::gdr, Requirement::ib, Requirement::nvlink})
    require(!satisfies(log, requirement).sentence.empty());
  require(satisfies(log, Requirement::gdr).met == (gdr.both == Share::all));
}

}  // namespace

/// Whatever the bytes are: the log is read, its bounds hold, and every question has an answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const NcclLog log = parse_nccl_log(text);
  check(log, size);
  ask(log);
  return 0;
}
