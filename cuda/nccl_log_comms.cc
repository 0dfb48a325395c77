// Communicators and what NCCL chose for them. Formats: NCCL src/init.cc, src/enqueue.cc, src/graph/search.cc, src/transport/nvls.cc.
#include <algorithm>
#include <array>
#include <cctype>

#include "cuda/nccl_log_lines.h"
#include "cuda/nccl_log_scan.h"

namespace railgauge::cuda {
namespace {

/// "rank 3 nranks 16 cudaDev 3 … busId 8d000": words in pairs, whatever their order and number.
struct Pairs {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;

  std::optional<std::string> text(std::string_view key) const {
    for (const auto& [name, value] : pairs)
      if (name == key) return std::string(value);
    return std::nullopt;
  }
  std::optional<int> number(std::string_view key) const {
    for (const auto& [name, value] : pairs)
      if (name == key) return whole_number(value);
    return std::nullopt;
  }
};

/// Takes pairs until "- " or the end; releases glue the dash to the last value ("key 0- Init START").
Pairs take_pairs(Scanner& scanner) {
  Pairs pairs;
  for (scanner.skip_spaces(); !scanner.done(); scanner.skip_spaces()) {
    if (scanner.take("- ")) break;
    const std::string_view key = scanner.until(" ");
    scanner.skip_spaces();
    std::string_view value = scanner.until(" ");
    const bool last = value.size() > 1 && value.ends_with('-');
    if (last) value.remove_suffix(1);
    pairs.pairs.emplace_back(key, value);
    if (last) break;
  }
  return pairs;
}

/// The entry of this process and pointer, unless it has been through this step before (the pointer is a later communicator's then).
Comm* open_comm(NcclLog& log, const Origin& origin, std::string_view pointer, bool starts) {
  for (auto comm = log.comms.rbegin(); comm != log.comms.rend(); ++comm) {
    if (comm->pointer != pointer || comm->origin.process != origin.process) continue;
    return starts && comm->init_started ? nullptr : &*comm;
  }
  return nullptr;
}

template <typename T>
void fill(std::optional<T>& field, std::optional<T> found) {
  if (found) field = std::move(found);
}

void fill_comm(Comm& comm, const Pairs& pairs) {
  fill(comm.nodes, pairs.number("nNodes"));
  fill(comm.local_ranks, pairs.number("localRanks"));
  fill(comm.local_rank, pairs.number("localRank"));
  fill(comm.cuda_dev, pairs.number("cudaDev"));
  fill(comm.nvml_dev, pairs.number("nvmlDev"));
  fill(comm.mnnvl, pairs.number("MNNVL"));
  fill(comm.bus_id, pairs.text("busId"));
  fill(comm.comm_id, pairs.text("commId"));
}

std::string capitals(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

/// Releases up to 2.2x write the numbers of NCCL_ALGO_* and NCCL_PROTO_* (ext-tuner/…/nccl/tuner.h).
template <std::size_t N>
std::string word_of(std::string_view text, const std::array<const char*, N>& names) {
  const auto number = whole_number<unsigned>(text);
  return number && *number < N ? names[*number] : capitals(text);
}

constexpr std::array<const char*, 7> kAlgorithms = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<const char*, 3> kProtocols = {"LL", "LL128", "SIMPLE"};

}  // namespace

bool read_comm(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  std::optional<std::string> function;
  if (!scanner.take("comm ")) {
    function = std::string(scanner.until(" "));
    if (!scanner.take(" comm ")) return false;
  }
  const std::string pointer(scanner.until(" "));
  if (!pointer.starts_with("0x")) return false;
  const Pairs pairs = take_pairs(scanner);
  const auto rank = pairs.number("rank");
  const auto nranks = pairs.number("nranks") ? pairs.number("nranks") : pairs.number("nRanks");
  if (!rank || !nranks || *rank < 0 || *rank >= *nranks) return false;
  scanner.skip_spaces();
  const bool starts = scanner.rest().starts_with("Init START");
  Comm* comm = open_comm(log, origin, pointer, starts);
  if (comm == nullptr) {
    comm = &log.comms.emplace_back();
    comm->origin = origin;
    comm->pointer = pointer;
  }
  comm->rank = *rank;
  comm->nranks = *nranks;
  fill(comm->function, std::move(function));
  fill_comm(*comm, pairs);
  comm->init_started = comm->init_started || starts;
  comm->init_complete = comm->init_complete || scanner.rest().starts_with("Init COMPLETE");
  if (!scanner.done()) comm->last_step = std::string(scanner.rest());
  return true;
}

bool read_init_timings(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("Init timings") || !scanner.skip_past("rank ")) return false;
  const auto rank = scanner.integer();
  const auto nranks = scanner.take(" nranks ") ? scanner.integer() : std::nullopt;
  const auto total = scanner.take(" total ") ? scanner.fraction() : std::nullopt;
  if (!rank || !nranks || !total) return false;
  InitTimings timings{origin, *rank, *nranks, *total, {}};
  scanner.skip_spaces();
  if (!scanner.take("(")) return false;
  do {
    scanner.skip_spaces();
    const std::string name(scanner.until(" ,)"));
    scanner.skip_spaces();
    const auto seconds = scanner.fraction();
    if (name.empty() || !seconds) return false;
    timings.parts_s.emplace_back(name, *seconds);
  } while (scanner.take(","));
  if (!scanner.take(")")) return false;
  log.init_timings.push_back(std::move(timings));
  return true;
}

bool read_channel_counts(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  ChannelCounts counts{origin, {}, {}, {}, {}, {}};
  do {
    scanner.skip_spaces();
    const auto number = scanner.integer();
    if (!number || !scanner.take(" ")) return false;
    const std::string_view name = scanner.until(",");
    if (name == "coll channels") counts.coll = number;
    if (name == "collnet channels") counts.collnet = number;
    if (name == "nvls channels") counts.nvls = number;
    if (name == "p2p channels") counts.p2p = number;
    if (name == "p2p channels per peer") counts.p2p_per_peer = number;
  } while (scanner.take(","));
  if (!counts.coll) return false;
  log.channel_counts.push_back(std::move(counts));
  return true;
}

bool read_graph(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("Pattern ")) return false;
  const auto pattern = scanner.integer();
  const auto cross_nic = scanner.take(", crossNic ") ? scanner.integer() : std::nullopt;
  if (!pattern || !scanner.skip_past("nChannels ")) return false;
  const auto channels = scanner.integer();
  if (!channels || !scanner.skip_past(", type ")) return false;
  const std::string intra(scanner.until("/, "));
  if (!scanner.take("/")) return false;
  const std::string inter(scanner.until(", "));
  if (intra.empty() || inter.empty() || !scanner.take(",")) return false;
  log.graphs.push_back({origin, *pattern, *channels, cross_nic, intra, inter});
  return true;
}

bool read_algorithm(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  AlgorithmChoice choice{origin, std::string(scanner.until(": ")), 0, {}, {}, {}, {}};
  if (choice.operation.empty() || !scanner.take(": ")) return false;
  const auto bytes = scanner.integer<std::uint64_t>();
  if (!bytes || !scanner.take(" Bytes -> Algo ")) return false;
  choice.bytes = *bytes;
  choice.algorithm = word_of(scanner.until(" "), kAlgorithms);
  if (!scanner.take(" proto ")) return false;
  choice.protocol = word_of(scanner.until(" "), kProtocols);
  if (choice.algorithm.empty() || choice.protocol.empty()) return false;
  if (scanner.take(" channel{Lo..Hi}={")) {
    choice.channel_low = scanner.integer();
    choice.channel_high = scanner.take("..") ? scanner.integer() : std::nullopt;
    if (!choice.channel_low || !choice.channel_high || !scanner.take("}")) return false;
  } else if (!scanner.take(" time ")) {
    return false;  // cut: "Algo RING proto LL" may have been LL128
  }
  log.algorithms.push_back(std::move(choice));
  return true;
}

bool read_nvls(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("NVLS multicast support is ")) return false;
  const bool available = !scanner.take("not ");
  const auto dev = scanner.take("available on dev ") ? scanner.integer() : std::nullopt;
  if (!dev) return false;
  std::optional<int> channels;
  if (scanner.skip_past("(NVLS_NCHANNELS ")) channels = scanner.integer();
  log.nvls.push_back({origin, *dev, available, channels});
  return true;
}

}  // namespace railgauge::cuda
