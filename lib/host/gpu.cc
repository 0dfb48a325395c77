#include "host/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "host/parse.h"
#include "host/topology.h"

namespace railgauge::host {
namespace {

constexpr const char* kPciDevices = "/sys/bus/pci/devices/";
constexpr const char* kMemoryPeers = "/sys/kernel/mm/memory_peers";
constexpr std::uint64_t kMemoryFlag = 0x200;  // IORESOURCE_MEM, include/linux/ioport.h
constexpr std::size_t kBars = 6;                      // of a PCI function; the expansion ROM and bridge windows follow in the file

/// "NVIDIA" or "AMD" for a GPU, nothing for any other function. The class is read of few functions only.
std::optional<std::string> gpu_vendor(const Root& root, const std::string& directory) {
  const std::int64_t vendor = root.integer(directory + "/vendor").value.value_or(0);
  if (vendor != 0x10de && vendor != 0x1002) return std::nullopt;
  const std::int64_t kind = root.integer(directory + "/class").value.value_or(0) >> 8;  // without the programming interface
  if (root.exists(directory + "/physfn")) return std::nullopt;
  if (vendor == 0x10de && (kind == 0x0300 || kind == 0x0302)) return "NVIDIA";
  if (vendor == 0x1002 && (kind == 0x0300 || kind == 0x0380 || kind == 0x1200)) return "AMD";
  return std::nullopt;
}

/// "Model: \t\t NVIDIA H100 80GB HBM3", of NVIDIA's driver.
Fact<std::string> read_model(const Root& root, const Gpu& gpu) {
  if (gpu.vendor != "NVIDIA") return Fact<std::string>::missing("only NVIDIA's driver names it");
  FileText information = root.read(fmt::format("/proc/driver/nvidia/gpus/{}/information", gpu.address));
  if (!information.text) return Fact<std::string>::missing(reason_of(information.error));
  std::optional<std::string> model = value_of_key(*information.text, "Model");
  return model && !model->empty() ? Fact<std::string>::of(std::move(*model)) : Fact<std::string>::missing("no line \"Model\"");
}

Fact<std::uint64_t> read_bar1(const Root& root, const Gpu& gpu, const std::string& directory) {
  if (gpu.vendor != "NVIDIA") return Fact<std::uint64_t>::missing("which region it is, is only known of NVIDIA's");
  FileText resource = root.read(directory + "/resource");
  return resource.text ? parse_bar1_bytes(*resource.text) : Fact<std::uint64_t>::missing(reason_of(resource.error));
}

/// "mlx5_0 0000:3c:00.0"; a software device has no address.
PciEnd nic_end(PciReader& pci, const RdmaDevice& device) {
  PciPlace place = pci.place_of("/sys/class/infiniband/" + device.name + "/device");
  const std::string address = place.path.links.empty() ? "" : " " + place.path.virtual_function.value_or(place.path.links.front().address);
  return {device.name + address, std::move(place)};
}

void fill_gpu(const Root& root, const PciPlace& place, Gpu& gpu) {
  gpu.model = read_model(root, gpu);
  gpu.driver = root.link_name(place.function_directory + "/driver");
  if (!gpu.driver) gpu.driver.reason = "no driver is bound";
  gpu.numa_node = place.numa_node;
  gpu.local_cpulist = place.local_cpulist;
  gpu.bar1_bytes = read_bar1(root, gpu, place.function_directory);
  gpu.iommu_type = read_iommu_type(root, place.function_directory);
  gpu.pci = place.path;
}

/// One line of a `resource` file.
struct Region {
  std::uint64_t start = 0;
  std::uint64_t end = 0;              ///< of its last byte
  std::uint64_t flags = 0;
  /// An unused slot and the upper half of a 64-bit region are all zero.
  bool is_memory() const { return start != 0 && end > start && (flags & kMemoryFlag) != 0; }
};

std::optional<std::uint64_t> parse_hexadecimal(std::string_view word) {
  if (word.substr(0, 2) == "0x") word.remove_prefix(2);
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, 16);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

Fact<std::uint64_t> parse_bar1_bytes(std::string_view resource_text) {
  std::vector<std::string_view> words = split_words(resource_text);
  int memory_regions = 0;
  for (std::size_t at = 0; at + 2 < words.size() && at < 3 * kBars; at += 3) {
    std::optional<std::uint64_t> start = parse_hexadecimal(words[at]);
    std::optional<std::uint64_t> end = parse_hexadecimal(words[at + 1]);
    std::optional<std::uint64_t> flags = parse_hexadecimal(words[at + 2]);
    if (!start || !end || !flags) return Fact<std::uint64_t>::missing(fmt::format("\"{} {} {}\" is no region", words[at], words[at + 1], words[at + 2]));
    const Region region{*start, *end, *flags};
    if (!region.is_memory()) continue;
    if (++memory_regions == 2) return Fact<std::uint64_t>::of(region.end - region.start + 1);
  }
  return Fact<std::uint64_t>::missing(fmt::format("the kernel gave the GPU {} memory regions, BAR1 would be the second", memory_regions));
}

NvidiaDriver parse_nvidia_version(std::string_view text) {
  NvidiaDriver driver;
  const std::string_view line = text.substr(0, text.find('\n'));
  for (std::string_view word : split_words(line)) {
    const bool number = word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!number) continue;
    driver.version = Fact<std::string>::of(std::string(word));
    break;
  }
  const std::string quoted = fmt::format("not in \"{}\"", line);
  if (!driver.version) driver.version.reason = quoted;
  driver.open_kernel_modules = line.find("Kernel Module") == std::string_view::npos
                                   ? Fact<bool>::missing(quoted)
                                   : Fact<bool>::of(line.find("Open Kernel Module") != std::string_view::npos);
  return driver;
}

std::vector<Gpu> read_gpus(const Root& root, PciReader& pci, const Snapshot& snapshot) {
  std::vector<Gpu> gpus;
  std::vector<PciEnd> nics;
  for (const std::string& address : root.list(kPciDevices)) {
    const std::string directory = kPciDevices + address;
    std::optional<std::string> vendor = gpu_vendor(root, directory);
    if (!vendor) continue;
    PciPlace place = pci.place_of(directory);
    if (place.function_directory.empty()) continue;
    Gpu gpu;
    gpu.address = address;
    gpu.vendor = std::move(*vendor);
    fill_gpu(root, place, gpu);
    const PciEnd end{"GPU " + address, std::move(place)};
    if (nics.empty())
      for (const RdmaDevice& device : snapshot.rdma_devices) nics.push_back(nic_end(pci, device));
    for (std::size_t i = 0; i < nics.size(); ++i) {
      PciRelation relation = relation_of(root, {end, nics[i], snapshot.virtual_machine});
      gpu.nics.push_back({snapshot.rdma_devices[i].name, relation.distance, std::move(relation.meet_at), std::move(relation.why)});
    }
    gpus.push_back(std::move(gpu));
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.address.size() < b.address.size(); });
  return gpus;
}

GpuDirectFacts read_gpudirect(const Root& root) {
  GpuDirectFacts facts;
  FileText version = root.read("/proc/driver/nvidia/version");
  if (version.text) {
    NvidiaDriver driver = parse_nvidia_version(*version.text);
    facts.driver_version = std::move(driver.version);
    facts.open_kernel_modules = std::move(driver.open_kernel_modules);
  } else {
    facts.driver_version.reason = facts.open_kernel_modules.reason = reason_of(version.error);
  }
  facts.peermem_loaded = root.exists("/sys/module/nvidia_peermem");
  facts.peermem_version = root.text("/sys/module/nvidia_peermem/version");
  facts.memory_peers = root.exists(kMemoryPeers);
  facts.nv_mem_version = root.text(fmt::format("{}/nv_mem/version", kMemoryPeers));
  facts.nv_mem_nc_version = root.text(fmt::format("{}/nv_mem_nc/version", kMemoryPeers));
  return facts;
}

std::string peermem_doubt(const GpuDirectFacts& facts) {
  if (!facts.peermem_loaded || facts.nv_mem_version || facts.nv_mem_nc_version) return {};
  const std::string missing = facts.memory_peers ? fmt::format("{} has no client nv_mem", kMemoryPeers) : fmt::format("{} is absent", kMemoryPeers);
  return fmt::format("nvidia_peermem is loaded but not registered with the RDMA stack ({}): use dma-buf, or an RDMA stack that takes peer memory "
                     "clients (DOCA-OFED, or a distribution kernel with the patch), then `modprobe -r nvidia_peermem && modprobe nvidia_peermem`",
                     missing);
}

}  // namespace railgauge::host
