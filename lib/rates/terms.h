#pragma once
#include <optional>
#include <string>
#include <vector>

#include "host/facts.h"
#include "rates/expectation.h"
#include "rates/pcie.h"

namespace railgauge::rates {

/// MaxPayload where the register cannot be read: what servers of the last ten years set.
inline constexpr int kUsualMaxPayload = 256;

/// Sets `limiting` to the smallest term that may be the limit.
void find_limit(Expectation& out);

/// One PCIe link in one direction: as DMA write, or as the completions of DMA reads. `where`: "0000:41:00.0 on hostA".
Term pcie_term(const PcieLink& link, const std::string& where, bool write, bool payload_known);

/// How a PCIe link of a host is used.
struct PcieUse {
  std::string host;
  host::Fact<int> max_payload_bytes;
  bool write = false;
  std::string whose{};      ///< after the address in the term's name: " (GPU)"; may be empty
};

/// The term of a link as it is trained; without speed or width nothing, and a note says why.
std::optional<Term> pcie_link_term(const host::PciLink& link, const PcieUse& use, std::vector<std::string>& notes);

/// Adds the note that MaxPayload had to be assumed, where it had.
void note_assumed_payload(const PcieUse& use, std::vector<std::string>& notes);

}  // namespace railgauge::rates
