// Real logs, read where they lie beside the checkout, against what a person found in them (`facts` of the .expect.json).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cuda/nccl_used.h"
#include "samples.h"

namespace railgauge::cuda {
namespace {

using nlohmann::json;

class NcclFieldLog : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(RAILGAUGE_FIELD_OUTPUTS)) GTEST_SKIP() << "no field data at " << RAILGAUGE_FIELD_OUTPUTS;
  }
  void read(const std::string& name) {
    const std::string path = std::string(RAILGAUGE_FIELD_OUTPUTS) + "/" + name;
    std::string text = file_text(path + ".txt");
    log = parse_nccl_log(text.substr(text.find('\n') + 1));  // line 1 is the collector's
    expected = json::parse(file_text(path + ".expect.json"));
    facts = expected.value("facts", json::object());
  }
  NcclLog log;
  json expected, facts;
};

TEST_F(NcclFieldLog, AWrappedTimeout) {
  read("nccllog_01_ib_timeout_wrapped_line");
  EXPECT_EQ(network_used(log).name, facts["transport"]);
  ASSERT_EQ(log.nic_lists.size(), 1u);
  ASSERT_EQ(log.nic_lists[0].devices.size(), facts["hcas"].size());
  for (std::size_t i = 0; i < facts["hcas"].size(); ++i) {
    const NicPort& port = log.nic_lists[0].devices[i].ports.at(0);
    EXPECT_EQ(port.device + ":" + std::to_string(port.port) + "/" + port.link, facts["hcas"][i]);
  }
  ASSERT_EQ(log.completions.size(), 1u);
  EXPECT_EQ(log.completions[0].status, facts["status"]);
  EXPECT_EQ(log.completions[0].vendor_err.value(), facts["vendor_err"]);
  EXPECT_EQ(log.completions[0].side.value(), facts["side"]);
  EXPECT_EQ(log.completions[0].peer.value(), facts["peer"]);
  EXPECT_EQ(log.traces.size(), 3u);
  EXPECT_EQ(log.unknown.count + log.foreign.count, 0u);
}

TEST_F(NcclFieldLog, APluginInAVirtualMachine) {
  read("nccllog_03_h100_ibext_plugin_vm_topology");
  EXPECT_EQ(log.versions.at(0).text, facts["nccl_version"]);
  const NetworkUsed used = network_used(log);
  EXPECT_TRUE(used.over_verbs);
  const auto loaded = std::find_if(log.plugins.begin(), log.plugins.end(), [](const PluginLine& line) { return line.news == PluginNews::loaded; });
  ASSERT_NE(loaded, log.plugins.end());
  EXPECT_EQ(used.name + " (" + *loaded->name + ")", facts["plugin"]);
  EXPECT_EQ(log.nic_lists.at(0).devices.size(), facts["hcas"]);
  EXPECT_EQ(log.nic_lists.at(0).devices.at(4).ports.at(0).link, facts["transport"]);
  EXPECT_EQ(log.environment.at(0).value, facts["topo_file"]);
  EXPECT_EQ(log.comms.at(0).nranks, facts["ranks"]);
  // Counted by grep: 6 NET lines, all GDRDMA, two of them by PXN; 30 by P2P/CUMEM; 16 rings.
  EXPECT_EQ(log.net_channels.size(), 6u);
  EXPECT_EQ(gdr_used(log).both, Share::all);
  EXPECT_EQ(log.local_channels.size(), 30u);
  EXPECT_EQ(log.rings.size(), 16u);
  EXPECT_TRUE(nics_used(log).findings.empty());
  EXPECT_EQ(log.unknown.count, 3u);  // non-device plugin, affinity, chunk size
}

TEST_F(NcclFieldLog, GpuDirectDisabled) {
  read("nccllog_05_recreated_gdr_disabled_peermem");
  EXPECT_EQ(log.versions.at(0).text, facts["nccl_version"]);
  EXPECT_EQ(network_used(log).name, facts["transport"]);
  const GdrUsed gdr = gdr_used(log);
  EXPECT_EQ(gdr.ends - gdr.without.size(), facts["gdrdma_channels"]);
  EXPECT_EQ(gdr.both, Share::none);
  EXPECT_FALSE(satisfies(log, Requirement::gdr).met);
  EXPECT_EQ(log.hca_gdr.size(), 2u);
}

TEST_F(NcclFieldLog, ARefusedRegistration) {
  read("nccllog_08_recreated_reg_mr_memlock");
  EXPECT_EQ(log.failed_calls.at(0).call, facts["call"]);
  EXPECT_EQ(log.failed_calls.at(0).error_text.value(), facts["errno_text"]);
  EXPECT_EQ(log.warnings.at(0).file_line, 262);
  EXPECT_EQ(log.foreign.count, 1u);
}

TEST_F(NcclFieldLog, LinesBetweenTheRowsOfNcclTests) {
  read("nccl_10_mpirun_prefix_socket_fallback");
  EXPECT_EQ(network_used(log).name, "Socket");
  EXPECT_EQ(json::array({network_used(log).name}), expected["transport_seen"]);
  read("nccl_07_a100_single_node_8gpu");
  EXPECT_EQ(log.versions.at(0).text, expected["nccl_version"]);
  read("nccl_12_allgather_redop_none");
  EXPECT_EQ(log.versions.at(0).text, expected["nccl_version"]);
  read("nccl_13_h100_16gpu_no_parameter_line");
  EXPECT_EQ(log.versions.at(0).text, expected["nccl_version"]);
  read("nccl_01_v100era_error_column_NA_info_line");
  EXPECT_TRUE(log.versions.empty());
  EXPECT_EQ(log.unknown.count, 1u);  // "Launch mode Parallel"
  EXPECT_EQ(network_used(log).kind, NetworkKind::unknown);
}

}  // namespace
}  // namespace railgauge::cuda
