#include "rates/terms.h"

#include <fmt/format.h>

namespace railgauge::rates {
namespace {

constexpr const char* kPcieSource = "PCIe line coding and TLP sizes (PCI Express Base Specification)";

}  // namespace

void find_limit(Expectation& out) {
  for (std::size_t i = 0; i < out.terms.size(); ++i) {
    if (out.terms[i].informational) continue;
    if (!out.limiting || out.terms[i].gbit_per_s < out.terms[*out.limiting].gbit_per_s) out.limiting = i;
  }
}

Term pcie_term(const PcieLink& link, const std::string& where, bool write, bool payload_known) {
  const double gt_per_s = kPcieGtPerS[static_cast<std::size_t>(link.generation - 1)];
  return {.name = fmt::format("PCIe {:g} GT/s x{} at {}", gt_per_s, link.width, where),
          .gbit_per_s = write ? pcie_write_gbit_per_s(link) : pcie_read_gbit_per_s(link),
          .formula = fmt::format("{} ({}, MaxPayload {}{})", pcie_formula(link, write), write ? "DMA write" : "DMA read",
                                 link.max_payload_bytes, payload_known ? "" : " assumed"),
          .source = kPcieSource,
          .kind = TermKind::pcie};
}

std::optional<Term> pcie_link_term(const host::PciLink& link, const PcieUse& use, std::vector<std::string>& notes) {
  const std::string where = fmt::format("{}{} on {}", link.address, use.whose, use.host);
  if (!link.current_gt_per_s || !link.current_width) {
    const auto& reason = link.current_gt_per_s ? link.current_width.reason : link.current_gt_per_s.reason;
    notes.push_back(fmt::format("PCIe link at {} is not part of the expectation: {}", where, reason));
    return std::nullopt;
  }
  const auto generation = pcie_generation(*link.current_gt_per_s);
  if (!generation || *link.current_width < 1) {
    notes.push_back(fmt::format("PCIe link at {} is not part of the expectation: {:g} GT/s x{} is no known link", where, *link.current_gt_per_s,
                                *link.current_width));
    return std::nullopt;
  }
  const PcieLink known{*generation, *link.current_width, use.max_payload_bytes.value.value_or(kUsualMaxPayload)};
  Term term = pcie_term(known, where, use.write, use.max_payload_bytes.value.has_value());
  term.host = use.host;
  term.address = link.address;
  return term;
}

void note_assumed_payload(const PcieUse& use, std::vector<std::string>& notes) {
  if (!use.max_payload_bytes)
    notes.push_back(fmt::format("MaxPayload on {} unknown ({}): {} B assumed", use.host, use.max_payload_bytes.reason, kUsualMaxPayload));
}

}  // namespace railgauge::rates
