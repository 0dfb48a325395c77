#include "host/system.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "host/live.h"
#include "host/parse.h"

namespace railgauge::host {
namespace {

/// The first CPU's block of /proc/cpuinfo fits (flags are about 2 KiB); the whole file is some 400 KiB on 256 CPUs and slow.
constexpr std::size_t kCpuInfoBytes = 8192;

Fact<std::string> key_fact(const FileText& file, const char* key) {
  if (!file.text) return Fact<std::string>::missing(reason_of(file.error));
  std::optional<std::string> value = value_of_key(*file.text, key);
  if (!value || value->empty()) return Fact<std::string>::missing(fmt::format("no line \"{}\"", key));
  return Fact<std::string>::of(std::move(*value));
}

/// A size or a bare count of /proc/meminfo.
Fact<std::uint64_t> meminfo_fact(const FileText& file, const char* key) {
  Fact<std::string> text = key_fact(file, key);
  if (!text) return Fact<std::uint64_t>::missing(text.reason);
  std::optional<std::uint64_t> value = parse_kernel_size(*text);
  return value ? Fact<std::uint64_t>::of(*value) : Fact<std::uint64_t>::missing(fmt::format("\"{}\" is no size", *text));
}

Fact<int> count_cpus(const Fact<std::string>& list) {
  if (!list) return Fact<int>::missing(list.reason);
  std::optional<std::vector<int>> cpus = parse_cpulist(*list);
  if (!cpus) return Fact<int>::missing(fmt::format("\"{}\" is no CPU list", *list));
  return Fact<int>::of(static_cast<int>(cpus->size()));
}

/// The highest cache level of CPU 0. What one instance holds, not the sum over sockets: a working set must exceed this one.
Fact<std::uint64_t> read_last_level_cache(const Root& root) {
  constexpr const char* kDirectory = "/sys/devices/system/cpu/cpu0/cache";
  auto best = Fact<std::uint64_t>::missing("absent");
  std::int64_t best_level = 0;
  for (const std::string& index : root.list(kDirectory)) {
    Fact<std::int64_t> level = root.integer(fmt::format("{}/{}/level", kDirectory, index));
    if (!level || *level <= best_level) continue;
    Fact<std::string> text = root.text(fmt::format("{}/{}/size", kDirectory, index));
    std::optional<std::uint64_t> bytes = text ? parse_kernel_size(*text) : std::nullopt;
    if (!bytes) continue;
    best_level = *level;
    best = Fact<std::uint64_t>::of(*bytes);
  }
  return best;
}

Fact<std::string> read_governor(const Root& root, const Fact<std::string>& allowed) {
  std::optional<std::vector<int>> cpus = allowed ? parse_cpulist(*allowed) : std::nullopt;
  int cpu = cpus && !cpus->empty() ? cpus->front() : 0;
  return root.text(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
}

Fact<double> read_load(const Root& root) {
  Fact<std::string> text = root.text("/proc/loadavg");
  if (!text) return Fact<double>::missing(text.reason);
  double load = 0;
  auto [end, error] = std::from_chars(text.value->data(), text.value->data() + text.value->size(), load);
  if (error != std::errc() || end == text.value->data()) return Fact<double>::missing(fmt::format("\"{}\"", *text));
  return Fact<double>::of(load);
}

std::map<int, std::string> read_numa_nodes(const Root& root) {
  std::map<int, std::string> nodes;
  for (const std::string& name : root.list("/sys/devices/system/node")) {
    if (name.compare(0, 4, "node") != 0) continue;
    std::optional<std::int64_t> number = parse_integer(std::string_view(name).substr(4));
    FileText list = root.read(fmt::format("/sys/devices/system/node/{}/cpulist", name));
    if (number && list.text) nodes[static_cast<int>(*number)] = std::string(trim(*list.text));
  }
  return nodes;
}

/// The soft limit in the line "Max locked memory  8388608  8388608  bytes".
Fact<std::uint64_t> read_memlock(const Root& root) {
  constexpr std::string_view kLine = "Max locked memory";
  FileText file = root.read("/proc/self/limits");
  if (!file.text) return Fact<std::uint64_t>::missing(reason_of(file.error));
  std::size_t at = file.text->find(kLine);
  if (at == std::string::npos) return Fact<std::uint64_t>::missing("no line \"Max locked memory\"");
  std::vector<std::string_view> words = split_words(std::string_view(*file.text).substr(at + kLine.size()));
  if (!words.empty() && words[0] == "unlimited") return Fact<std::uint64_t>::missing("unlimited");
  std::optional<std::int64_t> bytes = words.empty() ? std::nullopt : parse_integer(words[0]);
  if (!bytes || *bytes < 0) return Fact<std::uint64_t>::missing("not a number");
  return Fact<std::uint64_t>::of(static_cast<std::uint64_t>(*bytes));
}

/// PRETTY_NAME without its quotes.
std::string read_os(const Root& root) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    FileText file = root.read(path);
    if (!file.text) continue;
    std::string name = value_of_key(*file.text, "PRETTY_NAME", '=').value_or("");
    if (name.size() >= 2 && name.front() == name.back() && (name.front() == '"' || name.front() == '\'')) return name.substr(1, name.size() - 2);
    return name;
  }
  return {};
}

std::map<std::string, std::string> read_sysctls(const Root& root) {
  constexpr std::array<const char*, 15> kNames = {
      "net.core.default_qdisc",       "net.core.netdev_max_backlog",  "net.core.rmem_default",
      "net.core.rmem_max",            "net.core.wmem_default",        "net.core.wmem_max",
      "net.core.busy_poll",           "net.ipv4.tcp_available_congestion_control",
      "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_mtu_probing",  "net.ipv4.tcp_rmem",
      "net.ipv4.tcp_sack",            "net.ipv4.tcp_timestamps",      "net.ipv4.tcp_window_scaling",
      "net.ipv4.tcp_wmem"};
  std::map<std::string, std::string> values;
  for (std::string name : kNames) {
    std::string path = "/proc/sys/" + name;
    for (char& c : path)
      if (c == '.') c = '/';
    Fact<std::string> text = root.text(path);
    if (!text) continue;
    std::string& value = values[name];
    for (std::string_view word : split_words(*text)) value += (value.empty() ? "" : " ") + std::string(word);
  }
  return values;
}

/// Modules and built-in drivers alike have a directory in /sys/module, so the long /proc/modules need not be read.
std::map<std::string, std::string> read_modules(const Root& root) {
  constexpr std::array<const char*, 18> kNames = {"mlx5_core", "mlx5_ib", "mlx4_ib", "ib_core",  "ib_uverbs", "ib_umad",
                                                  "rdma_cm",   "rdma_ucm", "rdma_rxe", "siw",    "bnxt_re",   "irdma",
                                                  "efa",       "hfi1",    "ib_ipoib", "nvidia",  "nvidia_peermem", "gdrdrv"};
  std::map<std::string, std::string> modules;
  for (std::string name : kNames) {
    std::string directory = "/sys/module/" + name;
    if (root.exists(directory)) modules[name] = root.text(directory + "/version").value.value_or("");
  }
  for (const char* legacy : {"nv_mem", "nv_mem_nc"})
    if (Fact<std::string> version = root.text(fmt::format("/sys/kernel/mm/memory_peers/{}/version", legacy))) modules[legacy] = *version;
  return modules;
}

}  // namespace

void read_cpu(const Root& root, Snapshot& snapshot) {
  FileText info = root.read_bytes("/proc/cpuinfo", kCpuInfoBytes);
  snapshot.cpu_model = key_fact(info, "model name");
  snapshot.microcode = key_fact(info, "microcode");
  Fact<std::string> flags = key_fact(info, "flags");
  if (flags)
    for (std::string_view flag : split_words(*flags)) snapshot.virtual_machine |= flag == "hypervisor";
  snapshot.online_cpus = count_cpus(root.text("/sys/devices/system/cpu/online"));
  snapshot.allowed_cpulist = key_fact(root.read("/proc/self/status"), "Cpus_allowed_list");
  snapshot.last_level_cache_bytes = read_last_level_cache(root);
  snapshot.governor = read_governor(root, snapshot.allowed_cpulist);
  snapshot.clocksource = root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  snapshot.load_average_1min = read_load(root);
  snapshot.numa_cpulists = read_numa_nodes(root);
}

void read_memory(const Root& root, Snapshot& snapshot) {
  FileText info = root.read("/proc/meminfo");
  snapshot.memory_bytes = meminfo_fact(info, "MemTotal");
  snapshot.hugepages_free = meminfo_fact(info, "HugePages_Free");
  snapshot.hugepage_bytes = meminfo_fact(info, "Hugepagesize");
  snapshot.transparent_hugepages = root.text("/sys/kernel/mm/transparent_hugepage/enabled");
  if (snapshot.transparent_hugepages) snapshot.transparent_hugepages.value = chosen_word(*snapshot.transparent_hugepages);
  Fact<std::int64_t> balancing = root.integer("/proc/sys/kernel/numa_balancing");
  snapshot.numa_balancing = balancing ? Fact<int>::of(static_cast<int>(*balancing)) : Fact<int>::missing(balancing.reason);
  snapshot.memlock_limit_bytes = read_memlock(root);
}

void read_software(const Root& root, Snapshot& snapshot) {
  snapshot.hostname = root.text("/proc/sys/kernel/hostname").value.value_or("");
  snapshot.os = read_os(root);
  snapshot.kernel = root.text("/proc/sys/kernel/osrelease").value.value_or("");
  snapshot.machine = root.live() ? live_machine() : root.text("/proc/sys/kernel/arch").value.value_or("");
  snapshot.boot_id = root.text("/proc/sys/kernel/random/boot_id");
  snapshot.kernel_command_line = root.text("/proc/cmdline");
  snapshot.product_name = root.text("/sys/class/dmi/id/product_name");
  snapshot.bios_version = root.text("/sys/class/dmi/id/bios_version");
  snapshot.sysctls = read_sysctls(root);
  snapshot.modules = read_modules(root);
}

}  // namespace railgauge::host
