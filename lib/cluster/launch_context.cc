#include "cluster/launch_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cluster/launch_sources.h"
#include "cluster/slurm_lists.h"

namespace railgauge::cluster {
namespace {

constexpr std::array kLaunchers{Launcher::flags, Launcher::torchrun, Launcher::openmpi,
                                Launcher::slurm, Launcher::hydra,    Launcher::mvapich};
constexpr const char* kHowToChoose = "choose one with --launcher, or say it with --rank and --world";

std::string place_text(const LaunchSource& source) { return fmt::format("rank {} of {}", *source.rank, *source.world); }

std::string said_by(const LaunchSource& source) {
  return fmt::format("{} says {} ({})", source.title, place_text(source), source.evidence);
}

/// The sources that say the same rank of the same world are one.
void refuse_conflict(const LaunchSource& chosen, const std::vector<LaunchSource>& sources) {
  for (const LaunchSource& other : sources) {
    if (!other.complete() || (other.rank == chosen.rank && other.world == chosen.world)) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{}, but {}: one launcher was started inside another; {}: --launcher {} or --launcher {}", said_by(chosen),
                            said_by(other), kHowToChoose, name_of(chosen.launcher), name_of(other.launcher)));
  }
}

[[noreturn]] void refuse_incomplete(const std::vector<LaunchSource>& sources) {
  std::string text;
  for (const LaunchSource& source : sources) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", source.title, source.missing);
  throw Error(ErrorKind::usage, fmt::format("which rank this is cannot be told: {}", text));
}

/// Nothing: a single rank.
const LaunchSource* choose(const std::vector<LaunchSource>& sources, std::optional<Launcher> only) {
  auto first = std::find_if(sources.begin(), sources.end(), [](const LaunchSource& s) { return s.complete(); });
  if (first == sources.end()) {
    if (!sources.empty()) refuse_incomplete(sources);
    if (only)
      throw Error(ErrorKind::usage,
                  fmt::format("--launcher {}: it did not start this process (nothing of it in the environment or on the command line)",
                              name_of(*only)));
    return nullptr;
  }
  if (first->launcher != Launcher::flags) refuse_conflict(*first, sources);
  return &*first;
}

MeetingPoint parse_master(const std::string& text, std::uint16_t default_port) {
  auto refuse = [&] { throw Error(ErrorKind::usage, fmt::format("--master {}: wanted HOST, HOST:PORT or [IPv6]:PORT", text)); };
  std::size_t colon = text.rfind(':');
  bool bracketed = !text.empty() && text.front() == '[';
  // More than one colon and no bracket: an IPv6 address without a port.
  bool has_port = colon != std::string::npos && (bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  std::string host = has_port ? text.substr(0, colon) : text;
  if (bracketed != (!host.empty() && host.back() == ']')) refuse();
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) refuse();
  return {host, has_port ? static_cast<std::uint16_t>(parse_count(std::string_view(text).substr(colon + 1), "--master, port", 1, 65535))
                         : default_port};
}

std::uint16_t default_port(Launcher source, const LauncherVariables& variables) {
  auto master_port = value_of(variables, "MASTER_PORT");
  if (master_port || source == Launcher::torchrun) {
    auto port = master_port ? static_cast<int>(parse_count(*master_port, "MASTER_PORT", 1, 65535)) : kTorchPort;
    return static_cast<std::uint16_t>(port + kBesideMasterPort <= 65535 ? port + kBesideMasterPort : port - kBesideMasterPort);
  }
  auto job = source == Launcher::slurm ? value_of(variables, "SLURM_JOB_ID") : std::nullopt;
  auto number = job ? parse_count(*job, "SLURM_JOB_ID", 0, UINT32_MAX) : 0;
  return static_cast<std::uint16_t>(kRendezvousPort + number % kSlurmPorts);
}

/// Where rank 0 listens, and who says so.
struct Found {
  MeetingPoint point;
  std::string by;
};
Found meeting_point(const LaunchContext& context, const LaunchFlags& flags, const LauncherVariables& variables) {
  std::uint16_t port = default_port(context.source, variables);
  if (flags.master) return {parse_master(*flags.master, port), "--master"};
  // The local rank too: where a platform counts nodes in RANK, sizes alone can coincide.
  if (context.local_world == context.world && context.local_rank == context.rank)
    return {{"127.0.0.1", port}, "all ranks are on this host"};
  if (auto address = value_of(variables, "MASTER_ADDR")) return {{*address, port}, "MASTER_ADDR"};
  if (context.source == Launcher::slurm) {
    if (auto list = value_of(variables, "SLURM_STEP_NODELIST"))
      return {{expand_node_list(*list, "SLURM_STEP_NODELIST").front(), port}, "the first host of SLURM_STEP_NODELIST"};
    if (auto address = value_of(variables, "SLURM_LAUNCH_NODE_IPADDR"))
      return {{*address, port}, "SLURM_LAUNCH_NODE_IPADDR, which is where srun ran: on a login node give --master instead"};
  }
  throw Error(ErrorKind::usage, fmt::format("this is rank {} of {} ({}), but nothing says where rank 0 listens: give every rank --master "
                                            "HOST[:PORT] with rank 0's host, or set "
                                            "MASTER_ADDR (mpirun -x MASTER_ADDR); {} are expected, and without it each would be alone",
                                            context.rank, context.world, name_of(context.source), context.world));
}

std::string passed_over(const LaunchSource* chosen, const std::vector<LaunchSource>& sources) {
  std::string text;
  for (const LaunchSource& source : sources) {
    if (&source == chosen) continue;
    if (!source.complete()) text += fmt::format("; incomplete and passed over: {}: {}", source.title, source.missing);
    if (source.complete() && chosen->launcher == Launcher::flags) text += fmt::format("; overruled: {}", said_by(source));
  }
  return text;
}

std::string counted_by_node(const LaunchContext& context) {
  if (context.source != Launcher::torchrun || context.launched || context.local_rank) return {};
  return "; no LOCAL_RANK: some platforms count nodes, not processes, in RANK and WORLD_SIZE, and then it is one rank a node";
}

LaunchContext from(const LaunchSource& source) {
  LaunchContext context{source.launcher, *source.rank, *source.world, source.local_rank, source.local_world, source.node_rank};
  context.launched = source.launched;
  context.job = source.job;
  context.why = fmt::format("{}: {} ({})", place_text(source), source.title, source.evidence);
  return context;
}

}  // namespace

const char* name_of(Launcher launcher) noexcept {
  switch (launcher) {
    case Launcher::none:
      return "none";
    case Launcher::flags:
      return "flags";
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::openmpi:
      return "openmpi";
    case Launcher::slurm:
      return "slurm";
    case Launcher::hydra:
      return "hydra";
    case Launcher::mvapich:
      return "mvapich";
  }
  return "none";
}

Launcher parse_launcher(std::string_view word) {
  for (Launcher launcher : kLaunchers) {
    if (word == name_of(launcher)) return launcher;
  }
  throw Error(ErrorKind::usage, fmt::format("--launcher {}: wanted flags, torchrun, openmpi, slurm, hydra or mvapich", word));
}

bool is_loopback(const MeetingPoint& point) noexcept {
  return point.host == "localhost" || point.host == "::1" || point.host.compare(0, 4, "127.") == 0;
}

LaunchContext launch_context(const LaunchFlags& flags, const LauncherVariables& variables) {
  std::optional<Launcher> only;
  if (flags.launcher) only = parse_launcher(*flags.launcher);
  if (only && *only != Launcher::flags && (flags.rank || flags.world)) {
    throw Error(ErrorKind::usage, fmt::format("--launcher {} and --rank or --world exclude each other", name_of(*only)));
  }
  auto sources = read_sources(flags, variables, only);
  const LaunchSource* chosen = choose(sources, only);
  LaunchContext context = chosen != nullptr ? from(*chosen) : LaunchContext{};
  if (chosen == nullptr) context.why = "a single rank: no launcher's variables and no --rank";
  if (flags.local_rank)
    context.local_rank = static_cast<int>(parse_count(*flags.local_rank, "--local-rank", 0, static_cast<std::uint64_t>(context.world) - 1));
  if (context.world > 1) {
    Found found = meeting_point(context, flags, variables);
    context.why += fmt::format("; rank 0 listens on {} port {} ({})", found.point.host, found.point.port, found.by);
    context.rendezvous = found.point;
  }
  context.why += counted_by_node(context) + passed_over(chosen, sources);
  return context;
}

}  // namespace railgauge::cluster
