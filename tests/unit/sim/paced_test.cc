// A described, paced device: paced.conf of this folder, an InfiniBand NDR port of one lane (100 Gb/s), MTU 4096, and a
// second device. Lower bounds of time only: a machine may be slow, a wire is never fast.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "pair.h"

namespace simtest {

/// An InfiniBand end: addressed by LID.
struct IbPair {
  explicit IbPair(const Options& o) : a(o), b(o) {
    for (auto [e, peer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      EXPECT_EQ(e->to_init(), 0);
      ibv_qp_attr attr{};
      attr.qp_state = IBV_QPS_RTR;
      attr.path_mtu = IBV_MTU_4096;
      attr.dest_qp_num = peer->qp->qp_num;
      attr.max_dest_rd_atomic = 4;
      attr.min_rnr_timer = 12;
      attr.ah_attr.port_num = 1;
      attr.ah_attr.dlid = 0x2a;
      EXPECT_EQ(ibv_modify_qp(e->qp, &attr, kRtrMask), 0);
      EXPECT_EQ(e->to_rts(), 0);
    }
  }
  Endpoint a, b;
};

TEST(Description, IsWhatTheDeviceSays) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "ndr0");
  EXPECT_STREQ(ibv_get_device_name(list[1]), "half1");
  Endpoint e;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(e.context, 1, &port), 0);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(port.active_speed, 128);
  EXPECT_EQ(port.active_width, 1);
  EXPECT_EQ(port.lid, 0x2a);
  EXPECT_EQ(port.sm_lid, 3);
  std::ifstream rate(std::string(list[0]->ibdev_path) + "/ports/1/rate");
  std::string text;
  std::getline(rate, text);
  EXPECT_EQ(text, "100 Gb/sec (1X NDR)");
  std::ifstream errors(std::string(list[0]->ibdev_path) + "/ports/1/counters/symbol_error");
  std::getline(errors, text);
  EXPECT_EQ(text, "19");
  ibv_free_device_list(list);
}

TEST(Counters, FollowTheTraffic) {
  const std::string folder = std::string(std::getenv("RAILGAUGE_SIM_SYSFS")) + "/class/infiniband/ndr0/ports/1/counters/";
  const auto counter = [&](const char* name) {
    std::ifstream file(folder + name);
    long value = -1;
    file >> value;
    return value;
  };
  const long words = counter("port_xmit_data");
  const long packets = counter("port_rcv_packets");
  {
    IbPair p({});
    ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8200, p.b.address()), 0);  // 3 packets of at most 4096 B
    ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
    ASSERT_EQ(p.b.post(IBV_WR_RDMA_READ, 400, p.a.address()), 0);
    ASSERT_EQ(p.b.next_status(), IBV_WC_SUCCESS);
  }
  EXPECT_EQ(counter("port_xmit_data") - words, (8200 + 400) / 4);
  EXPECT_EQ(counter("port_rcv_packets") - packets, 4);
}

TEST(Pace, LetsNoMoreThroughThanTheWire) {
  Options o;
  o.bytes = 1 << 20;
  o.send_depth = 32;
  IbPair p(o);
  // 32 MiB at 100 Gb/s, each 4096 B packet with 28 B of headers: 33554432 · 8 · (4124/4096) / 1e11 s = 2.703 ms
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 32; ++i) ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 1 << 20, p.b.address()), 0);
  for (int i = 0; i < 32; ++i) ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(2'702'000));
}

TEST(Pace, WakesASleepingReceiverWhenTheMessageIsDue) {
  Options o;
  o.bytes = 1 << 20;
  o.events = true;
  IbPair p(o);
  ASSERT_EQ(ibv_req_notify_cq(p.b.cq, 0), 0);
  ASSERT_EQ(p.b.post_receive(1 << 20), 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 1 << 20, {}), 0);
  ibv_cq* which = nullptr;
  void* user = nullptr;
  ASSERT_EQ(ibv_get_cq_event(p.b.channel, &which, &user), 0);
  // 1 MiB at 100 Gb/s: 256 packets of 4124 B, 84.46 µs
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(84'400));
  ibv_ack_cq_events(p.b.cq, 1);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(p.b.cq, 1, &wc), 1);
}

}  // namespace simtest
