#include "rates/gpu_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rates/nvlink.h"
#include "unit/rates/ends.h"

namespace railgauge::rates {
namespace {

using namespace testing_ends;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 16 lanes, Gb/s after 128b/130b: 126.03 at 8 GT/s, 252.06 at 16, 504.12 at 32; a 256 B write is 256/280 of it, a completion
// 256/276 (link-rates, section 2.5): 230.46 and 233.80 at 16 GT/s, 460.91 and 467.59 at 32 GT/s.

host::PciLink trained(const std::string& address, double current, double max, int width = 16) {
  host::PciLink link = pci_link(address, current, width);
  link.max_gt_per_s = Fact<double>::of(max);
  return link;
}

/// GPU 3c and NIC 3d below the switch 3a, whose own link up is the slowest of all.
GpuWay below_one_switch() {
  GpuWay way;
  way.host = "hostA";
  way.nic.name = "mlx5_6";
  way.nic.pci.max_payload_bytes = Fact<int>::of(256);
  way.nic.pci.links = {trained("0000:3d:00.0", 32, 32), trained("0000:3b:08.0", 32, 32), trained("0000:3a:00.0", 8, 16), trained("0000:39:01.0", 8, 32)};
  way.gpu.address = "0000:3c:00.0";
  way.gpu.pci.max_payload_bytes = Fact<int>::of(256);
  way.gpu.pci.links = {trained("0000:3c:00.0", 16, 32), trained("0000:3b:04.0", 16, 16), trained("0000:3a:00.0", 8, 16), trained("0000:39:01.0", 8, 32)};
  way.gpu.nics = {{"mlx5_2", host::Distance::sys, std::nullopt, "far"}, {"mlx5_6", host::Distance::pix, "0000:3a:00.0", "near"}};
  return way;
}

Expectation terms_of(const GpuWay& way) {
  Expectation out;
  add_gpu_terms(out, way);
  return out;
}

std::vector<std::string> addresses(const Expectation& e) {
  std::vector<std::string> out;
  for (const Term& term : e.terms) out.push_back(term.address);
  return out;
}

TEST(GpuTerms, TurnRoundAtTheSwitch) {
  const Expectation e = terms_of(below_one_switch());
  EXPECT_THAT(addresses(e), ElementsAre("0000:3d:00.0", "0000:3b:08.0", "0000:3c:00.0", "0000:3b:04.0"));  // not 3a:00.0 at 8 GT/s
  EXPECT_EQ(e.terms[0].name, "PCIe 32 GT/s x16 at 0000:3d:00.0 on hostA");
  EXPECT_EQ(e.terms[2].name, "PCIe 16 GT/s x16 at 0000:3c:00.0 (GPU) on hostA");
  EXPECT_EQ(e.terms[2].host, "hostA");
  EXPECT_EQ(e.terms[2].kind, TermKind::pcie);
  EXPECT_NEAR(e.terms[0].gbit_per_s, 467.59, 0.01);
  EXPECT_NEAR(e.terms[2].gbit_per_s, 233.80, 0.01);
  EXPECT_THAT(e.notes, IsEmpty());
}

TEST(GpuTerms, CountTheLinksBetweenSwitchesToo) {
  GpuWay way = below_one_switch();
  way.nic.pci.links.insert(way.nic.pci.links.begin(), {trained("0000:42:00.0", 32, 32), trained("0000:41:10.0", 32, 32)});
  way.gpu.nics[1].distance = host::Distance::pxb;
  const Expectation e = terms_of(way);
  EXPECT_THAT(addresses(e), ElementsAre("0000:42:00.0", "0000:41:10.0", "0000:3d:00.0", "0000:3b:08.0", "0000:3c:00.0", "0000:3b:04.0"));
  EXPECT_THAT(e.notes, IsEmpty());
}

TEST(GpuTerms, AreWritesWhereTheNicReceives) {
  GpuWay way = below_one_switch();
  way.write = true;
  EXPECT_NEAR(terms_of(way).terms[2].gbit_per_s, 230.46, 0.01);
  EXPECT_NEAR(terms_of(way).terms[0].gbit_per_s, 460.91, 0.01);
}

TEST(GpuTerms, HoldBothLegsAcrossTheHostBridge) {
  GpuWay way = below_one_switch();
  way.gpu.pci.links = {trained("0000:5b:00.0", 32, 32), trained("0000:39:03.0", 32, 32)};
  way.gpu.nics[1] = {"mlx5_6", host::Distance::phb, "pci0000:39", "they meet at pci0000:39"};
  const Expectation e = terms_of(way);
  EXPECT_THAT(addresses(e), ElementsAre("0000:3d:00.0", "0000:3b:08.0", "0000:3a:00.0", "0000:39:01.0", "0000:5b:00.0", "0000:39:03.0"));
  EXPECT_THAT(e.notes, ElementsAre("they meet at pci0000:39: how fast the CPU passes on what goes between them no register tells; the PCIe terms are an upper bound"));
}

TEST(GpuTerms, HoldBothLegsWhereTheDistanceIsUnknown) {
  GpuWay way = below_one_switch();
  way.gpu.nics.clear();
  const Expectation e = terms_of(way);
  EXPECT_EQ(e.terms.size(), 8u);
  EXPECT_THAT(e.notes, ElementsAre(HasSubstr("how far GPU 0000:3c:00.0 is from mlx5_6 is unknown")));
}

TEST(GpuTerms, AreNoneBetweenFunctionsOfOneDevice) {
  GpuWay way = below_one_switch();
  way.gpu.nics[1] = {"mlx5_6", host::Distance::loc, std::nullopt, "one device"};
  EXPECT_THAT(terms_of(way).terms, IsEmpty());
  EXPECT_THAT(terms_of(way).notes, ElementsAre("one device: no PCIe link lies between them"));
}

TEST(GpuTerms, CountAnIdleGpusLinkWithWhatBothEndsCan) {
  GpuWay way = below_one_switch();
  way.gpu.pci.links[0].current_gt_per_s = way.gpu.pci.links[1].current_gt_per_s = Fact<double>::of(2.5);
  const Expectation e = terms_of(way);
  EXPECT_NEAR(e.terms[2].gbit_per_s, 233.80, 0.01);  // the GPU can 32 GT/s, the port above it 16
  EXPECT_NEAR(e.terms[3].gbit_per_s, 233.80, 0.01);
  EXPECT_THAT(e.notes, ElementsAre("the link of GPU 0000:3c:00.0 is at 2.5 GT/s now, as an idle GPU's is: counted with 16 GT/s, which both ends can"));
}

TEST(GpuTerms, UseTheSmallerMaxPayload) {
  GpuWay way = below_one_switch();
  way.gpu.pci.max_payload_bytes = Fact<int>::of(128);
  EXPECT_NEAR(terms_of(way).terms[0].gbit_per_s, 436.00, 0.01);  // 504.123 x 128 / 148
  way.gpu.pci.max_payload_bytes = Fact<int>::missing("not root");
  const Expectation assumed = terms_of(way);
  EXPECT_NEAR(assumed.terms[0].gbit_per_s, 467.59, 0.01);
  EXPECT_THAT(assumed.terms[0].formula, HasSubstr("MaxPayload 256 assumed"));
  EXPECT_THAT(assumed.notes, ElementsAre("MaxPayload on hostA unknown (not root): 256 B assumed"));
}

TEST(ExpectCopy, ReadsTowardsTheDeviceAndWritesFromIt) {
  host::Gpu gpu = below_one_switch().gpu;
  for (std::size_t i : {2u, 3u}) gpu.pci.links[i].current_gt_per_s = Fact<double>::of(32);
  const Expectation in = expect_copy("hostA", gpu, CopyDirection::host_to_device);
  ASSERT_NE(in.limit(), nullptr);
  EXPECT_EQ(in.limit()->name, "PCIe 16 GT/s x16 at 0000:3c:00.0 (GPU) on hostA");
  // 29.2 GB/s; published: 26.0 to 26.3 from the host on generation 4 x16 (nccl-facts 4.4).
  EXPECT_NEAR(*in.gbit_per_s(), 233.80, 0.01);
  EXPECT_NEAR(*expect_copy("hostA", gpu, CopyDirection::device_to_host).gbit_per_s(), 230.46, 0.01);
}

TEST(ExpectCopy, NamesTheSlowLinkOfTheSwitch) {
  const Expectation e = expect_copy("hostA", below_one_switch().gpu, CopyDirection::device_to_host);
  EXPECT_EQ(e.terms.size(), 4u);
  EXPECT_EQ(e.limit()->address, "0000:3a:00.0");
  EXPECT_NEAR(*e.gbit_per_s(), 115.23, 0.01);  // 126.031 x 256 / 280
}

TEST(ExpectCopy, SaysWhenNothingIsKnown) {
  host::Gpu gpu;
  gpu.address = "9a31:00:00.0";
  gpu.pci.links = {host::PciLink{}};
  gpu.pci.links[0].address = gpu.address;
  gpu.pci.links[0].current_gt_per_s.reason = "absent";
  gpu.pci.max_payload_bytes.reason = "not root";
  const Expectation e = expect_copy("vm-3", gpu, CopyDirection::host_to_device);
  EXPECT_EQ(e.limit(), nullptr);
  EXPECT_EQ(e.reason, "no PCIe link of GPU 9a31:00:00.0 on vm-3 is known");
  EXPECT_THAT(e.notes, testing::Contains("PCIe link at 9a31:00:00.0 (GPU) on vm-3 is not part of the expectation: absent"));
}

TEST(Nvlink, IsHalfOfWhatDataSheetsPrint) {
  // Both directions, GB/s: P100 160, V100 300, A100 600, H100 900, B200 1800, Rubin 3600.
  const std::array<double, 6> printed = {160, 300, 600, 900, 1800, 3600};
  for (int generation = 1; generation <= 6; ++generation) EXPECT_DOUBLE_EQ(*nvlink_gbyte_per_s(generation), printed[static_cast<std::size_t>(generation - 1)] / 2);
  EXPECT_EQ(nvlink_gbyte_per_s(0), std::nullopt);
  EXPECT_EQ(nvlink_gbyte_per_s(7), std::nullopt);
}

TEST(Nvlink, CountsTheLinksInUse) {
  EXPECT_DOUBLE_EQ(*nvlink_gbyte_per_s(3, 8), 200);   // A800: 400 GB/s in both directions
  EXPECT_DOUBLE_EQ(*nvlink_gbyte_per_s(4, 12), 300);  // H100 NVL: 600 GB/s
  EXPECT_DOUBLE_EQ(*nvlink_gbyte_per_s(5, 18), 900);
  EXPECT_EQ(nvlink_gbyte_per_s(4, 0), std::nullopt);
  EXPECT_EQ(nvlink_gbyte_per_s(6, 18), std::nullopt);
}

}  // namespace
}  // namespace railgauge::rates
