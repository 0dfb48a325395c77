// A VerbsQueue over a provider that answers otherwise than the manual says: the stand-in device with calls of its own put in.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "verbs/check.h"
#include "verbs/device.h"
#include "verbs/verbs_queue.h"

namespace railgauge::verbs {
namespace {

int accept_but_set_bad_wr(ibv_qp*, ibv_send_wr* first, ibv_send_wr** bad) {
  *bad = first;
  return 0;
}

int refuse_second_by_minus_errno(ibv_qp*, ibv_send_wr* first, ibv_send_wr** bad) {
  *bad = first->next;
  return -ENOMEM;
}

int refuse_without_naming(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) {
  errno = EAGAIN;
  return -1;
}

int refuse_to_arm(ibv_cq*, int) { return -EOPNOTSUPP; }

class ForeignProvider : public testing::Test {
 protected:
  ForeignProvider()
      : device_(Device::open(describe_devices().front().name)),
        pd_(check_pointer(ibv_alloc_pd(device_.context()), "ibv_alloc_pd")),
        queue_({.device = &device_, .pd = pd_.get(), .lanes = 1, .send_requests = 4, .recv_requests = 4, .events = true}) {
    queue_.prepare(0, std::array<transport::WorkRequest, 4>{});
    queue_.prepare_recv(0, std::array<transport::RecvRequest, 4>{});
  }
  ibv_context_ops& calls() { return device_.context()->ops; }

  Device device_;
  PdHandle pd_;
  VerbsQueue queue_;
};

// ibv_post_send(3): bad_wr is told only of a failure.
TEST_F(ForeignProvider, SuccessIsSuccessWhateverStandsInBadWr) {
  calls().post_send = accept_but_set_bad_wr;
  const auto posted = queue_.post(0, 0, 3);
  EXPECT_EQ(posted.accepted, 3u);
  EXPECT_EQ(posted.error, 0);
}

TEST_F(ForeignProvider, ErrorsOfAPostArePositive) {
  calls().post_send = refuse_second_by_minus_errno;
  const auto posted = queue_.post(0, 0, 3);
  EXPECT_EQ(posted.accepted, 1u);
  EXPECT_EQ(posted.error, ENOMEM);
  calls().post_recv = refuse_without_naming;
  const auto received = queue_.post_recv(0, 1, 2);
  EXPECT_EQ(received.accepted, 0u);
  EXPECT_EQ(received.error, EAGAIN);
}

// work_queue.h: arm() gives 0 or −errno.
TEST_F(ForeignProvider, RefusalToArmIsNoSuccess) {
  EXPECT_EQ(queue_.arm(), 0);
  calls().req_notify_cq = refuse_to_arm;
  EXPECT_EQ(queue_.arm(), -EOPNOTSUPP);
}

}  // namespace
}  // namespace railgauge::verbs
