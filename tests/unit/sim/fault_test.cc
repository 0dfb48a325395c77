// The fault script. It is read when a device is opened, so each test sets it and opens its own.
#include <poll.h>

#include <cstdlib>

#include "pair.h"

namespace simtest {

class Fault : public testing::Test {
 protected:
  void script(const char* text) { setenv("RAILGAUGE_SIM_FAULTS", text, 1); }
  void TearDown() override { unsetenv("RAILGAUGE_SIM_FAULTS"); }
};

TEST_F(Fault, GivesTheStatusAtTheMessage) {
  script("message 3 status 12");
  Pair p;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
    ASSERT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  }
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(p.a.state(), IBV_QPS_ERR);
}

TEST_F(Fault, LeavesACompletionOut) {
  script("message 2 stuck");
  Pair p;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(p.a.next_status(std::chrono::milliseconds(30)), -1) << "neither the stuck one nor those behind it";
  ASSERT_EQ(p.a.to_error(), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(p.a.next_status(), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Fault, FlipsTheByte) {
  script("message 1 flip byte 17");
  Pair p;
  p.a.fill(12);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 500, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS) << "nobody notices but who verifies";
  EXPECT_EQ(p.b.first_difference(12, 0, 500, 0), 17);
  EXPECT_EQ(p.b.first_difference(12, 18, 482, 18), -1);
  EXPECT_EQ(p.a.first_difference(12, 0, 500, 0), -1) << "the source stays";
}

TEST_F(Fault, DropsTheDataButCompletes) {
  script("message 2..3 drop; message 5.. drop");
  Pair p;
  p.a.fill(12);
  for (std::size_t i = 0; i < 6; ++i) {
    p.b.fill(40);
    ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 500, p.b.address()), 0);
    EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
    const bool moved = i == 0 || i == 3;
    EXPECT_EQ(p.b.first_difference(moved ? 12 : 40, 0, 500, 0), -1) << "message " << i + 1;
  }
}

TEST_F(Fault, TearsTheDataOfEveryOperation) {
  script("message 1 torn at byte 300; message 2 torn at byte 300; message 3 torn at byte 300");
  Pair p;
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ}) {
    const bool read = opcode == IBV_WR_RDMA_READ;
    p.a.fill(12);
    p.b.fill(40);
    if (opcode == IBV_WR_SEND) { ASSERT_EQ(p.b.post_receive(500), 0); }
    ASSERT_EQ(p.a.post(opcode, 500, p.b.address()), 0);
    EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
    auto& sink = read ? p.a : p.b;
    EXPECT_EQ(sink.first_difference(read ? 40 : 12, 0, 300, 0), -1) << opcode;
    EXPECT_EQ(sink.first_difference(read ? 12 : 40, 300, 200, 300), -1) << opcode;
  }
}

TEST_F(Fault, SaysOfAReceiveWhatIsNotTrue) {
  script("message 1 short; message 2 unseen");
  Pair p;
  for (std::uint64_t id : {71U, 72U, 73U}) { ASSERT_EQ(p.b.post_receive(500, id), 0); }
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(p.a.post(IBV_WR_SEND, 500, p.b.address()), 0);
    EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS);
  }
  for (const auto& [id, bytes] : {std::pair(71U, 499U), std::pair(73U, 500U)}) {
    const auto wc = p.b.next();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, id);
    EXPECT_EQ(wc->byte_len, bytes);
  }
}

TEST_F(Fault, TakesThePortDown) {
  script("after 30ms port down; after 60ms port up");
  Options o;
  o.timeout = 0;  // never gives up
  Pair p(o, o);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(p.a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(p.a.context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  ASSERT_EQ(p.a.post(IBV_WR_RDMA_WRITE, 8, p.b.address()), 0);
  EXPECT_EQ(p.a.next_status(), IBV_WC_SUCCESS) << "goes on once both ports are up";
  ASSERT_EQ(ibv_get_async_event(p.a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ACTIVE);
  ibv_ack_async_event(&event);
}

TEST_F(Fault, RaisesAnEvent) {
  script("after 0.02s event GID_CHANGE");
  Endpoint e;
  pollfd readable{e.context->async_fd, POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 2000), 1);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(e.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_GID_CHANGE);
  ibv_ack_async_event(&event);
}

TEST_F(Fault, RefusesCalls) {
  script("fail open errno 13");
  ibv_device** list = ibv_get_device_list(nullptr);
  EXPECT_EQ(ibv_open_device(list[0]), nullptr);
  EXPECT_EQ(errno, EACCES);
  script("fail reg_mr errno 12");
  ibv_context* context = ibv_open_device(list[0]);
  ASSERT_NE(context, nullptr);
  ibv_pd* pd = ibv_alloc_pd(context);
  EXPECT_EQ(ibv_reg_mr(pd, list, 8, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  ibv_free_device_list(list);
}

TEST_F(Fault, RefusesAScriptItDoesNotUnderstand) {
  for (const char* bad : {"message 3 explode", "message 3..2 drop", "message 0 drop", "message 3.. torn at 5", "message 4x stuck"}) {
    script(bad);
    EXPECT_EXIT(Endpoint(), testing::ExitedWithCode(2), std::string("cannot understand \"") + bad);
  }
}

}  // namespace simtest
