#include "rates/gpu_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rates/terms.h"

namespace railgauge::rates {
namespace {

using Links = std::vector<host::PciLink>;

/// `links` from the device up to the bridge `top`, which is left out; all of them when it is not among them.
Links links_below(const Links& links, const std::optional<std::string>& top) {
  return {links.begin(), std::find_if(links.begin(), links.end(), [&](const host::PciLink& link) { return link.address == top; })};
}

/// The GPU's links as under load: its own, which is also that of the port above it, at the most that both ends can.
Links links_under_load(const host::Gpu& gpu, std::vector<std::string>& notes) {
  Links links = gpu.pci.links;
  const std::size_t ends = std::min<std::size_t>(links.size(), 2);
  std::optional<double> speed;
  for (std::size_t i = 0; i < ends; ++i)
    if (links[i].max_gt_per_s) speed = std::min(speed.value_or(*links[i].max_gt_per_s), *links[i].max_gt_per_s);
  if (!speed) return links;
  if (links[0].current_gt_per_s && *links[0].current_gt_per_s < *speed)
    notes.push_back(fmt::format("the link of GPU {} is at {:g} GT/s now, as an idle GPU's is: counted with {:g} GT/s, which both ends can", gpu.address,
                                *links[0].current_gt_per_s, *speed));
  for (std::size_t i = 0; i < ends; ++i) links[i].current_gt_per_s = host::Fact<double>::of(*speed);
  return links;
}

void add_links(Expectation& out, const Links& links, const PcieUse& use) {
  for (const host::PciLink& link : links)
    if (std::optional<Term> term = pcie_link_term(link, use, out.notes)) out.terms.push_back(std::move(*term));
}

/// The smaller MaxPayload of both ends: a packet between them must suit either.
host::Fact<int> common_payload(const GpuWay& way) {
  const host::Fact<int>& nic = way.nic.pci.max_payload_bytes;
  const host::Fact<int>& gpu = way.gpu.pci.max_payload_bytes;
  if (!nic || !gpu) return nic ? gpu : nic;
  return *nic < *gpu ? nic : gpu;
}

const host::NicDistance* distance_of(const GpuWay& way) {
  for (const host::NicDistance& nic : way.gpu.nics)
    if (nic.device == way.nic.name) return &nic;
  return nullptr;
}

/// What the terms do not tell of a way that leaves the PCIe switches.
void note_root_complex(Expectation& out, const GpuWay& way, const host::NicDistance* found) {
  using host::Distance;
  const Distance distance = found == nullptr ? Distance::unknown : found->distance;
  if (distance == Distance::pix || distance == Distance::pxb) return;
  const std::string why = found == nullptr ? fmt::format("how far GPU {} is from {} is unknown", way.gpu.address, way.nic.name) : found->why;
  out.notes.push_back(fmt::format("{}: how fast the CPU passes on what goes between them no register tells; the PCIe terms are an upper bound", why));
}

}  // namespace

void add_gpu_terms(Expectation& out, const GpuWay& way) {
  const host::NicDistance* found = distance_of(way);
  if (found != nullptr && found->distance == host::Distance::loc) {
    out.notes.push_back(fmt::format("{}: no PCIe link lies between them", found->why));
    return;
  }
  const std::optional<std::string> meet_at = found == nullptr ? std::nullopt : found->meet_at;
  const PcieUse nic{way.host, common_payload(way), way.write};
  const PcieUse gpu{way.host, nic.max_payload_bytes, way.write, " (GPU)"};
  const Links under_load = links_under_load(way.gpu, out.notes);
  add_links(out, links_below(way.nic.pci.links, meet_at), nic);
  add_links(out, links_below(under_load, meet_at), gpu);
  note_assumed_payload(nic, out.notes);
  note_root_complex(out, way, found);
}

Expectation expect_copy(const std::string& host_name, const host::Gpu& gpu, CopyDirection direction) {
  Expectation out;
  const PcieUse use{host_name, gpu.pci.max_payload_bytes, direction == CopyDirection::device_to_host, " (GPU)"};
  add_links(out, links_under_load(gpu, out.notes), use);
  note_assumed_payload(use, out.notes);
  find_limit(out);
  if (!out.limiting) out.reason = fmt::format("no PCIe link of GPU {} on {} is known", gpu.address, host_name);
  return out;
}

}  // namespace railgauge::rates
