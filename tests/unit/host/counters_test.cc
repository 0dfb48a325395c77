#include "host/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace railgauge::host {
namespace {

using ::testing::HasSubstr;
using Value = Fact<std::uint64_t>;

CounterDelta one(const std::string& source, const std::string& name, Value before, Value after) {
  auto deltas = counter_deltas({{source, {{name, before}}}}, {{source, {{name, after}}}});
  EXPECT_EQ(deltas.size(), 1u);
  return deltas.at(0);
}

std::map<std::string, CounterReading> by_source(const std::vector<CounterReading>& readings) {
  std::map<std::string, CounterReading> map;
  for (const CounterReading& reading : readings) map[reading.source] = reading;
  return map;
}

TEST(CounterReader, ReadsDevicePortInterfaceAndPcie) {
  CounterReader reader(tree("a100_roce"), {.device = "mlx5_0", .port = 1, .netdevs = {"enp65s0f0np0"}});
  auto readings = by_source(reader.read());
  EXPECT_EQ(*readings.at("mlx5_0/1/hw_counters").values.at("out_of_sequence"), 5u);
  EXPECT_EQ(readings.at("mlx5_0/1/hw_counters").values.count("lifespan"), 0u);
  EXPECT_EQ(*readings.at("enp65s0f0np0/statistics").values.at("rx_missed_errors"), 11u);
  EXPECT_EQ(*readings.at("enp65s0f0np0/carrier_changes").values.at("carrier_changes"), 2u);
  EXPECT_EQ(*readings.at("0000:41:00.0/aer_dev_correctable").values.at("TOTAL_ERR_COR"), 7u);
  EXPECT_EQ(readings.count("mlx5_0/1/counters"), 0u);  // absent there
}

TEST(CounterReader, ReadsTheSlavesOfABond) {
  // CRC and symbol errors are counted where the cable is; the tree's bond0 has two slaves.
  auto readings = by_source(CounterReader(tree("h100_ib"), {.device = "mlx5_bond_0", .port = 1, .netdevs = {"bond0"}}).read());
  for (const char* name : {"bond0", "ens20f0np0", "ens20f1np1"}) EXPECT_EQ(readings.count(std::string(name) + "/carrier_changes"), 1u) << name;
}

TEST(CounterReader, WaitsLongerThanTheLifespan) {
  EXPECT_EQ(CounterReader(tree("a100_roce"), {.device = "mlx5_0", .port = 1, .netdevs = {}}).wait_before_read().count(), 13);  // 12 + 1
  EXPECT_EQ(CounterReader(tree("h100_ib"), {.device = "mlx5_6", .port = 1, .netdevs = {}}).wait_before_read().count(), 15);
  EXPECT_EQ(CounterReader(tree("rxe_host"), {.device = "rxe0", .port = 1, .netdevs = {}}).wait_before_read().count(), 0);
}

TEST(CounterReader, KeepsWhatCannotBeRead) {
  auto readings = by_source(CounterReader(tree("restricted"), {.device = "mlx4_0", .port = 2, .netdevs = {}}).read());
  const CounterReading& counters = readings.at("mlx4_0/2/counters");
  EXPECT_EQ(counters.values.at("port_xmit_wait").reason, "\"N/A (no PMA)\"");
  EXPECT_EQ(counters.values.at("port_rcv_errors").reason, "EISDIR (Is a directory)");
  EXPECT_EQ(*counters.values.at("symbol_error"), 7u);
}

TEST(CounterReader, BearsADeviceThatIsNotThere) {
  EXPECT_TRUE(CounterReader(tree("no_rdma"), {.device = "mlx5_3", .port = 1, .netdevs = {"eth9"}}).read().empty());
}

TEST(CounterDeltas, Subtract) {
  CounterDelta delta = one("mlx5_0/1/counters", "symbol_error", Value::of(7), Value::of(19));
  EXPECT_EQ(*delta.delta, 12u);
  EXPECT_EQ(*delta.before, 7u);
  EXPECT_EQ(*delta.after, 19u);
  EXPECT_FALSE(delta.wrapped);
  EXPECT_EQ(*one("mlx5_0/1/counters", "port_xmit_data", Value::of(1ull << 40), Value::of((1ull << 40) + 3)).delta, 3u);
}

TEST(CounterDeltas, NeverCallASaturatedCounterClean) {
  // widths: host-facts, section 3.1
  EXPECT_THAT(one("d/1/counters", "link_downed", Value::of(255), Value::of(255)).delta.reason, HasSubstr("saturated at 255"));
  EXPECT_FALSE(one("d/1/counters", "excessive_buffer_overrun_errors", Value::of(15), Value::of(15)).delta);
  EXPECT_FALSE(one("d/1/counters", "port_rcv_errors", Value::of(65530), Value::of(65535)).delta);
  EXPECT_FALSE(one("d/1/counters", "port_xmit_wait", Value::of(1), Value::of(4294967295)).delta);
  EXPECT_EQ(*one("d/1/counters", "link_downed", Value::of(250), Value::of(254)).delta, 4u);
  EXPECT_THAT(one("d/1/counters", "link_downed", Value::of(9), Value::of(2)).delta.reason, HasSubstr("cleared"));
}

TEST(CounterDeltas, WrapHardwareCountersAt32Bits) {
  CounterDelta delta = one("mlx5_0/1/hw_counters", "rx_write_requests", Value::of(4294967290), Value::of(14));
  EXPECT_EQ(*delta.delta, 20u);  // 6 to the wrap, 14 after it
  EXPECT_TRUE(delta.wrapped);
  EXPECT_FALSE(one("mlx5_0/1/hw_counters", "rx_write_requests", Value::of(5000), Value::of(3)).delta);
  EXPECT_FALSE(one("bnxt_re0/hw_counters", "rx_bytes", Value::of(1ull << 33), Value::of(3)).delta);
  EXPECT_FALSE(one("eth2/statistics", "rx_crc_errors", Value::of(4294967290), Value::of(14)).delta);
}

TEST(CounterDeltas, CarryTheReasonOfAMissingReading) {
  CounterDelta delta = one("d/1/counters", "symbol_error", Value::of(3), Value::missing("EIO (Input/output error)"));
  EXPECT_EQ(delta.delta.reason, "EIO (Input/output error)");
  EXPECT_FALSE(delta.delta);
}

TEST(CounterDeltas, LeaveOutWhatIsInOneReadingOnly) {
  EXPECT_TRUE(counter_deltas({{"a/counters", {{"x", Value::of(1)}}}}, {{"b/counters", {{"x", Value::of(2)}}}}).empty());
  EXPECT_TRUE(counter_deltas({{"a/counters", {{"x", Value::of(1)}}}}, {{"a/counters", {{"y", Value::of(2)}}}}).empty());
}

TEST(MeaningOf, JudgesMovements) {
  // host-facts, section 3.2
  EXPECT_EQ(meaning_of("link_downed")->severity, CounterSeverity::hard_fail);
  EXPECT_EQ(meaning_of("symbol_error")->severity, CounterSeverity::soft_fail);
  EXPECT_EQ(meaning_of("packet_seq_err")->severity, CounterSeverity::soft_fail);
  EXPECT_EQ(meaning_of("port_xmit_wait")->severity, CounterSeverity::info);
  EXPECT_EQ(meaning_of("rx_prio3_pause")->severity, CounterSeverity::warn);
  EXPECT_THAT(meaning_of("tx_prio3_pause_duration")->sentence, HasSubstr("the host told the network to stop: it drains slowly"));
  EXPECT_THAT(meaning_of("rnr_nak_retry_err")->sentence, HasSubstr("posts too few receives: software, not the link"));
  EXPECT_EQ(meaning_of("rx_icrc_encapsulated")->severity, CounterSeverity::hard_fail);
  EXPECT_THAT(meaning_of("roce_slow_restart_cnps")->sentence, HasSubstr("hides loss"));
  EXPECT_EQ(meaning_of("req_cqe_flush_error")->severity, CounterSeverity::info);
  EXPECT_FALSE(meaning_of("port_xmit_data"));
  EXPECT_THAT(meaning_of("symbol_error")->remedy, HasSubstr("cable or optics"));
  EXPECT_THAT(meaning_of("rx_pci_signal_integrity")->remedy, HasSubstr("reseat the card"));
  EXPECT_EQ(meaning_of("np_cnp_sent")->remedy, "");
  EXPECT_FALSE(meaning_of("rx_packets"));
  EXPECT_STREQ(name_of(CounterSeverity::soft_fail), "soft_fail");
}

}  // namespace
}  // namespace railgauge::host
