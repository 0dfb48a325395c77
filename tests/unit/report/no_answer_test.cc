#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"
#include "report/cause.h"

namespace railgauge::report {
namespace {

using host::Fact;
using results::Measurement;
using results::Record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

host::RdmaDevice device(const char* name, host::LinkLayer layer, const char* ip) {
  host::RdmaDevice d;
  d.name = name;
  d.ports.resize(1);
  d.ports[0].state = Fact<std::string>::of("ACTIVE");
  d.ports[0].link_layer = layer;
  if (ip != nullptr) d.ports[0].gids = {{.index = 3, .gid = {}, .type = host::GidType::roce_v2, .netdev = {}, .ip = ip}};
  return d;
}

/// alpha and beta, with mlx5_0 each, between which no write of 64 KiB was acknowledged.
struct Unanswered {
  Record record;
  Measurement m = write_at(0);
  Unanswered(host::LinkLayer layer, const char* ip_of_alpha, const char* ip_of_beta) {
    record.nodes.resize(2);
    for (std::size_t i : {0U, 1U}) {
      const char* ip = i == 0 ? ip_of_alpha : ip_of_beta;
      results::Node& node = record.nodes[i];
      node.role = i == 0 ? "client" : "server";
      node.facts.hostname = m.sides[i].host;
      node.facts.rdma_devices = {device("mlx5_0", layer, ip)};
      if (ip != nullptr) {
        node.facts.netdevs.resize(1);
        node.facts.netdevs[0].addresses = {std::string(ip) + "/24"};
        m.sides[i].placement.gid_index = 3;
      }
      m.sides[i].role = node.role;
      m.sides[i].placement.device = "mlx5_0";
      m.sides[i].placement.port = 1;
      m.sides[i].path_mtu_bytes = 4096;
    }
    m.plan.message_bytes = 65536;
    m.outcome = results::Outcome::failed;
    m.throughput.reset();
    m.error = results::ErrorInfo{"verbs", 12, "run", "client", "RETRY_EXC_ERR (12)"};
  }
  Cause cause() const { return cause_of_no_answer(m, record); }
};

TEST(CauseOfNoAnswer, NamesPartitionsThatDoNotMeet) {  // field case F59
  Unanswered at(host::LinkLayer::infiniband, nullptr, nullptr);
  auto& alpha = at.record.nodes[0].facts.rdma_devices[0].ports[0];
  auto& beta = at.record.nodes[1].facts.rdma_devices[0].ports[0];
  alpha.pkeys = {0x8001};
  beta.pkeys = {0x8002};
  EXPECT_EQ(at.cause().sentence, "no common P_Key: mlx5_0 port 1 on alpha has 0x8001, mlx5_0 port 1 on beta has 0x8002");
  alpha.pkeys = {0x0002, 0x8001};  // a limited and a full member of partition 2
  EXPECT_THAT(at.cause().sentence, IsEmpty());
  beta.pkeys = {0x0002};           // two limited members do not talk
  EXPECT_THAT(at.cause().sentence, HasSubstr("no common P_Key"));
}

TEST(CauseOfNoAnswer, NamesCrossedPortsAndTheOneThatFits) {  // field case F27
  Unanswered at(host::LinkLayer::ethernet, "10.1.0.1", "10.2.0.2");
  EXPECT_EQ(at.cause().sentence, "mlx5_0 port 1 on alpha (10.1.0.1) and mlx5_0 port 1 on beta (10.2.0.2) lie in different networks");
  EXPECT_THAT(at.cause().remedies, ElementsAre(HasSubstr("route between them")));
  at.record.nodes[1].facts.rdma_devices.push_back(device("mlx5_1", host::LinkLayer::ethernet, "10.1.0.2"));
  EXPECT_THAT(at.cause().remedies, ElementsAre("use `--peer-device mlx5_1` (10.1.0.2), which lies in 10.1.0.0/24"));
  at.record.measurements = {write_at(90)};  // they did reach each other: routed
  EXPECT_THAT(at.cause().sentence, IsEmpty());
}

TEST(CauseOfNoAnswer, TellsASmallerMtuOnTheWay) {  // field cases F37 and F38
  Unanswered at(host::LinkLayer::ethernet, "10.1.0.1", "10.1.0.2");
  EXPECT_THAT(at.cause().sentence, IsEmpty());
  Measurement small = latency_at(2000, 2500);
  small.plan.message_bytes = 8;
  at.record.measurements = {small};
  EXPECT_EQ(at.cause().sentence, "small messages pass: something on the way carries less than packets of path MTU 4096");
  at.m.outcome = results::Outcome::partial;  // a cable that was pulled: larger ones had passed
  EXPECT_THAT(at.cause().sentence, IsEmpty());
  at.m.outcome = results::Outcome::failed;
  Measurement large = write_at(90);
  large.plan.message_bytes = 65536;
  large.plan.direction = plan::Direction::from;
  at.record.measurements.push_back(large);  // the other way
  EXPECT_THAT(at.cause().sentence, HasSubstr("small messages pass"));
  at.record.measurements.back().plan.direction = at.m.plan.direction;
  EXPECT_THAT(at.cause().sentence, IsEmpty());
  at.record.measurements.pop_back();
  // 4096 + 60 bytes of RoCE v2 headers fill what ping needs 28 for.
  EXPECT_THAT(at.cause().remedies, ElementsAre(HasSubstr("`ping -M do -s 4128 ADDRESS`")));
}

TEST(CauseOfNoAnswer, NamesThePortsThatWereNotTried) {  // field case F51
  Unanswered at(host::LinkLayer::infiniband, nullptr, nullptr);
  at.record.nodes[0].facts.rdma_devices.push_back(device("mlx5_1", host::LinkLayer::infiniband, nullptr));
  at.record.nodes[0].facts.rdma_devices.push_back(device("mlx5_2", host::LinkLayer::infiniband, nullptr));
  at.record.nodes[0].facts.rdma_devices.back().ports[0].state = Fact<std::string>::of("DOWN");
  at.record.nodes[1].facts.rdma_devices.push_back(device("mlx5_3", host::LinkLayer::infiniband, nullptr));
  EXPECT_THAT(at.cause().sentence, IsEmpty());
  EXPECT_THAT(at.cause().remedies, ElementsAre("try other ports: --device (mlx5_1 on alpha), --peer-device (mlx5_3 on beta)"));
  at.m.error->code = 10;  // the peer did answer
  EXPECT_THAT(at.cause().remedies, IsEmpty());
}

}  // namespace
}  // namespace railgauge::report
