// The samples of tests/fuzz/corpus/nccl_log_fuzz, one per NCCL generation: what each says was written down by reading it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/nccl_used.h"
#include "samples.h"

namespace railgauge::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::string> unknown_texts(const NcclLog& log) {
  std::vector<std::string> texts;
  for (const auto& [line, text] : log.unknown.first) texts.push_back(text);
  return texts;
}

TEST(Nccl210, IsReadWithBusIdsAndWithoutConnections) {
  const NcclLog log = sample("nccl_2.10.log");
  ASSERT_EQ(log.versions.size(), 1u);
  EXPECT_EQ(log.versions[0].text, "2.10.3+cuda11.4");
  EXPECT_EQ(log.versions[0].minor, 10);
  EXPECT_EQ(log.versions[0].patch, 3);
  EXPECT_EQ(log.versions[0].cuda, "11.4");
  ASSERT_EQ(log.net_channels.size(), 3u);
  const NetChannel& first = log.net_channels[0];
  EXPECT_EQ(first.connection, std::nullopt);
  EXPECT_EQ(first.from_rank, 1);
  EXPECT_EQ(first.to_rank, 2);
  EXPECT_EQ(first.from_device, "3b000");
  EXPECT_EQ(first.to_device, "1b000");
  EXPECT_EQ(first.direction, ChannelDirection::receive);
  EXPECT_EQ(log.net_channels[2].direction, ChannelDirection::send);
  EXPECT_EQ(first.net_dev, 1);
  EXPECT_FALSE(first.gdr);
  ASSERT_EQ(log.local_channels.size(), 2u);
  EXPECT_EQ(log.local_channels[0].path, LocalPath::shm);
  EXPECT_FALSE(log.local_channels[0].copy_engine);
  EXPECT_TRUE(log.local_channels[1].copy_engine);
  EXPECT_THAT(unknown_texts(log), ElementsAre("Setting affinity for GPU 0 to ff,00000000", "threadThresholds 8/8/64 | 32/8/64 | 8/8/512", "Launch mode Parallel"));
}

TEST(Nccl210, RanksComeFromTheCommLinesByProcess) {
  const NcclLog log = sample("nccl_2.10.log");
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_EQ(log.processes[1].pid, 4102u);
  EXPECT_EQ(rank_of(log, 0), 2);
  EXPECT_EQ(rank_of(log, 1), 3);
  EXPECT_EQ(log.net_channels[2].origin.process, 1u);
  EXPECT_EQ(log.comms[1].bus_id, "3b000");
  EXPECT_EQ(log.comms[1].nvml_dev, std::nullopt);
  EXPECT_TRUE(log.comms[1].init_complete);
  EXPECT_FALSE(log.comms[1].init_started);
}

TEST(Nccl210, ChoicesInNumbersAndRateWordsOfItsTime) {
  const NcclLog log = sample("nccl_2.10.log");
  ASSERT_EQ(log.algorithms.size(), 1u);
  EXPECT_EQ(log.algorithms[0].operation, "AllReduce");
  EXPECT_EQ(log.algorithms[0].bytes, 65536u);
  EXPECT_EQ(log.algorithms[0].algorithm, "TREE");   // NCCL_ALGO_TREE 0
  EXPECT_EQ(log.algorithms[0].protocol, "SIMPLE");  // NCCL_PROTO_SIMPLE 2
  EXPECT_EQ(log.algorithms[0].channel_low, std::nullopt);
  ASSERT_EQ(log.pair_gdr.size(), 1u);
  EXPECT_EQ(log.pair_gdr[0].gpu, "1b000[0]");
  EXPECT_EQ(log.pair_gdr[0].distance, 4);
  EXPECT_EQ(log.pair_gdr[0].limit, 2);
  EXPECT_FALSE(log.pair_gdr[0].enabled);
  ASSERT_EQ(log.environment.size(), 1u);
  EXPECT_EQ(log.environment[0].value, "0");
  EXPECT_EQ(log.channel_counts[0].p2p_per_peer, 1);
  EXPECT_EQ(log.channel_counts[0].nvls, std::nullopt);
  ASSERT_EQ(log.trees.size(), 2u);
  EXPECT_EQ(log.trees[0].parent, 5);
  EXPECT_THAT(log.trees[1].children, ElementsAre(3, -1, -1));
  ASSERT_EQ(log.rings.size(), 2u);
  EXPECT_THAT(log.rings[1].ranks, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Nccl210, CompletionAndTraceOfItsTime) {
  const NcclLog log = sample("nccl_2.10.log");
  ASSERT_EQ(log.completions.size(), 1u);
  EXPECT_EQ(log.completions[0].status, 12);
  EXPECT_EQ(log.completions[0].vendor_err, 129u);
  EXPECT_EQ(log.completions[0].peer, "192.0.2.47");
  EXPECT_EQ(log.completions[0].side, std::nullopt);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_EQ(log.warnings[0].file, "transport/net_ib.cc");
  EXPECT_EQ(log.warnings[0].file_line, 839);
  EXPECT_EQ(log.warnings[0].origin.line, 30u);
  ASSERT_EQ(log.traces.size(), 2u);
  EXPECT_EQ(log.traces[1].file_line, 404);
  EXPECT_EQ(log.traces[1].result, 2);
}

TEST(Nccl218, PluginsWithTheirVersionsWalkedDown) {
  const NcclLog log = sample("nccl_2.18.log");
  ASSERT_EQ(log.plugins.size(), 5u);
  EXPECT_EQ(log.plugins[0].news, PluginNews::other);
  EXPECT_EQ(log.plugins[1].news, PluginNews::loaded);
  EXPECT_EQ(log.plugins[1].name, "Fabric Mover v5");
  EXPECT_EQ(log.plugins[4].name, "IBext");
  EXPECT_EQ(log.cuda_driver_version, 12020);
  EXPECT_EQ(log.networks[0].name, "IBext");
  EXPECT_EQ(log.environment[0].value, "^mlx5_9");
  ASSERT_EQ(log.nic_lists.size(), 1u);
  EXPECT_TRUE(log.nic_lists[0].relaxed_ordering);
  EXPECT_EQ(log.nic_lists[0].oob_interface, "bond0");
  EXPECT_EQ(log.nic_lists[0].oob_address, "198.51.100.72");
  ASSERT_EQ(log.nic_lists[0].devices.size(), 4u);
  EXPECT_EQ(log.nic_lists[0].devices[2].ports[0].device, "mlx5_4");
  EXPECT_EQ(log.nic_lists[0].devices[2].ports[0].port, 2);
  EXPECT_EQ(log.nic_lists[0].devices[2].ports[0].more, "");
  EXPECT_EQ(log.nic_lists[0].devices[3].ports[0].more, "SHARP");
}

TEST(Nccl218, ChannelsOfEveryKind) {
  const NcclLog log = sample("nccl_2.18.log");
  ASSERT_EQ(log.net_channels.size(), 3u);
  EXPECT_EQ(log.net_channels[1].proxy_rank, 13);
  EXPECT_EQ(log.net_channels[0].proxy_rank, std::nullopt);
  EXPECT_EQ(log.net_channels[2].connection, 1);
  EXPECT_TRUE(log.net_channels[2].shared);
  EXPECT_TRUE(log.net_channels[2].gdr);
  ASSERT_EQ(log.local_channels.size(), 4u);
  EXPECT_EQ(log.local_channels[0].path, LocalPath::p2p_ipc);
  EXPECT_TRUE(log.local_channels[0].read);
  EXPECT_EQ(log.local_channels[1].path, LocalPath::p2p_cumem);
  EXPECT_TRUE(log.local_channels[1].copy_engine);
  EXPECT_EQ(log.local_channels[2].path, LocalPath::p2p_indirect);
  EXPECT_EQ(log.local_channels[2].through_rank, 12);
  EXPECT_EQ(log.local_channels[3].path, LocalPath::p2p_direct_pointer);
  ASSERT_EQ(log.collnet_channels.size(), 2u);
  EXPECT_EQ(log.collnet_channels[0].direction, ChannelDirection::receive);
  EXPECT_TRUE(log.collnet_channels[0].gdr);
  EXPECT_FALSE(log.collnet_channels[1].gdr);
  EXPECT_EQ(log.collnet_channels[1].net_dev, 3);
  EXPECT_EQ(log.algorithms[0].algorithm, "RING");
  EXPECT_EQ(log.algorithms[0].protocol, "LL");
  EXPECT_FALSE(log.nvls[0].available);
}

TEST(Nccl218, EventAndFlushedCompletion) {
  const NcclLog log = sample("nccl_2.18.log");
  ASSERT_EQ(log.async_events.size(), 1u);
  EXPECT_EQ(log.async_events[0].device, "mlx5_4");
  EXPECT_EQ(log.async_events[0].port, 2);
  EXPECT_EQ(log.async_events[0].event, "port error");
  EXPECT_FALSE(log.async_events[0].fatal);
  ASSERT_EQ(log.completions.size(), 1u);
  EXPECT_EQ(log.completions[0].status, 5);
  EXPECT_EQ(log.completions[0].vendor_err, 249u);
  EXPECT_EQ(log.completions[0].side, "Send");
  EXPECT_EQ(log.warnings.size(), 2u);
}

TEST(Nccl221, CommLinesOfTwoRanksAreJoined) {
  const NcclLog log = sample("nccl_2.21.log");
  ASSERT_EQ(log.comms.size(), 2u);
  EXPECT_EQ(log.comms[1].rank, 5);
  EXPECT_EQ(log.comms[1].nodes, 3);
  EXPECT_EQ(log.comms[1].local_ranks, 2);
  EXPECT_EQ(log.comms[1].local_rank, 1);
  EXPECT_EQ(log.comms[1].nvml_dev, 5);
  EXPECT_EQ(log.comms[1].cuda_dev, 1);
  EXPECT_EQ(log.comms[1].mnnvl, 0);
  EXPECT_EQ(log.comms[1].comm_id, "0xfeedbeef12345678");
  EXPECT_TRUE(log.comms[0].init_complete);
  EXPECT_FALSE(log.comms[1].init_complete);
  EXPECT_EQ(log.comms[1].last_step, "Init START");
  ASSERT_EQ(log.init_timings.size(), 1u);
  EXPECT_DOUBLE_EQ(log.init_timings[0].total_s, 2.75);
  EXPECT_THAT(log.init_timings[0].parts_s, ::testing::Contains(Pair("bootstrap", 1.02)));
  EXPECT_EQ(log.init_timings[0].parts_s.size(), 7u);
}

TEST(Nccl221, MergedNicsAndCapabilities) {
  const NcclLog log = sample("nccl_2.21.log");
  ASSERT_EQ(log.nic_lists.size(), 2u);
  ASSERT_EQ(log.nic_lists[0].devices.size(), 3u);
  EXPECT_EQ(log.nic_lists[0].devices[2].ports.size(), 2u);
  EXPECT_EQ(nic_name_of(log, log.net_channels[0].origin, "IB", 2)->name, "mlx5_6:1+mlx5_7:1");
  ASSERT_EQ(log.hca_gdr.size(), 3u);
  EXPECT_TRUE(log.hca_gdr[1].enabled);
  EXPECT_FALSE(log.hca_gdr[2].enabled);
  EXPECT_EQ(log.hca_gdr[2].name, "mlx5_6+mlx5_7");
  ASSERT_EQ(log.pair_gdr.size(), 1u);
  EXPECT_EQ(log.pair_gdr[0].read, false);
  EXPECT_EQ(log.connected.back().what, "NVLS tree");
  EXPECT_EQ(log.channel_counts[0].nvls, 16);
  EXPECT_EQ(log.channel_counts[0].collnet, 0);
  EXPECT_EQ(log.completions[0].local_gid, "::ffff:203.0.113.31");
  EXPECT_EQ(log.completions[0].remote_gid, "::ffff:203.0.113.77");
  EXPECT_EQ(log.completions[0].hca, "mlx5_1");
  EXPECT_EQ(log.completions[0].side, "Recv");
}

TEST(Nccl221, AMissingPluginIsQuoted) {
  const NcclLog log = sample("nccl_2.21.log");
  ASSERT_EQ(log.plugins.size(), 4u);
  EXPECT_EQ(log.plugins[0].news, PluginNews::not_found);
  EXPECT_EQ(log.plugins[1].news, PluginNews::not_found);
  EXPECT_THAT(log.plugins[1].origin.text, HasSubstr("cannot open shared object file"));
  EXPECT_EQ(log.plugins[2].news, PluginNews::other);  // NCCL's own transport is no plugin
  EXPECT_EQ(log.plugins[2].name, std::nullopt);
  EXPECT_EQ(log.plugins[3].kind, "TUNER");
}

TEST(Nccl230, NicsWithRailsPlanesAndDetails) {
  const NcclLog log = sample("nccl_2.30.log");
  ASSERT_EQ(log.nic_lists.size(), 1u);
  const std::vector<NetDevice>& devices = log.nic_lists[0].devices;
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].index, 2);
  EXPECT_EQ(devices[0].ports[0].rail, "5");
  EXPECT_EQ(devices[0].ports[0].plane, "1");
  EXPECT_EQ(devices[1].ports[0].rail, std::nullopt);
  EXPECT_EQ(devices[1].ports[0].plane, "2");
  EXPECT_EQ(log.nic_lists[0].oob_address, "2001:db8::a9");
  ASSERT_EQ(log.nic_details.size(), 2u);
  EXPECT_EQ(log.nic_details[1].device, "mlx5_3");
  EXPECT_EQ(log.nic_details[1].speed_mbit_per_s, 200000);
  EXPECT_EQ(log.nic_details[1].provider, "Mlx5");
  EXPECT_EQ(log.nic_details[1].pci_path, "/sys/devices/pci0000:37/0000:37:01.0");
  EXPECT_EQ(log.nic_details[1].adaptive_routing, true);
  EXPECT_EQ(log.nic_details[0].adaptive_routing, false);
  EXPECT_EQ(nic_name_of(log, log.net_channels[1].origin, "IB", 4)->name, "mlx5_2+mlx5_3");
  EXPECT_EQ(log.interfaces[0].name, "enp41s0np0");
  EXPECT_EQ(log.interfaces[0].address, "2001:db8::a9");
  EXPECT_THAT(unknown_texts(log), ElementsAre());
}

TEST(Nccl230, ChannelsChoicesAndCommunicators) {
  const NcclLog log = sample("nccl_2.30.log");
  EXPECT_TRUE(log.net_channels[0].gdr_pci);
  EXPECT_TRUE(log.net_channels[0].shared);
  EXPECT_EQ(log.net_channels[1].proxy_rank, 12);
  EXPECT_EQ(log.local_channels[0].path, LocalPath::p2p_mnnvl);
  EXPECT_EQ(log.local_channels[1].path, LocalPath::shm);
  EXPECT_EQ(log.connected[0].pxn, true);
  EXPECT_EQ(log.connected[0].gdr, false);
  EXPECT_EQ(log.nvls[0].channels, 16);
  EXPECT_EQ(log.graphs[0].type_inter, "PIX");
  EXPECT_EQ(log.graphs[0].cross_nic, 2);
  EXPECT_EQ(log.dmabuf[0].dev, 6);
  EXPECT_EQ(log.pair_gdr[0].hca, "1b");
  ASSERT_EQ(log.algorithms.size(), 2u);
  EXPECT_EQ(log.algorithms[0].algorithm, "NVLS_TREE");
  EXPECT_EQ(log.algorithms[0].channel_high, 15);
  EXPECT_EQ(log.algorithms[1].protocol, "LL128");
  EXPECT_EQ(log.algorithms[1].channel_low, 3);
  ASSERT_EQ(log.comms.size(), 2u);
  EXPECT_EQ(log.comms[0].function, "ncclCommInitRankConfig");
  EXPECT_EQ(log.comms[0].last_step, "Abort COMPLETE");
  EXPECT_EQ(log.comms[1].rank, 1);
  EXPECT_EQ(log.comms[1].last_step, "Init START");
  EXPECT_EQ(rank_of(log, 0), 14);
}

TEST(Nccl230, TroubleOfItsTime) {
  const NcclLog log = sample("nccl_2.30.log");
  ASSERT_EQ(log.plugins.size(), 3u);
  EXPECT_EQ(log.plugins[0].kind, "ENV");
  EXPECT_EQ(log.plugins[0].news, PluginNews::not_found);
  EXPECT_EQ(log.plugins[2].name, "Steady Tuner");
  ASSERT_EQ(log.completions.size(), 1u);
  EXPECT_EQ(log.completions[0].status, 12);
  EXPECT_EQ(log.completions[0].status_name, "IBV_WC_RETRY_EXC_ERR");
  EXPECT_EQ(log.completions[0].vendor_err, 129u);
  EXPECT_EQ(log.completions[0].side, "Send");
  EXPECT_EQ(log.completions[0].peer, "2001:db8::b4");
  EXPECT_EQ(log.completions[0].remote_gid, "fe80::b4:2");
  ASSERT_EQ(log.warnings.size(), 3u);
  EXPECT_EQ(log.warnings[1].function, "wrap_ibv_modify_qp");
  EXPECT_EQ(log.warnings[1].file, "misc/ibvwrap.cc");
  ASSERT_EQ(log.failed_calls.size(), 1u);
  EXPECT_EQ(log.failed_calls[0].error, 110);
  EXPECT_EQ(log.failed_calls[0].error_text, "Connection timed out");
  ASSERT_EQ(log.hints.size(), 1u);
  EXPECT_THAT(log.hints[0].text, HasSubstr("another rail"));
  ASSERT_EQ(log.async_events.size(), 2u);
  EXPECT_TRUE(log.async_events[0].fatal);
  EXPECT_EQ(log.async_events[0].event, "local access violation work queue error");
  EXPECT_EQ(log.async_events[1].event, "GID table changed");
}

}  // namespace
}  // namespace railgauge::cuda
