#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::rates {

/// A PCIe link as trained, and the largest TLP payload in use.
struct PcieLink {
  int generation = 4;           ///< 1…6
  int width = 16;               ///< lanes: 1, 2, 4, 8, 16 (12 and 32 are legal, too)
  int max_payload_bytes = 256;  ///< DevCtl MaxPayload: 128, 256, 512, …
};

/// Transfer rates per lane in GT/s, generation 1 first (PCI Express Base Specification; drivers/pci/pci.h).
inline constexpr std::array<double, 6> kPcieGtPerS = {2.5, 5, 8, 16, 32, 64};

/// The generation of a link that runs at `gt_per_s`; empty for a rate that no generation has.
std::optional<int> pcie_generation(double gt_per_s) noexcept;

/// "gen4x16", "4x16" → generation and width; empty for anything else.
std::optional<PcieLink> pcie_link_from(std::string_view text);

/// Bytes one lane carries in one direction after line coding: 8b/10b to generation 2, 128b/130b to 5, FLIT 236/256 in 6.
double pcie_lane_gbyte_per_s(int generation) noexcept;

/// Bytes a TLP takes beside its payload. Memory write with a 64-bit address: framing and sequence 4, header 16, LCRC 4
/// (FLIT mode: the header alone); completion: 4 less. General knowledge of the specification, without a second source.
int pcie_write_overhead_bytes(int generation) noexcept;
int pcie_completion_overhead_bytes(int generation) noexcept;

/// Ceiling of DMA writes (NIC to memory: the receiver's side), payload Gbit/s. g4 x16 at 256 B: 230.5.
double pcie_write_gbit_per_s(const PcieLink& link) noexcept;

/// Ceiling of DMA reads (memory to NIC: the sender's side) with completions of MaxPayload. Root complexes that split
/// completions at 64 B reach 82 % of it at 256 B (76.2 of 92.8 %), which no register tells.
double pcie_read_gbit_per_s(const PcieLink& link) noexcept;

/// "16 x 1.9692 GB/s x 256 / (256 + 24)": the arithmetic of the two above.
std::string pcie_formula(const PcieLink& link, bool write);

}  // namespace railgauge::rates
