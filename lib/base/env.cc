#include "base/env.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace railgauge {
namespace {

// Prefixes from tcp-facts.md section 4 (allow-list) and the variables rdma-core's providers read.
constexpr std::array<std::string_view, 8> kPrefixes = {"NCCL_", "UCX_", "FI_", "OMP_", "IBV_", "RDMAV_", "MLX5_", "MLX4_"};
constexpr std::array<std::string_view, 8> kNames = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
                                                    "RAILGAUGE_SIM_DEVICE", "RAILGAUGE_SIM_FAULTS", "RAILGAUGE_LIBCUDA", "RAILGAUGE_SIM_CUDA", "RAILGAUGE_SIM_CUDA_FAULTS"};
// Inside the prefixes, names that may hold a secret or a host's private path.
constexpr std::array<std::string_view, 4> kSecretWords = {"TOKEN", "PASSWORD", "SECRET", "KEY"};

constexpr const char* kLauncherNames[] = {
    "MASTER_ADDR", "MASTER_PORT",
    // torchrun sets all of these; RANK and WORLD_SIZE are also set by hand.
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_ID", "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "SLURM_LAUNCH_NODE_IPADDR",
    "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
    "PMIX_RANK", "PMIX_NAMESPACE"};

std::optional<std::string> get(const char* name) {
  const char* value = std::getenv(name);
  // Set to nothing is how a shell's users unset a variable for one command.
  return value && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

Environment read_environment() {
  Environment out;
  out.token = get("RAILGAUGE_TOKEN");
  out.sysroot = get("RAILGAUGE_SYSROOT");
  out.libcuda = get("RAILGAUGE_LIBCUDA");
  out.no_color = get("NO_COLOR").has_value();
  out.plain_terminal = get("TERM").value_or("") == "dumb";
  return out;
}

bool is_recordable_variable(const std::string& name) {
  auto contains = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (std::any_of(kSecretWords.begin(), kSecretWords.end(), contains)) return false;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view p) { return name.compare(0, p.size(), p) == 0; });
}

std::vector<std::pair<std::string, std::string>> recordable_environment() {
  std::vector<std::pair<std::string, std::string>> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text(*entry);
    auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name(text.substr(0, equals));
    if (is_recordable_variable(name)) out.emplace_back(std::move(name), std::string(text.substr(equals + 1)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::map<std::string, std::string> launcher_environment() {
  std::map<std::string, std::string> out;
  for (const char* name : kLauncherNames) {
    if (auto value = get(name)) out.emplace(name, std::move(*value));
  }
  return out;
}

}  // namespace railgauge
