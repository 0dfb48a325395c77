// Completion statuses of bad cases. Expected values: verbs-facts 4.3 and the hardware column of 4.4.
#include "pair.h"

namespace simtest {

TEST(Status, MovesBytesForEveryOperation) {
  Pair p;
  p.a.fill(11);
  p.b.fill(22);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 4500, p.b.address(), [](ibv_send_wr& w) { w.wr.rdma.remote_addr += 33; }, 7), 0);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.b.first_difference(11, 33, 4500, 7), -1);
  EXPECT_EQ(p.b.first_difference(22, 0, 33, 0), -1);
  EXPECT_EQ(p.b.first_difference(22, 4533, 500, 4533), -1);

  p.b.fill(44);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_READ, 5000, p.b.address(), [](ibv_send_wr& w) { w.wr.rdma.remote_addr += 101; }, 55), 0);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.a.first_difference(44, 55, 5000, 101), -1);

  p.a.fill(66);
  ASSERT_EQ(p.b.post_receive(6000, 9001, 12), 0);
  ASSERT_EQ(p.a.post(IBV_WR_SEND_WITH_IMM, 3333, {}, [](ibv_send_wr& w) { w.imm_data = 0xabcd1234; }), 0);
  const auto received = p.b.next();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->status, IBV_WC_SUCCESS);
  EXPECT_EQ(received->opcode, IBV_WC_RECV);
  EXPECT_EQ(received->wr_id, 9001u);
  EXPECT_EQ(received->byte_len, 3333u);
  EXPECT_EQ(received->imm_data, 0xabcd1234u);
  EXPECT_NE(received->wc_flags & IBV_WC_WITH_IMM, 0u);
  EXPECT_EQ(received->qp_num, p.b.qp->qp_num);
  EXPECT_EQ(received->src_qp, p.a.qp->qp_num);
  EXPECT_EQ(p.b.first_difference(66, 12, 3333, 0), -1);
}

TEST(Status, WriteWithImmediateConsumesAReceive) {
  Pair p;
  p.a.fill(5);
  ASSERT_EQ(p.b.post_receive(1, 4242), 0);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE_WITH_IMM, 700, p.b.address(), [](ibv_send_wr& w) { w.imm_data = 0x77; }), 0);
  const auto received = p.b.next();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received->wr_id, 4242u);
  EXPECT_EQ(received->byte_len, 700u);
  EXPECT_EQ(p.b.first_difference(5, 0, 700, 0), -1);
  EXPECT_EQ(p.a.next()->opcode, IBV_WC_RDMA_WRITE);
}

TEST(Status, AtomicsReturnTheOldValue) {
  Pair p;
  std::uint64_t start = 1'000'000'000'007;
  std::memcpy(p.b.buffer + 40, &start, 8);
  const auto at = [&](std::uint64_t add) {
    return [add](ibv_send_wr& w) {
      w.wr.atomic.remote_addr += 40;
      w.wr.atomic.compare_add = add;
    };
  };
  std::uint64_t old = 0;
  std::uint64_t now = 0;
  ASSERT_EQ(p.a.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, p.b.address(), at(35)), 0);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  std::memcpy(&old, p.a.buffer, 8);
  std::memcpy(&now, p.b.buffer + 40, 8);
  EXPECT_EQ(old, start);
  EXPECT_EQ(now, start + 35);
  const auto swap = [&](std::uint64_t expected) {
    return [expected](ibv_send_wr& w) {
      w.wr.atomic.remote_addr += 40;
      w.wr.atomic.compare_add = expected;
      w.wr.atomic.swap = 99;
    };
  };
  ASSERT_EQ(p.a.post(IBV_WR_ATOMIC_CMP_AND_SWP, 8, p.b.address(), swap(start)), 0);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  std::memcpy(&now, p.b.buffer + 40, 8);
  EXPECT_EQ(now, start + 35) << "did not compare equal";
  ASSERT_EQ(p.a.post(IBV_WR_ATOMIC_CMP_AND_SWP, 8, p.b.address(), swap(start + 35)), 0);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  std::memcpy(&now, p.b.buffer + 40, 8);
  EXPECT_EQ(now, 99u);
  ASSERT_EQ(p.a.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, p.b.address(), [](ibv_send_wr& w) { w.wr.atomic.remote_addr += 3; }), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_REM_INV_REQ_ERR) << "misaligned";
}

/// One bad request on a fresh pair: its status, and both ends are in ERR afterwards.
struct BadCase {
  const char* name;
  int status;
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  int mr_access = kAll;
  int qp_access = kAll;
  int local_access = kAll;
  std::uint8_t peer_reads = 16;
  std::uint32_t length = 300;
  int rkey_change = 0, lkey_change = 0;
  std::int64_t remote_offset = 0, local_offset = 0;
};

class BadRequest : public testing::TestWithParam<BadCase> {};

TEST_P(BadRequest, EndsWithItsStatusAndInError) {
  const BadCase& c = GetParam();
  Options left;
  Options right;
  left.mr_access = c.local_access;
  right.mr_access = c.mr_access;
  right.qp_access = c.qp_access;
  right.peer_reads = c.peer_reads;
  Pair p(left, right);
  ASSERT_EQ(p.a.post(c.opcode, c.length, p.b.address(), [&](ibv_send_wr& w) {
              w.wr.rdma.rkey += static_cast<std::uint32_t>(c.rkey_change);
              w.wr.rdma.remote_addr += static_cast<std::uint64_t>(c.remote_offset);
              w.sg_list[0].lkey += static_cast<std::uint32_t>(c.lkey_change);
              w.sg_list[0].addr += static_cast<std::uint64_t>(c.local_offset);
            }), 0);
  const auto wc = p.a.next();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->status, c.status) << ibv_wc_status_str(wc->status);
  EXPECT_EQ(wc->wr_id, 7001u);
  EXPECT_EQ(p.a.state(), IBV_QPS_ERR);
  ASSERT_EQ(p.a.post(c.opcode, c.length, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_WR_FLUSH_ERR);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRequest,
    testing::Values(
        BadCase{.name = "WrongRkey", .status = 10, .rkey_change = 1},
        BadCase{.name = "UnknownRkeyIndex", .status = 10, .rkey_change = 77 << 8},
        BadCase{.name = "BeyondTheRegion", .status = 10, .remote_offset = 3 * 4096 - 299},
        BadCase{.name = "BeforeTheRegion", .status = 10, .remote_offset = -1},
        BadCase{.name = "AddressWrapsAround", .status = 10, .remote_offset = -(std::int64_t{1} << 62)},
        BadCase{.name = "RegionNotWritable", .status = 10, .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ},
        BadCase{.name = "RegionNotReadable", .status = 10, .opcode = IBV_WR_RDMA_READ,
                .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
        BadCase{.name = "QueuePairNotWritable", .status = 9, .qp_access = IBV_ACCESS_REMOTE_READ},
        BadCase{.name = "QueuePairNotReadable", .status = 9, .opcode = IBV_WR_RDMA_READ, .qp_access = IBV_ACCESS_REMOTE_WRITE},
        BadCase{.name = "PeerTakesNoReads", .status = 9, .opcode = IBV_WR_RDMA_READ, .peer_reads = 0},
        BadCase{.name = "WrongLkey", .status = 4, .lkey_change = 1},
        BadCase{.name = "LocalBeyondTheRegion", .status = 4, .local_offset = 3 * 4096 - 299},
        BadCase{.name = "ReadIntoReadOnlyMemory", .status = 4, .opcode = IBV_WR_RDMA_READ, .local_access = 0}),
    [](const auto& bad) { return bad.param.name; });

TEST(Status, StaleKeyIsRefused) {
  Pair p;
  const Address old = p.b.address();
  ASSERT_EQ(ibv_dereg_mr(p.b.mr), 0);
  p.b.mr = ibv_reg_mr(p.b.pd, p.b.buffer, p.b.options.bytes, kAll);
  ASSERT_NE(p.b.mr->rkey, old.rkey);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 17, old), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_REM_ACCESS_ERR);
}

TEST(Status, TooSmallReceiveFailsBothEnds) {
  Pair p;
  ASSERT_EQ(p.b.post_receive(299), 0);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 300, {}), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(p.b.next_status(), IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(p.b.state(), IBV_QPS_ERR);
}

TEST(Status, NoReceiveEndsAfterTheRnrRetries) {
  Options o;
  o.rnr_retry = 2;
  o.min_rnr_timer = 16;  // 2.56 ms (verbs-facts 4.2), so two of them are 5.12 ms
  Pair p(o, o);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 9, {}), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(5120));
}

TEST(Status, LateReceiveIsStillInTime) {
  Options o;
  o.rnr_retry = 7;  // for ever
  Pair p(o, o);
  p.a.fill(3);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 900, {}), 0);
  EXPECT_EQ(p.a.next_status(std::chrono::milliseconds(20)), -1);
  ASSERT_EQ(p.b.post_receive(900), 0);
  EXPECT_EQ(p.b.next_status(), IBV_WC_SUCCESS) << "the device retries without the sender's help";
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.b.first_difference(3, 0, 900, 0), -1);
}

TEST(Status, PeerInErrorEndsAfterTheRetries) {
  Options o;
  o.timeout = 9;  // 4.096 µs · 2^9 = 2.097 ms; with retry_cnt 1 two tries, 4.19 ms
  Pair p(o, o);
  ASSERT_EQ(p.b.to_error(), 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 9, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(4190));
}

TEST(Status, PeerWithAnotherGidIsNotReached) {
  Endpoint a;
  Endpoint b;
  b.connect(a.qp->qp_num);
  ASSERT_EQ(a.to_init(), 0);
  ibv_qp_attr attr = a.rtr_attributes(b.qp->qp_num);
  attr.ah_attr.grh.dgid.raw[15] = 9;
  ASSERT_EQ(ibv_modify_qp(a.qp, &attr, kRtrMask), 0);
  ASSERT_EQ(a.to_rts(), 0);
  ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 9, b.address()), 0);
  EXPECT_EQ(a.next_status(), IBV_WC_RETRY_EXC_ERR);
}

TEST(Status, LargerMtuThanThePeersIsNotAnswered) {
  Options big;
  big.mtu = IBV_MTU_2048;
  Pair p(big, {});
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 1024, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS) << "fits into one packet of the peer's size";
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 1025, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_RETRY_EXC_ERR);
}

}  // namespace simtest
