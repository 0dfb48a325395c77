// State machine and limits. Expected values: man ibv_modify_qp / verbs-facts 4.1 (masks) and man ibv_create_qp.
#include "pair.h"

namespace simtest {

TEST(Device, SaysThatItIsSimulated) {
  Endpoint e;
  ibv_device_attr a{};
  ASSERT_EQ(ibv_query_device(e.context, &a), 0);
  EXPECT_EQ(std::strncmp(a.fw_ver, "simulated", 9), 0);
  EXPECT_EQ(a.vendor_id, 0u);
}

TEST(Device, HasTwoRoceV2GidsAndRefusesEmptySlots) {
  Endpoint e;
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(e.context, 1, 1, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, 2u);
  EXPECT_EQ(entry.gid.raw[12], 127);  // ::ffff:127.0.0.1
  EXPECT_EQ(entry.gid.raw[15], 1);
  EXPECT_EQ(ibv_query_gid_ex(e.context, 1, 7, &entry, 0), ENODATA);
  EXPECT_EQ(ibv_query_gid_ex(e.context, 1, 16, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(e.context, 2, 0, &entry, 0), EINVAL);
  ibv_gid_entry table[5];
  EXPECT_EQ(ibv_query_gid_table(e.context, table, 5, 0), 4);
  EXPECT_LT(ibv_query_gid_table(e.context, table, 3, 0), 0);
}

TEST(Device, DescribesItsPort) {
  Endpoint e;
  ibv_port_attr a{};
  ASSERT_EQ(ibv_query_port(e.context, 1, &a), 0);
  EXPECT_EQ(a.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(a.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(a.active_width, 2);   // 4X
  EXPECT_EQ(a.active_speed, 64);  // HDR
  EXPECT_NE(a.flags & IBV_QPF_GRH_REQUIRED, 0);
  EXPECT_EQ(ibv_query_port(e.context, 2, &a), EINVAL);
}

TEST(QueuePair, NeedsExactlyTheMasksOfTheTable) {
  Endpoint e;
  ibv_qp_attr a = e.rtr_attributes(e.qp->qp_num);
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const auto change = [&](ibv_qp_state to, int mask) {
    a.qp_state = to;
    return ibv_modify_qp(e.qp, &a, mask);
  };
  const int bits_init[] = {IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_ACCESS_FLAGS};
  for (const int bit : bits_init) EXPECT_EQ(change(IBV_QPS_INIT, kInitMask & ~bit), EINVAL) << bit;
  EXPECT_EQ(change(IBV_QPS_INIT, kInitMask | IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(change(IBV_QPS_RTR, kRtrMask), EINVAL) << "RESET to RTR does not exist";
  EXPECT_EQ(e.state(), IBV_QPS_RESET);
  ASSERT_EQ(change(IBV_QPS_INIT, kInitMask), 0);
  for (int bit = 1; bit < (1 << 21); bit *= 2) {
    if (bit == IBV_QP_STATE || (kRtrMask & bit) == 0) continue;
    EXPECT_EQ(change(IBV_QPS_RTR, kRtrMask & ~bit), EINVAL) << bit;
  }
  EXPECT_EQ(change(IBV_QPS_RTR, kRtrMask | IBV_QP_TIMEOUT), EINVAL);
  EXPECT_EQ(change(IBV_QPS_RTS, kRtsMask), EINVAL) << "INIT to RTS does not exist";
  EXPECT_EQ(e.state(), IBV_QPS_INIT);
  ASSERT_EQ(change(IBV_QPS_RTR, kRtrMask), 0);
  for (int bit = 1; bit < (1 << 21); bit *= 2) {
    if (bit == IBV_QP_STATE || (kRtsMask & bit) == 0) continue;
    EXPECT_EQ(change(IBV_QPS_RTS, kRtsMask & ~bit), EINVAL) << bit;
  }
  EXPECT_EQ(change(IBV_QPS_RTS, kRtsMask | IBV_QP_PATH_MTU), EINVAL);
  a.timeout = 14;
  a.retry_cnt = 7;
  a.max_rd_atomic = 3;
  ASSERT_EQ(change(IBV_QPS_RTS, kRtsMask | IBV_QP_MIN_RNR_TIMER), 0) << "optional attributes are taken";
  EXPECT_EQ(change(IBV_QPS_INIT, kInitMask), EINVAL) << "no way back but RESET and ERR";
  ASSERT_EQ(change(IBV_QPS_RESET, IBV_QP_STATE), 0);
  EXPECT_EQ(e.state(), IBV_QPS_RESET);
}

TEST(QueuePair, RefusesValuesOutsideTheDevice) {
  Endpoint e;
  ASSERT_EQ(e.to_init(), 0);
  const auto refused = [&](auto change) {
    ibv_qp_attr a = e.rtr_attributes(e.qp->qp_num);
    change(a);
    return ibv_modify_qp(e.qp, &a, kRtrMask);
  };
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.ah_attr.is_global = 0; }), EINVAL) << "RoCE is always global";
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 9; }), EINVAL);
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.ah_attr.port_num = 2; }), EINVAL);
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }), EINVAL);
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.max_dest_rd_atomic = 17; }), EINVAL);
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.min_rnr_timer = 32; }), EINVAL);
  EXPECT_EQ(refused([](ibv_qp_attr& a) { a.dest_qp_num = 1u << 24; }), EINVAL);
  EXPECT_EQ(e.state(), IBV_QPS_INIT);
  EXPECT_EQ(refused([](ibv_qp_attr&) {}), 0);
}

TEST(QueuePair, RefusesMoreThanTheDeviceHas) {
  Endpoint e;
  ibv_device_attr limits{};
  ASSERT_EQ(ibv_query_device(e.context, &limits), 0);
  const auto created = [&](auto change) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = e.cq;
    init.cap = {2, 3, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    change(init);
    ibv_qp* qp = ibv_create_qp(e.pd, &init);
    const int error = qp == nullptr ? errno : 0;
    if (qp != nullptr) ibv_destroy_qp(qp);
    return error;
  };
  EXPECT_EQ(created([](ibv_qp_init_attr&) {}), 0);
  EXPECT_EQ(created([](ibv_qp_init_attr& i) { i.cap.max_inline_data = 220; }), 0);
  EXPECT_EQ(created([](ibv_qp_init_attr& i) { i.cap.max_inline_data = 221; }), EINVAL);
  EXPECT_EQ(created([&](ibv_qp_init_attr& i) { i.cap.max_send_wr = static_cast<unsigned>(limits.max_qp_wr) + 1; }), EINVAL);
  EXPECT_EQ(created([&](ibv_qp_init_attr& i) { i.cap.max_recv_sge = static_cast<unsigned>(limits.max_sge) + 1; }), EINVAL);
  EXPECT_EQ(ibv_create_cq(e.context, limits.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(QueuePair, IsPostedToOnlyInTheRightState) {
  Endpoint e;
  EXPECT_EQ(e.post(IBV_WR_RDMA_WRITE, 5, e.address()), EINVAL) << "RESET";
  EXPECT_EQ(e.post_receive(5), EINVAL) << "RESET";
  ASSERT_EQ(e.to_init(), 0);
  EXPECT_EQ(e.post_receive(5), 0) << "receives may be posted from INIT on";
  EXPECT_EQ(e.post(IBV_WR_RDMA_WRITE, 5, e.address()), EINVAL) << "INIT";
  ASSERT_EQ(e.to_rtr(e.qp->qp_num), 0);
  EXPECT_EQ(e.post(IBV_WR_RDMA_WRITE, 5, e.address()), EINVAL) << "RTR";
}

TEST(Objects, CannotBeDestroyedWhileInUse) {
  Endpoint e;
  EXPECT_EQ(ibv_destroy_cq(e.cq), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(e.pd), EBUSY);
}

TEST(Region, RefusesBadFlagsAndUnmappedMemory) {
  Endpoint e;
  EXPECT_EQ(ibv_reg_mr(e.pd, e.buffer, 4096, IBV_ACCESS_REMOTE_WRITE), nullptr) << "needs LOCAL_WRITE";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(e.pd, reinterpret_cast<void*>(0x10000), 4096, kAll), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_reg_dmabuf_mr(e.pd, 0, 4096, 0, -1, 0), nullptr);
  EXPECT_EQ(errno, EBADF);  // what a device that takes dma-bufs says of none
}

TEST(Region, KeepsContentAcrossRegistrationAndItsEnd) {
  Endpoint e;
  std::vector<unsigned char> heap(10007);
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = Endpoint::pattern(31, i);
  for (int round = 0; round < 3; ++round) {
    ibv_mr* first = ibv_reg_mr(e.pd, heap.data() + 100, 9000, kAll);
    ibv_mr* second = ibv_reg_mr(e.pd, heap.data() + 5000, 5007, kAll);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    ASSERT_EQ(ibv_dereg_mr(first), 0);
    ASSERT_EQ(ibv_dereg_mr(second), 0);
  }
  for (std::size_t i = 0; i < heap.size(); ++i) ASSERT_EQ(heap[i], Endpoint::pattern(31, i)) << i;
}

}  // namespace simtest
