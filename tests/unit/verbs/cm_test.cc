// The accepting side of rdma_cm against a scripted librdmacm: strangers connect too, since the port is open to all.
#include "verbs/cm.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <deque>

#include "base/error.h"
#include "verbs/cm_library.h"

namespace railgauge::verbs {
namespace {

/// A connection request as the kernel hands it on; the peer's private data comes padded to 56 bytes (rdma_connect(3)).
struct Request {
  rdma_cm_id id{};
  std::array<std::uint8_t, 56> private_data{};
  std::uint8_t length = 56;
  rdma_cm_event event{};
};

/// What the library under the test's control was asked.
struct Script {
  rdma_event_channel channel{};
  rdma_cm_id listener{};
  std::deque<Request> requests;
  std::deque<rdma_cm_event*> pending;
  std::deque<rdma_cm_event> established;
  std::vector<rdma_cm_id*> rejected;
  std::vector<std::pair<rdma_cm_id*, std::uint32_t>> accepted;   ///< with the number of the QP
};
Script* script = nullptr;

CmLibrary scripted_library() {
  CmLibrary l;
  l.create_event_channel = [] { return &script->channel; };
  l.destroy_event_channel = [](rdma_event_channel*) {};
  l.create_id = [](rdma_event_channel*, rdma_cm_id** id, void*, rdma_port_space) { return *id = &script->listener, 0; };
  l.destroy_id = [](rdma_cm_id*) { return 0; };
  l.bind_addr = [](rdma_cm_id*, sockaddr*) { return 0; };
  l.listen = [](rdma_cm_id*, int) { return 0; };
  l.get_src_port = [](rdma_cm_id*) { return htons(7471); };
  l.disconnect = [](rdma_cm_id*) { return 0; };
  l.ack_cm_event = [](rdma_cm_event*) { return 0; };
  l.event_str = [](rdma_cm_event_type) { return "event"; };
  l.reject = [](rdma_cm_id* id, const void*, std::uint8_t) { return script->rejected.push_back(id), 0; };
  l.get_cm_event = [](rdma_event_channel*, rdma_cm_event** event) {
    if (script->pending.empty()) return errno = EAGAIN, -1;
    *event = script->pending.front();
    script->pending.pop_front();
    return 0;
  };
  l.accept = [](rdma_cm_id* id, rdma_conn_param* p) {
    script->accepted.emplace_back(id, p->qp_num);
    script->established.push_back({});
    script->established.back().id = id;
    script->established.back().event = RDMA_CM_EVENT_ESTABLISHED;
    script->pending.push_back(&script->established.back());
    return 0;
  };
  return l;
}

}  // namespace

// In place of the library's own, which would load librdmacm.
const CmLibrary& cm_library() {
  static const CmLibrary library = scripted_library();
  return library;
}

}  // namespace railgauge::verbs

// The device node of rdma_cm, which a machine without RDMA has not.
extern "C" int access(const char*, int) noexcept { return 0; }

namespace railgauge::verbs {
namespace {

class CmAccept : public testing::Test {
 protected:
  CmAccept() {
    script = &script_;
    script_.channel.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);  // always readable
    device_.transport_type = IBV_TRANSPORT_IWARP;                 // its connection manager changes the QP's state itself
    context_.device = &device_;
    for (std::uint32_t i = 0; i < 2; ++i) {
      qps_[i].context = &context_;
      qps_[i].qp_num = 0x40 + i;
    }
  }
  ~CmAccept() override { ::close(script_.channel.fd); }

  /// Bytes by hand: mark "RGC" and version 2, index in network order, nonce.
  rdma_cm_id* ask(std::uint8_t index, const CmNonce& nonce, std::uint8_t length = 56) {
    Request& r = script_.requests.emplace_back();
    const std::array<std::uint8_t, 8> head = {'R', 'G', 'C', 2, 0, 0, 0, index};
    std::memcpy(r.private_data.data(), head.data(), head.size());
    std::memcpy(r.private_data.data() + head.size(), nonce.data(), nonce.size());
    r.event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
    r.event.id = &r.id;
    r.event.param.conn.private_data = r.private_data.data();
    r.event.param.conn.private_data_len = length;
    script_.pending.push_back(&r.event);
    return &r.id;
  }
  void accept(CmConnections& connections) {
    connections.accept({}, {&qps_[0], &qps_[1]}, {.deadline = Deadline::after(std::chrono::seconds(5)), .cancel_fd = -1});
  }

  Script script_;
  ibv_device device_{};
  ibv_context context_{};
  std::array<ibv_qp, 2> qps_{};
};

TEST_F(CmAccept, StrangersAreRejectedAndThePeerStillConnects) {
  auto connections = CmConnections::listen("127.0.0.1");
  CmNonce other = connections.nonce();
  other[15] ^= 1;
  const std::vector<rdma_cm_id*> strangers = {
      ask(0, other),                          // another measurement's client
      ask(0, connections.nonce(), 23),        // cut off
      ask(2, connections.nonce()),            // no such QP
  };
  rdma_cm_id* second = ask(1, connections.nonce());
  rdma_cm_id* again = ask(1, connections.nonce());
  rdma_cm_id* first = ask(0, connections.nonce());
  accept(connections);
  EXPECT_EQ(script_.rejected, (std::vector<rdma_cm_id*>{strangers[0], strangers[1], strangers[2], again}));
  EXPECT_EQ(script_.accepted, (std::vector<std::pair<rdma_cm_id*, std::uint32_t>>{{second, 0x41}, {first, 0x40}}));
}

TEST_F(CmAccept, EachListenerHasANonceOfItsOwn) {
  EXPECT_NE(CmConnections::listen("127.0.0.1").nonce(), CmConnections::listen("127.0.0.1").nonce());
}

}  // namespace
}  // namespace railgauge::verbs
