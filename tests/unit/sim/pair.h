/// Two connected queue pairs on the stand-in device, in plain verbs: what the tests here need and no more.
#pragma once
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace simtest {

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC;

/// Values a test may want other than the usual.
struct Options {
  unsigned send_depth = 16, receive_depth = 16, sges = 3, inline_bytes = 64;
  int cqe = 128;
  int mr_access = kAll;
  int qp_access = kAll;
  std::uint8_t timeout = 8;  // 4.096 µs · 2^8 = 1.05 ms a try
  std::uint8_t retry_cnt = 1, rnr_retry = 1, min_rnr_timer = 12, reads = 16, peer_reads = 16;
  bool signal_all = false, events = false;
  std::size_t bytes = 3 * 4096;
  ibv_mtu mtu = IBV_MTU_1024;
  ibv_qp_type type = IBV_QPT_RC;
  int device = 0;  // in the list
};

/// What an endpoint tells its peer.
struct Address {
  std::uint32_t qpn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
};

/// One end: a device, a queue pair and a buffer of whole pages.
class Endpoint {
 public:
  explicit Endpoint(const Options& o = {}) : options(o) {
    ibv_device** list = ibv_get_device_list(nullptr);
    context = ibv_open_device(list[o.device]);
    ibv_free_device_list(list);
    pd = ibv_alloc_pd(context);
    buffer = static_cast<unsigned char*>(
        mmap(nullptr, o.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mr = ibv_reg_mr(pd, buffer, o.bytes, o.mr_access);
    if (o.events) channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, o.cqe, this, channel, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {o.send_depth, o.receive_depth, o.sges, o.sges, o.inline_bytes};
    init.qp_type = o.type;
    init.sq_sig_all = o.signal_all ? 1 : 0;
    qp = ibv_create_qp(pd, &init);
  }
  ~Endpoint() {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    if (channel != nullptr) { EXPECT_EQ(ibv_destroy_comp_channel(channel), 0); }
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
    munmap(buffer, options.bytes);
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Address address() const { return {qp->qp_num, mr->rkey, reinterpret_cast<std::uint64_t>(buffer)}; }

  int to_init() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = static_cast<unsigned>(options.qp_access);
    return ibv_modify_qp(qp, &a, kInitMask);
  }
  ibv_qp_attr rtr_attributes(std::uint32_t peer) const {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = options.mtu;
    a.dest_qp_num = peer;
    a.rq_psn = 0x123456;
    a.max_dest_rd_atomic = options.peer_reads;
    a.min_rnr_timer = options.min_rnr_timer;
    a.ah_attr.is_global = 1;
    a.ah_attr.port_num = 1;
    a.ah_attr.grh.sgid_index = 1;
    a.ah_attr.grh.hop_limit = 64;
    EXPECT_EQ(ibv_query_gid(context, 1, 1, &a.ah_attr.grh.dgid), 0);
    return a;
  }
  int to_rtr(std::uint32_t peer) {
    ibv_qp_attr a = rtr_attributes(peer);
    return ibv_modify_qp(qp, &a, kRtrMask);
  }
  int to_rts() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = options.timeout;
    a.retry_cnt = options.retry_cnt;
    a.rnr_retry = options.rnr_retry;
    a.max_rd_atomic = options.reads;
    return ibv_modify_qp(qp, &a, kRtsMask);
  }
  int to_error() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(qp, &a, IBV_QP_STATE);
  }
  void connect(std::uint32_t peer) {
    ASSERT_EQ(to_init(), 0);
    ASSERT_EQ(to_rtr(peer), 0);
    ASSERT_EQ(to_rts(), 0);
  }
  ibv_qp_state state() {
    ibv_qp_attr a{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
    return a.qp_state;
  }

  /// A request for `length` bytes from `offset` of the buffer; `change` may adjust it.
  template <class Change>
  int post(ibv_wr_opcode opcode, std::uint32_t length, const Address& to, Change change, std::size_t offset = 0) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(buffer) + offset, length, mr->lkey};
    ibv_send_wr wr{};
    wr.wr_id = 7001;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic.remote_addr = to.address;
      wr.wr.atomic.rkey = to.rkey;
    } else {
      wr.wr.rdma.remote_addr = to.address;
      wr.wr.rdma.rkey = to.rkey;
    }
    change(wr);
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  int post(ibv_wr_opcode opcode, std::uint32_t length, const Address& to) {
    return post(opcode, length, to, [](ibv_send_wr&) {});
  }
  int post_receive(std::uint32_t length, std::uint64_t id = 9001, std::size_t offset = 0) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(buffer) + offset, length, mr->lkey};
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp, &wr, &bad);
  }

  /// The next completion, or nothing after `limit`.
  std::optional<ibv_wc> next(std::chrono::milliseconds limit = std::chrono::seconds(5)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    ibv_wc wc{};
    do {
      if (ibv_poll_cq(cq, 1, &wc) == 1) return wc;
    } while (std::chrono::steady_clock::now() < end);
    return std::nullopt;
  }
  /// Its status, −1 when none came.
  int next_status(std::chrono::milliseconds limit = std::chrono::seconds(5)) {
    const auto wc = next(limit);
    return wc ? static_cast<int>(wc->status) : -1;
  }

  void fill(std::uint32_t seed) {
    for (std::size_t i = 0; i < options.bytes; ++i) buffer[i] = pattern(seed, i);
  }
  static unsigned char pattern(std::uint32_t seed, std::size_t i) {
    return static_cast<unsigned char>((seed * 2654435761u + i * 40503u) >> 7);
  }
  /// First byte of [offset, +length) that is not the pattern's (taken from `from`), or −1.
  long first_difference(std::uint32_t seed, std::size_t offset, std::size_t length, std::size_t from) const {
    for (std::size_t i = 0; i < length; ++i) {
      if (buffer[offset + i] != pattern(seed, from + i)) return static_cast<long>(i);
    }
    return -1;
  }

  Options options;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  unsigned char* buffer = nullptr;
};

/// Two ends in this process, connected.
struct Pair {
  explicit Pair(const Options& left = {}, const Options& right = {}) : a(left), b(right) {
    a.connect(b.qp->qp_num);
    b.connect(a.qp->qp_num);
  }
  Endpoint a, b;
};

}  // namespace simtest
