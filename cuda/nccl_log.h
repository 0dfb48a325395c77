#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/nccl_log_environment.h"
#include "cuda/nccl_log_paths.h"

/// What NCCL said about itself: its debug log (NCCL_DEBUG=INFO) as plain data. Line forms are those of NCCL 2.30.7 and the
/// older ones of nccl-facts, section 5. What a line does not say is missing, never 0. Questions are in nccl_used.h.
namespace railgauge::cuda {

/// Unknown and foreign lines kept in full (of each kind); further ones are counted only.
inline constexpr std::size_t kKeptLines = 200;
/// Of a kept line; the rest is left out.
inline constexpr std::size_t kKeptLineBytes = 500;
/// Longer lines are not read but counted as unknown: NCCL writes at most 1 KiB of text a message (NCCL src/debug.cc).
inline constexpr std::size_t kLongestLineBytes = 16384;

/// A process that wrote into the log, by NCCL's prefix host:pid:tid.
struct LogProcess {
  std::string host;
  std::uint64_t pid = 0;
};

/// Lines kept as they are.
struct KeptLines {
  std::vector<std::pair<std::size_t, std::string>> first;  ///< line number and text; at most kKeptLines, each at most kKeptLineBytes
  std::size_t count = 0;                      ///< of all of them
};

struct NcclLog {
  std::vector<LogProcess> processes;
  std::vector<NcclVersion> versions;
  std::optional<int> cuda_driver_version;     ///< 12030 for 12.3
  std::vector<NetChannel> net_channels;
  std::vector<LocalChannel> local_channels;
  std::vector<CollnetChannel> collnet_channels;
  std::vector<NicList> nic_lists;
  std::vector<NamedInterface> interfaces;
  std::vector<NicDetail> nic_details;
  std::vector<VirtualNic> virtual_nics;
  std::vector<HcaGdr> hca_gdr;
  std::vector<PairGdr> pair_gdr;
  std::vector<PluginLine> plugins;
  std::vector<NetworkName> networks;
  std::vector<EnvironmentLine> environment;
  std::vector<Comm> comms;
  std::vector<InitTimings> init_timings;
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  std::vector<ConnectedLine> connected;
  std::vector<ChannelCounts> channel_counts;
  std::vector<GraphSearch> graphs;
  std::vector<AlgorithmChoice> algorithms;
  std::vector<NvlsSupport> nvls;
  std::vector<DmabufAvailable> dmabuf;
  std::vector<Warning> warnings;
  std::vector<FailedCompletion> completions;
  std::vector<AsyncEvent> async_events;
  std::vector<FailedCall> failed_calls;
  std::vector<ErrorTrace> traces;
  std::vector<Origin> hints;                  ///< lines with HINT
  KeptLines unknown;                          ///< NCCL's lines of no known form, torn ones, and lines longer than kLongestLineBytes
  KeptLines foreign;                          ///< what others wrote into the same file
  bool last_line_cut = false;                 ///< the file ends within a line, which is counted as unknown
};

/// Reads a log, of one rank or of several written into one file, as launchers leave it (prefixes of mpirun and srun, colours,
/// carriage returns, torn and joined lines, NUL bytes). Never throws but for memory; a line that is not understood is kept.
/// Time and memory grow with the text.
NcclLog parse_nccl_log(std::string_view text);

}  // namespace railgauge::cuda
