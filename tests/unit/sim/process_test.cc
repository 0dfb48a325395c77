// Two processes. Each case forks before it opens a device, and passes addresses through a socket pair.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sim/child.h"

namespace simtest {

TEST(TwoProcesses, WriteReadAndSend) {
  Child child([](int socket) {
    Endpoint e;
    e.fill(100);
    meet(e, socket, 1);
    EXPECT_EQ(e.next_status(), IBV_WC_SUCCESS);  // the message that follows the write
    EXPECT_EQ(e.first_difference(200, 13, 3000, 50), -1);
    EXPECT_EQ(e.first_difference(200, 4096, 777, 0), -1);
    give(socket, 'd');
    take<char>(socket);
    return true;
  });
  Endpoint e;
  const Address peer = meet(e, child.socket);
  ASSERT_EQ(e.post(IBV_WR_RDMA_READ, 8000, peer, [](ibv_send_wr& w) { w.wr.rdma.remote_addr += 4; }, 1), 0);
  ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(e.first_difference(100, 1, 8000, 4), -1);
  e.fill(200);
  ASSERT_EQ(e.post(IBV_WR_RDMA_WRITE, 3000, peer, [](ibv_send_wr& w) { w.wr.rdma.remote_addr += 13; }, 50), 0);
  ASSERT_EQ(e.post(IBV_WR_SEND, 777, peer), 0);
  ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
  ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
  take<char>(child.socket);
  give(child.socket, 'q');
  EXPECT_TRUE(child.succeeded());
}

/// What hardware gives for aligned messages: whoever sees the last byte sees the ones before it.
TEST(TwoProcesses, TheLastByteBecomesVisibleLast) {
  constexpr int kRounds = 3000;
  constexpr std::size_t kBytes = 1000;
  Child child([](int socket) {
    Endpoint e;
    const Address peer = meet(e, socket);
    for (int round = 1; round <= kRounds; ++round) {
      const auto mark = static_cast<unsigned char>(round % 255 + 1);
      while (__atomic_load_n(e.buffer + kBytes - 1, __ATOMIC_ACQUIRE) != mark) sched_yield();
      for (std::size_t i = 0; i < kBytes; ++i) EXPECT_EQ(e.buffer[i], mark) << round;
      EXPECT_EQ(e.post(IBV_WR_RDMA_WRITE, kBytes, peer), 0);
      EXPECT_EQ(e.next_status(), IBV_WC_SUCCESS);
    }
    take<char>(socket);
    return true;
  });
  Endpoint e;
  const Address peer = meet(e, child.socket);
  for (int round = 1; round <= kRounds; ++round) {
    const auto mark = static_cast<unsigned char>(round % 255 + 1);
    std::memset(e.buffer + 4096, mark, kBytes);
    ASSERT_EQ(e.post(IBV_WR_RDMA_WRITE, kBytes, peer, [](ibv_send_wr&) {}, 4096), 0);
    ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
    while (__atomic_load_n(e.buffer + kBytes - 1, __ATOMIC_ACQUIRE) != mark) sched_yield();
  }
  give(child.socket, 'q');
  EXPECT_TRUE(child.succeeded());
}

TEST(TwoProcesses, KilledPeerEndsInRetryExceeded) {
  Child child([](int socket) {
    Endpoint e;
    meet(e, socket);
    pause();
    return true;
  });
  Options o;
  o.timeout = 12;  // 16.8 ms a try (verbs-facts 4.2), with retry_cnt 3 four tries, 67 ms
  o.retry_cnt = 3;
  Endpoint e(o);
  const Address peer = meet(e, child.socket);
  ASSERT_EQ(e.post(IBV_WR_RDMA_WRITE, 64, peer), 0);
  ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
  ASSERT_EQ(kill(child.pid, SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid), &ended, WEXITED | WNOWAIT), 0);
  usleep(2000);  // the device asks for the peer at most every millisecond
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(e.post(IBV_WR_RDMA_WRITE, 64, peer), 0);
  EXPECT_EQ(e.next_status(), IBV_WC_RETRY_EXC_ERR);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(67));
  EXPECT_LT(waited, std::chrono::seconds(3));
  EXPECT_FALSE(child.succeeded());
}

TEST(TwoProcesses, MemoryOfAThreadedProcessWithoutWholePagesIsReached) {
  Child child([](int socket) {
    std::vector<char> odd(3 * 4096 + 100);
    Endpoint e;
    std::uint64_t helper_ran = 0;
    pthread_t thread;
    pthread_create(&thread, nullptr, [](void* ran) -> void* { *static_cast<std::uint64_t*>(ran) = 1; pause(); return nullptr; }, &helper_ran);
    char* start = odd.data() + 37;
    ibv_mr* mr = ibv_reg_mr(e.pd, start, 3 * 4096, kAll);
    EXPECT_NE(mr, nullptr);
    give(socket, Address{e.qp->qp_num, mr->rkey, reinterpret_cast<std::uint64_t>(start)});
    e.connect(take<Address>(socket).qpn);
    give(socket, 'r');
    take<char>(socket);
    for (std::size_t i = 0; i < 3 * 4096; ++i) EXPECT_EQ(static_cast<unsigned char>(start[i]), Endpoint::pattern(9, i));
    EXPECT_EQ(odd[36], 0);
    EXPECT_EQ(odd[37 + 3 * 4096], 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    for (std::size_t i = 0; i < 3 * 4096; ++i) EXPECT_EQ(static_cast<unsigned char>(start[i]), Endpoint::pattern(9, i));
    return true;
  });
  Endpoint e;
  e.fill(9);
  give(child.socket, e.address());
  const auto peer = take<Address>(child.socket);
  e.connect(peer.qpn);
  take<char>(child.socket);
  ASSERT_EQ(e.post(IBV_WR_RDMA_WRITE, 3 * 4096, peer), 0);
  ASSERT_EQ(e.next_status(), IBV_WC_SUCCESS);
  give(child.socket, 'q');
  EXPECT_TRUE(child.succeeded());
}

}  // namespace simtest
