#include "bench/rates_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace railgauge::bench {
namespace {

using testing::HasSubstr;

RatesOptions with(const std::string& link, const std::function<void(RatesOptions&)>& change = [](RatesOptions&) {}) {
  RatesOptions options;
  options.link = link;
  change(options);
  return options;
}

TEST(RatesCommand, FitsInEightyColumns) {
  for (const RatesOptions& options : {RatesOptions{}, with("ndr", [](RatesOptions& o) { o.pcie = "gen4x16"; }),
                                      with("100g", [](RatesOptions& o) { o.ip = 6; o.vlan = true; o.mtu = 1024; })}) {
    std::istringstream lines(rates_text(options));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(RatesCommand, NamesTheLimit) {
  const std::string text = rates_text(with("ndr", [](RatesOptions& o) { o.pcie = "gen4x16"; }));
  EXPECT_THAT(text, HasSubstr("Expect 230.46 Gbit/s (28.807 GB/s)"));    // link-rates 2.5: 230.5, 28.81
  EXPECT_THAT(text, HasSubstr("limited by PCIe 16 GT/s x16 at the receiver"));
}

TEST(RatesCommand, TellsEthernetFromInfinibandNames) {
  EXPECT_THAT(rates_text(with("qdr", [](RatesOptions& o) { o.size = "1M"; })), HasSubstr("Expect 31.78 Gbit/s"));
  EXPECT_THAT(rates_text(with("qdr", [](RatesOptions& o) { o.transport = "roce2"; o.size = "1M"; })), HasSubstr("Expect 39.21 Gbit/s"));
  EXPECT_THAT(rates_text(with("40", [](RatesOptions& o) { o.size = "1M"; })), HasSubstr("Expect 39.21 Gbit/s"));
}

TEST(RatesCommand, SaysWhenOnlyTheWireIsMeant) {
  EXPECT_THAT(rates_text(with("100g", [](RatesOptions& o) { o.size = "64"; })), HasSubstr("Wire limit only"));
}

TEST(RatesCommand, PrintsJson) {
  const auto one = nlohmann::json::parse(rates_text(with("25g", [](RatesOptions& o) { o.transport = "tcp"; o.mtu = 9000; o.format = "json"; })));
  EXPECT_NEAR(one["expected_gbit_per_s"].get<double>(), 24.75, 0.005);   // link-rates 2.4: 99.00 %
  EXPECT_EQ(one["limiting_term"], "port 25G Ethernet");
  EXPECT_EQ(one["terms"][0]["formula"], "25 Gb/s x 8948 / 9038");
  const auto all = nlohmann::json::parse(rates_text(with("", [](RatesOptions& o) { o.format = "json"; })));
  EXPECT_EQ(all["tables"].size(), 7U);
  EXPECT_EQ(all["tables"][1]["rows"][6]["goodput"][4]["mtu_bytes"], 4096);
  EXPECT_NEAR(all["tables"][1]["rows"][6]["goodput"][4]["gbit_per_s"].get<double>(), 392.14, 0.005);
}

TEST(RatesCommand, RefusesWhatNoLinkIs) {
  const std::vector<RatesOptions> bad = {
      with("ndx"), with("12abc"), with("-5"), with("ndr", [](RatesOptions& o) { o.width = 3; }),
      with("100g", [](RatesOptions& o) { o.width = 4; }), with("100g", [](RatesOptions& o) { o.transport = "ib"; }),
      with("100g", [](RatesOptions& o) { o.mtu = 1500; }), with("100g", [](RatesOptions& o) { o.transport = "udp"; }),
      with("100g", [](RatesOptions& o) { o.ip = 5; }), with("ndr", [](RatesOptions& o) { o.vlan = true; }),
      with("100g", [](RatesOptions& o) { o.grh = true; }), with("100g", [](RatesOptions& o) { o.operation = "push"; }),
      with("100g", [](RatesOptions& o) { o.size = "0"; }), with("100g", [](RatesOptions& o) { o.size = "64k1"; }),
      with("100g", [](RatesOptions& o) { o.pcie = "gen9x16"; }), with("100g", [](RatesOptions& o) { o.max_payload = 256; }),
      with("100g", [](RatesOptions& o) { o.pcie = "gen4x8"; o.max_payload = 300; }),
      with("100g", [](RatesOptions& o) { o.operation = "fetch_add"; o.size = "64"; }),
      with("25g", [](RatesOptions& o) { o.transport = "tcp"; o.mtu = 40; }), with("", [](RatesOptions& o) { o.pcie = "gen4x16"; }),
      with("25g", [](RatesOptions& o) { o.format = "xml"; })};
  for (const RatesOptions& options : bad) {
    try {
      const std::string text = rates_text(options);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    }
  }
}

}  // namespace
}  // namespace railgauge::bench
