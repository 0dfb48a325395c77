// Queues: depth, signalling, order, flush, inline, overflow, events, the ibv_wr_* calls.
#include <poll.h>

#include <atomic>
#include <thread>

#include "pair.h"

namespace simtest {

TEST(SendQueue, IsFullUntilASignalledCompletionIsPolled) {
  Options o;
  o.send_depth = 5;
  Pair p(o, {});
  const auto unsignalled = [](ibv_send_wr& w) { w.send_flags = 0; };
  for (int i = 0; i < 4; ++i) ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address(), unsignalled), 0);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address()), 0);
  EXPECT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address()), ENOMEM);
  ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.a.next(std::chrono::milliseconds(1)), std::nullopt) << "one signalled request, one completion";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address(), unsignalled), 0) << i;
  EXPECT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address()), ENOMEM) << "nothing will ever free these five";
}

TEST(SendQueue, SignalsEverythingWhenCreatedSo) {
  Options o;
  o.signal_all = true;
  Pair p(o, {});
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 3, p.b.address(), [](ibv_send_wr& w) { w.send_flags = 0; }), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
}

TEST(SendQueue, StopsAtTheFirstRefusedRequestOfAList) {
  Options o;
  o.send_depth = 2;
  Pair p(o, {});
  ibv_sge sge{reinterpret_cast<std::uint64_t>(p.a.buffer), 6, p.a.mr->lkey};
  ibv_send_wr wrs[3]{};
  for (int i = 0; i < 3; ++i) {
    wrs[i].wr_id = static_cast<std::uint64_t>(50 + i);
    wrs[i].sg_list = &sge;
    wrs[i].num_sge = 1;
    wrs[i].opcode = IBV_WR_RDMA_WRITE;
    wrs[i].send_flags = IBV_SEND_SIGNALED;
    wrs[i].wr.rdma = {p.b.address().address, p.b.address().rkey};
    wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(p.a.qp, wrs, &bad), ENOMEM);
  EXPECT_EQ(bad, &wrs[2]);
  EXPECT_EQ(p.a.next()->wr_id, 50u);
  EXPECT_EQ(p.a.next()->wr_id, 51u);
}

TEST(SendQueue, TakesInlineDataWithoutAKeyAtPostTime) {
  Pair p;
  p.a.fill(8);
  const auto inline_data = [](ibv_send_wr& w) {
    w.send_flags |= IBV_SEND_INLINE;
    w.sg_list[0].lkey = 0;
  };
  EXPECT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 65, p.b.address(), inline_data), EINVAL) << "created with 64";
  EXPECT_EQ(p.a.post(IBV_WR_RDMA_READ, 8, p.b.address(), inline_data), EINVAL);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 64, {}, inline_data), 0);  // no receive yet: it has to wait
  std::memset(p.a.buffer, 0, 64);
  ASSERT_EQ(p.b.post_receive(64), 0);
  ASSERT_EQ(p.b.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.b.first_difference(8, 0, 64, 0), -1);
}

TEST(SendQueue, RefusesTooManySges) {
  Pair p;
  ibv_sge sges[4]{};
  EXPECT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 4, p.b.address(), [&](ibv_send_wr& w) {
              w.sg_list = sges;
              w.num_sge = 4;
            }), EINVAL);
}

TEST(SendQueue, GathersAndScatters) {
  Pair p;
  p.a.fill(17);
  const auto base_a = reinterpret_cast<std::uint64_t>(p.a.buffer);
  const auto base_b = reinterpret_cast<std::uint64_t>(p.b.buffer);
  ibv_sge to[3] = {{base_b + 5, 30, p.b.mr->lkey}, {base_b + 100, 1, p.b.mr->lkey}, {base_b + 200, 900, p.b.mr->lkey}};
  ibv_recv_wr receive{};
  receive.sg_list = to;
  receive.num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(p.b.qp, &receive, &bad), 0);
  ibv_sge from[2] = {{base_a, 20, p.a.mr->lkey}, {base_a + 20, 300, p.a.mr->lkey}};
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 0, {}, [&](ibv_send_wr& w) {
              w.sg_list = from;
              w.num_sge = 2;
            }), 0);
  ASSERT_EQ(p.b.next()->byte_len, 320u);
  EXPECT_EQ(p.b.first_difference(17, 5, 30, 0), -1);
  EXPECT_EQ(p.b.first_difference(17, 100, 1, 30), -1);
  EXPECT_EQ(p.b.first_difference(17, 200, 289, 31), -1);
}

TEST(ReceiveQueue, HasADepth) {
  Options o;
  o.receive_depth = 3;
  Pair p({}, o);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(p.b.post_receive(8), 0);
  EXPECT_EQ(p.b.post_receive(8), ENOMEM);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}), 0);
  EXPECT_EQ(p.b.post_receive(8), ENOMEM) << "free only when its completion has been polled";
  ASSERT_EQ(p.b.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.b.post_receive(8), 0);
}

TEST(Error, FlushesBothQueuesInOrder) {
  Pair p;
  for (std::uint64_t id = 70; id < 73; ++id) ASSERT_EQ(p.a.post_receive(8, id), 0);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}, [](ibv_send_wr& w) { w.wr_id = 80; }), 0);  // waits: no receive at b
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}, [](ibv_send_wr& w) { w.wr_id = 81, w.send_flags = 0; }), 0);
  ASSERT_EQ(p.a.to_error(), 0);
  std::vector<std::uint64_t> receives;
  std::vector<std::uint64_t> sends;
  for (int i = 0; i < 5; ++i) {
    const auto wc = p.a.next();
    ASSERT_TRUE(wc) << i;
    EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
    (wc->wr_id < 80 ? receives : sends).push_back(wc->wr_id);
  }
  EXPECT_EQ(receives, (std::vector<std::uint64_t>{70, 71, 72}));
  EXPECT_EQ(sends, (std::vector<std::uint64_t>{80, 81})) << "unsignalled ones are flushed as well";
  ASSERT_EQ(p.a.post_receive(8, 90), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_WR_FLUSH_ERR) << "posted after the error";
}

TEST(Reset, MakesAQueuePairUsableAgain) {
  Pair p;
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address(), [](ibv_send_wr& w) { w.wr.rdma.rkey = 1; }), 0);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(p.a.qp, &a, IBV_QP_STATE), 0);
  ASSERT_EQ(ibv_modify_qp(p.b.qp, &a, IBV_QP_STATE), 0);
  EXPECT_EQ(p.a.next(std::chrono::milliseconds(1)), std::nullopt) << "its completions are gone";
  p.a.connect(p.b.qp->qp_num);
  p.b.connect(p.a.qp->qp_num);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
}

TEST(CompletionQueue, OverflowRaisesAnEvent) {
  Options o;
  o.cqe = 3;
  Pair p(o, {});
  for (int i = 0; i < 4; ++i) ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
  ibv_async_event event{};
  pollfd readable{p.a.context->async_fd, POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 2000), 1);
  ASSERT_EQ(ibv_get_async_event(p.a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, p.a.cq);
  ibv_ack_async_event(&event);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
}

TEST(AsyncEvent, TellsTheResponderOfARefusedAccess) {
  Pair p;
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address(), [](ibv_send_wr& w) { w.wr.rdma.rkey = 1; }), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(p.b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, p.b.qp);
  ibv_ack_async_event(&event);
}

TEST(Channel, WakesOncePerArming) {
  Options o;
  o.events = true;
  Pair p({}, o);
  ASSERT_EQ(ibv_req_notify_cq(p.b.cq, 0), 0);
  pollfd readable{p.b.channel->fd, POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 5), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(p.b.post_receive(8), 0);
    ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}), 0);
  }
  ASSERT_EQ(poll(&readable, 1, 2000), 1);
  ibv_cq* which = nullptr;
  void* user = nullptr;
  ASSERT_EQ(ibv_get_cq_event(p.b.channel, &which, &user), 0);
  EXPECT_EQ(which, p.b.cq);
  EXPECT_EQ(user, &p.b);
  EXPECT_EQ(poll(&readable, 1, 5), 0) << "two completions, one event";
  ibv_ack_cq_events(p.b.cq, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(p.b.channel), EBUSY);
}

TEST(Channel, ArmedForSolicitedOnlySleepsThroughTheOthers) {
  Options o;
  o.events = true;
  Pair p({}, o);
  ASSERT_EQ(ibv_req_notify_cq(p.b.cq, 1), 0);
  pollfd readable{p.b.channel->fd, POLLIN, 0};
  ASSERT_EQ(p.b.post_receive(8), 0);
  ASSERT_EQ(p.b.post_receive(8), 0);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}), 0);
  EXPECT_EQ(poll(&readable, 1, 5), 0);
  ASSERT_EQ(p.a.post(IBV_WR_SEND, 8, {}, [](ibv_send_wr& w) { w.send_flags |= IBV_SEND_SOLICITED; }), 0);
  EXPECT_EQ(poll(&readable, 1, 2000), 1);
}

TEST(Order, CompletionsComeInPostingOrderFromTwoThreads) {
  Options o;
  o.send_depth = 64;
  Pair p(o, o);
  Pair q(o, o);
  const auto run = [](Pair& pair) {
    std::uint64_t posted = 0;
    std::uint64_t seen = 0;
    while (seen < 20000) {
      while (posted - seen < 64 && pair.a.post(IBV_WR_RDMA_WRITE, 40, pair.b.address(), [&](ibv_send_wr& w) { w.wr_id = posted; }) == 0) ++posted;
      const auto wc = pair.a.next();
      if (!wc || wc->wr_id != seen) return seen;
      ++seen;
    }
    return seen;
  };
  std::atomic<std::uint64_t> other{0};
  std::thread thread([&] { other = run(q); });
  EXPECT_EQ(run(p), 20000u);
  thread.join();
  EXPECT_EQ(other, 20000u);
}

TEST(WrCalls, PostAListAsOne) {
  Pair p;
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = p.a.cq;
  init.cap = {4, 4, 1, 1, 16};
  init.qp_type = IBV_QPT_RC;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = p.a.pd;
  init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM;
  ASSERT_EQ(ibv_qp_to_qp_ex(p.a.qp), nullptr) << "a plain queue pair has none of the calls";
  ASSERT_EQ(ibv_destroy_qp(p.a.qp), 0);
  p.a.qp = ibv_create_qp_ex(p.a.context, &init);
  ASSERT_NE(p.a.qp, nullptr);
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(p.b.qp, &reset, IBV_QP_STATE), 0);
  p.a.connect(p.b.qp->qp_num);
  p.b.connect(p.a.qp->qp_num);
  ASSERT_EQ(p.b.post_receive(16, 9002, 512), 0);
  p.a.fill(23);
  ibv_qp_ex* x = ibv_qp_to_qp_ex(p.a.qp);
  ibv_wr_start(x);
  x->wr_id = 31;
  x->wr_flags = 0;
  ibv_wr_rdma_write(x, p.b.address().rkey, p.b.address().address + 9);
  ibv_wr_set_sge(x, p.a.mr->lkey, reinterpret_cast<std::uint64_t>(p.a.buffer), 200);
  x->wr_id = 32;
  x->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(x, 0x55);
  ibv_wr_set_inline_data(x, p.a.buffer + 300, 16);
  ASSERT_EQ(ibv_wr_complete(x), 0);
  EXPECT_EQ(p.a.next()->wr_id, 32u);
  EXPECT_EQ(p.b.next()->imm_data, 0x55u);
  EXPECT_EQ(p.b.first_difference(23, 9, 200, 0), -1);
  EXPECT_EQ(p.b.first_difference(23, 512, 16, 300), -1);
}

TEST(Datagram, CarriesTheRouteHeaderAndDropsWhatNobodyWaitsFor) {
  Options o;
  o.type = IBV_QPT_UD;
  Endpoint a(o);
  Endpoint b(o);
  for (Endpoint* e : {&a, &b}) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = 0x1111;
    ASSERT_EQ(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    attr.qp_state = IBV_QPS_RTR;
    ASSERT_EQ(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  ibv_ah_attr address = a.rtr_attributes(0).ah_attr;
  ibv_ah* ah = ibv_create_ah(a.pd, &address);
  ASSERT_NE(ah, nullptr);
  const auto to_b = [&](ibv_send_wr& w) {
    w.wr.ud.ah = ah;
    w.wr.ud.remote_qpn = b.qp->qp_num;
    w.wr.ud.remote_qkey = 0x1111;
  };
  a.fill(6);
  ASSERT_EQ(a.post(IBV_WR_SEND, 100, {}, to_b), 0);
  EXPECT_EQ(a.next_status(), IBV_WC_SUCCESS) << "no receive: lost, and the sender does not know";
  EXPECT_EQ(b.next(std::chrono::milliseconds(1)), std::nullopt);
  ASSERT_EQ(b.post_receive(200), 0);
  ASSERT_EQ(a.post(IBV_WR_SEND, 100, {}, to_b), 0);
  const auto wc = b.next();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->byte_len, 140u);
  EXPECT_NE(wc->wc_flags & IBV_WC_GRH, 0u);
  EXPECT_EQ(b.first_difference(6, 40, 100, 0), -1);
  EXPECT_EQ(a.post(IBV_WR_RDMA_WRITE, 100, {}, to_b), EINVAL);
  ibv_destroy_ah(ah);
}

}  // namespace simtest
