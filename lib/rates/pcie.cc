#include "rates/pcie.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace railgauge::rates {
namespace {

bool is_flit(int generation) { return generation >= 6; }

int overhead_bytes(int generation, bool write) {
  return write ? pcie_write_overhead_bytes(generation) : pcie_completion_overhead_bytes(generation);
}

double payload_gbit_per_s(const PcieLink& link, bool write) {
  const double payload = link.max_payload_bytes;
  return pcie_lane_gbyte_per_s(link.generation) * link.width * 8 * payload / (payload + overhead_bytes(link.generation, write));
}

/// Takes a whole number off the front of `text`; false if there is none.
bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<int> pcie_generation(double gt_per_s) noexcept {
  for (std::size_t i = 0; i < kPcieGtPerS.size(); ++i) {
    if (std::fabs(kPcieGtPerS[i] - gt_per_s) < 0.01) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

std::optional<PcieLink> pcie_link_from(std::string_view text) {
  if (text.substr(0, 3) == "gen") text.remove_prefix(3);
  PcieLink link;
  if (!take_number(text, link.generation) || text.empty() || text.front() != 'x') return std::nullopt;
  text.remove_prefix(1);
  if (!take_number(text, link.width) || !text.empty()) return std::nullopt;
  if (link.generation < 1 || link.generation > static_cast<int>(kPcieGtPerS.size())) return std::nullopt;
  for (int width : {1, 2, 4, 8, 12, 16, 32}) {
    if (link.width == width) return link;
  }
  return std::nullopt;
}

double pcie_lane_gbyte_per_s(int generation) noexcept {
  const double raw = kPcieGtPerS[static_cast<std::size_t>(generation - 1)] / 8;
  if (generation <= 2) return raw * 8 / 10;
  return is_flit(generation) ? raw * 236 / 256 : raw * 128 / 130;
}

int pcie_write_overhead_bytes(int generation) noexcept { return is_flit(generation) ? 16 : 24; }

// A completion's header is 12 B, a 64-bit write's 16 B.
int pcie_completion_overhead_bytes(int generation) noexcept { return pcie_write_overhead_bytes(generation) - 4; }

double pcie_write_gbit_per_s(const PcieLink& link) noexcept { return payload_gbit_per_s(link, true); }

double pcie_read_gbit_per_s(const PcieLink& link) noexcept { return payload_gbit_per_s(link, false); }

std::string pcie_formula(const PcieLink& link, bool write) {
  return fmt::format("{} x {:.4f} GB/s x 8 x {} / ({} + {})", link.width, pcie_lane_gbyte_per_s(link.generation),
                     link.max_payload_bytes, link.max_payload_bytes, overhead_bytes(link.generation, write));
}

}  // namespace railgauge::rates
