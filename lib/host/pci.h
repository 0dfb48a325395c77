#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "host/root.h"

namespace railgauge::host {

/// "16.0 GT/s PCIe", "16 GT/s", "8 GT/s" → the number; "Unknown", "Unknown speed" and anything else: missing, quoted.
Fact<double> parse_link_speed(std::string_view text);

/// "16" → 16; 0 and 255 are how the kernel says unknown.
Fact<int> parse_link_width(std::string_view text);

/// The address as sysfs writes it: lower case, a domain of at least four digits. Takes what others write: "00000000:3B:00.0"
/// (NVML), "0000:3b:00.0" (CUDA, sysfs), "3b:00.0" (lspci). Nothing for other text.
std::optional<std::string> pci_address_of(std::string_view text);

/// Directories of the PCI functions on the way down to `path` (a resolved path of sysfs), the deepest first.
std::vector<std::string> pci_functions_of(const std::string& path);

/// What the PCI Express capability of a function says.
struct PciConfig {
  Fact<double> current_gt_per_s;
  Fact<int> current_width;
  Fact<double> max_gt_per_s;
  Fact<int> max_width;
  Fact<int> max_payload_bytes;
  Fact<int> max_read_request_bytes;
  Fact<bool> relaxed_ordering;
};

/// Decodes configuration space as the `config` file gives it. A reader without CAP_SYS_ADMIN gets 64 bytes: then all is
/// missing with that reason, never a default. The capability walk takes at most 48 steps (PCI Local Bus 3.0, 6.7: the
/// 192 bytes after the header hold no more than 48 four-byte capabilities). Offsets: PCI Express Base 7.5.3.
PciConfig decode_pci_config(std::string_view bytes);

/// Where a device sits on PCI.
struct PciPlace {
  std::string function_directory;     ///< "/sys/devices/pci0000:40/…/0000:41:00.0"; empty: not a PCI device
  PciPath path;
  Fact<int> numa_node;                ///< missing for −1
  Fact<std::string> local_cpulist;
};

/// Reads PCI facts and keeps them, so that each file is read once per snapshot though two ports of one card, their
/// netdevs and their RDMA devices share most of the path: on HGX B200 every read of a limited function is logged.
class PciReader {
 public:
  explicit PciReader(const Root& root) : root_(root) {}
  /// `device_directory`: a `device` link of sysfs, "/sys/class/infiniband/mlx5_0/device".
  PciPlace place_of(const std::string& device_directory);

 private:
  const PciLink& link_at(const std::string& directory, const std::string& address);
  PciPlace read_place(const std::string& own_directory);
  const Root& root_;
  std::map<std::string, PciLink> links_;
  std::map<std::string, PciConfig> configs_;
  std::map<std::string, PciPlace> places_;
};

/// Type of the IOMMU group of a PCI function: "identity", "DMA", "DMA-FQ"; missing "no IOMMU group" without translation.
Fact<std::string> read_iommu_type(const Root& root, const std::string& function_directory);

}  // namespace railgauge::host
