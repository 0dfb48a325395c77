#include "verbs/cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <optional>

#include "base/log.h"
#include "base/secret.h"
#include "verbs/check.h"
#include "verbs/cm_library.h"
#include "verbs/device.h"
#include "verbs/qp.h"

namespace railgauge::verbs {
namespace {

/// What the connecting side says with each connection. The peer sees it padded to 56 bytes, so it carries its own mark.
struct PrivateData {
  char mark[4] = {'R', 'G', 'C', 2};
  std::uint32_t index = 0;              ///< of the QP, network order
  CmNonce nonce{};
};
static_assert(sizeof(PrivateData) == 24);

/// Which QP a request asks for, if it comes from this measurement's peer.
std::optional<std::uint32_t> index_of(const rdma_conn_param& request, const CmNonce& nonce) {
  PrivateData found;
  const PrivateData wanted;
  if (request.private_data == nullptr || request.private_data_len < sizeof found) return std::nullopt;
  std::memcpy(&found, request.private_data, sizeof found);
  if (std::memcmp(found.mark, wanted.mark, sizeof wanted.mark) != 0 || !equal_constant_time(found.nonce, nonce)) return std::nullopt;
  return ntohl(found.index);
}

struct AddressList {
  explicit AddressList(const std::string& address, int port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (error != 0) throw Error(ErrorKind::usage, fmt::format("address {}: {}", printable(address), gai_strerror(error)));
  }
  ~AddressList() { freeaddrinfo(list); }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  addrinfo* list = nullptr;
};

/// An event, acknowledged when it goes: rdma_destroy_id waits for that.
struct AckEvent {
  void operator()(rdma_cm_event* event) const noexcept { cm_library().ack_cm_event(event); }
};
using Event = std::unique_ptr<rdma_cm_event, AckEvent>;

/// The next event. The channel is non-blocking; the deadline is this side's own, since the kernel may stay silent for over 90 s.
Event next_event(rdma_event_channel* channel, const CmWait& wait, const char* waiting_for) {
  // poll(2) passes over a negative descriptor.
  pollfd fds[] = {{.fd = channel->fd, .events = POLLIN, .revents = 0}, {.fd = wait.cancel_fd, .events = POLLIN, .revents = 0}};
  int n = 0;
  do {
    n = poll(fds, std::size(fds), wait.deadline.poll_timeout_ms());
    if (n < 0 && errno != EINTR) throw system_error("poll of the connection manager's channel", errno);
  } while (n <= 0 && !wait.deadline.passed());
  if (n > 0 && fds[0].revents == 0) throw Error(ErrorKind::peer, fmt::format("connection manager: called off while waiting for {}", waiting_for), ECANCELED);
  if (n <= 0) {
    throw Error(ErrorKind::timeout, fmt::format("connection manager: no {} in time: is the peer's address on its RDMA interface?", waiting_for));
  }
  rdma_cm_event* event = nullptr;
  check_negative(cm_library().get_cm_event(channel, &event), "rdma_get_cm_event");
  return Event(event);
}

/// Reject reasons of ib_cm.h (Linux 6.1) that a user can do something about.
std::string reason_of(const rdma_cm_event& event) {
  if (event.event != RDMA_CM_EVENT_REJECTED) return event.status < 0 ? errno_text(-event.status) : fmt::format("status {}", event.status);
  switch (event.status) {
    case 8: return "rejected: nobody listens at that address and port";
    case 28: return "rejected by the peer";
    case 12: return "rejected: the peer's GID does not fit";
    case 26: return "rejected: the path MTU does not fit";
    default: return fmt::format("rejected with reason {}", event.status);
  }
}

Event expect(rdma_event_channel* channel, rdma_cm_event_type wanted, rdma_cm_event_type also, const CmWait& wait) {
  Event event = next_event(channel, wait, cm_library().event_str(wanted));
  if (event->event == wanted || event->event == also) return event;
  throw Error(
      ErrorKind::peer,
      fmt::format("connection manager: {} instead of {}: {}", cm_library().event_str(event->event), cm_library().event_str(wanted), reason_of(*event)),
      event->status);
}

CmId create_id(rdma_event_channel* channel, std::uint8_t traffic_class) {
  rdma_cm_id* raw = nullptr;
  check_negative(cm_library().create_id(channel, &raw, nullptr, RDMA_PS_TCP), "rdma_create_id");
  CmId id(raw);
  if (traffic_class != 0)
    check_negative(cm_library().set_option(raw, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &traffic_class, sizeof traffic_class),
                   "rdma_set_option of the type of service");
  return id;
}

constexpr const char* kNode = "/dev/infiniband/rdma_cm";

/// The library itself would say "No such device" for this and for other reasons.
Error no_node(int error) {
  const char* remedy = error == ENOENT ? "`modprobe rdma_ucm`" : "run as root or give this user the node (usually group rdma)";
  return Error(ErrorKind::system, fmt::format("connecting by rdma_cm needs {}: {}: {}; devices other than iWARP can use --connect socket instead", kNode,
                                              errno_text(error), remedy), error);
}

bool is_iwarp(const ibv_qp* qp) { return qp->context->device->transport_type == IBV_TRANSPORT_IWARP; }

/// One state change by the attributes that the connection manager chooses, but for those that the plan does.
void change_state(rdma_cm_id* id, ibv_qp* qp, ibv_qp_state state, const CmSettings& settings) {
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = state;
  check_negative(cm_library().init_qp_attr(id, &attributes, &mask), "rdma_init_qp_attr");
  if (state == IBV_QPS_RTR) {
    attributes.path_mtu = mtu_of_bytes(settings.mtu_bytes);
    attributes.max_dest_rd_atomic = settings.responder_reads;
    attributes.min_rnr_timer = kMinRnrTimer;  // the connection manager would leave 0
  } else {
    attributes.timeout = settings.timeout_code;
    attributes.max_rd_atomic = settings.initiator_reads;
  }
  check_value(ibv_modify_qp(qp, &attributes, mask), fmt::format("ibv_modify_qp of QP {:#x} by the connection manager", qp->qp_num));
}

rdma_conn_param parameters(const CmSettings& settings, const ibv_qp* qp) {
  rdma_conn_param p{};
  p.qp_num = qp->qp_num;
  p.initiator_depth = settings.initiator_reads;
  p.responder_resources = settings.responder_reads;
  p.retry_count = settings.retry_count;
  p.rnr_retry_count = settings.rnr_retry;
  return p;
}

/// iWARP's connection manager moves the QP itself; the others' is moved here.
void to_rts(rdma_cm_id* id, ibv_qp* qp, const CmSettings& settings) {
  if (is_iwarp(qp)) return;
  change_state(id, qp, IBV_QPS_RTR, settings);
  change_state(id, qp, IBV_QPS_RTS, settings);
}

void connect_one(rdma_event_channel* channel, rdma_cm_id* id, ibv_qp* qp, std::uint32_t index, const CmSettings& settings, const CmPeer& peer,
                 const CmWait& wait) {
  AddressList list(peer.address, peer.port);
  check_negative(cm_library().resolve_addr(id, nullptr, list.list->ai_addr, wait.deadline.poll_timeout_ms()), "rdma_resolve_addr");
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_RESOLVED, wait);
  check_negative(cm_library().resolve_route(id, wait.deadline.poll_timeout_ms()), "rdma_resolve_route");
  expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED, wait);
  if (std::strcmp(ibv_get_device_name(id->verbs->device), ibv_get_device_name(qp->context->device)) != 0)
    throw Error(ErrorKind::usage, fmt::format("the route to the peer leaves through {}, not through {}: choose with --device",
                                              ibv_get_device_name(id->verbs->device), ibv_get_device_name(qp->context->device)));
  rdma_conn_param p = parameters(settings, qp);
  const PrivateData data{.index = htonl(index), .nonce = peer.nonce};
  p.private_data = &data;
  p.private_data_len = sizeof data;
  check_negative(cm_library().connect(id, &p), "rdma_connect");
  Event event = expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_ESTABLISHED, wait);
  if (event->event == RDMA_CM_EVENT_CONNECT_RESPONSE) {
    to_rts(id, qp, settings);
    check_negative(cm_library().establish(id), "rdma_establish");
  }
}

/// Says no to a stranger, who must not end the measurement: that it could not be told so is no matter either.
void turn_away(CmId id, Event request) {
  log_warning("connection manager: a connection that is none of this measurement's was rejected");
  if (errno_of_negative(cm_library().reject(id.get(), nullptr, 0)) != 0) log_warning("rdma_reject: {}", errno_text(errno));
  request.reset();  // rdma_destroy_id waits for its acknowledgement
}

}  // namespace

namespace detail {
void CmDestroy::operator()(rdma_event_channel* channel) const noexcept { cm_library().destroy_event_channel(channel); }
void CmDestroy::operator()(rdma_cm_id* id) const noexcept {
  try {
    check_negative(cm_library().destroy_id(id), "rdma_destroy_id");
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
  }
}
}  // namespace detail

CmConnections::CmConnections() {
  if (access(kNode, R_OK | W_OK) != 0) throw no_node(errno);
  channel_.reset(check_pointer(cm_library().create_event_channel(), "rdma_create_event_channel"));
  if (fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) < 0)
    throw system_error("fcntl of the connection manager's channel", errno);
}

CmConnections::~CmConnections() {
  for (CmId& id : ids_)
    if (id) cm_library().disconnect(id.get());  // a peer that has gone already refuses it, which is no news
}

CmConnections CmConnections::listen(const std::string& address) {
  CmConnections all;
  fill_random(all.nonce_);
  all.listener_ = create_id(all.channel_.get(), 0);
  AddressList list(address, 0);
  check_negative(cm_library().bind_addr(all.listener_.get(), list.list->ai_addr), fmt::format("rdma_bind_addr {}", address));
  check_negative(cm_library().listen(all.listener_.get(), 128), fmt::format("rdma_listen {}", address));
  return all;
}

int CmConnections::port() const { return ntohs(cm_library().get_src_port(listener_.get())); }

void CmConnections::accept(const CmSettings& settings, const std::vector<ibv_qp*>& qps, const CmWait& wait) {
  std::vector<bool> taken(qps.size(), false);
  for (std::size_t established = 0; established < qps.size();) {
    Event event = expect(channel_.get(), RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_ESTABLISHED, wait);
    if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
      ++established;
      continue;
    }
    CmId id(event->id);
    const auto index = index_of(event->param.conn, nonce_);
    if (!index || *index >= qps.size() || taken[*index]) {
      turn_away(std::move(id), std::move(event));
      continue;
    }
    ids_.push_back(std::move(id));
    taken[*index] = true;
    to_rts(ids_.back().get(), qps[*index], settings);
    rdma_conn_param p = parameters(settings, qps[*index]);
    check_negative(cm_library().accept(ids_.back().get(), &p), "rdma_accept");
  }
}

CmConnections CmConnections::connect(const CmSettings& settings, const std::vector<ibv_qp*>& qps, const CmPeer& peer, const CmWait& wait) {
  CmConnections all;
  for (std::uint32_t i = 0; i < qps.size(); ++i) {
    all.ids_.push_back(create_id(all.channel_.get(), settings.traffic_class));
    connect_one(all.channel_.get(), all.ids_.back().get(), qps[i], i, settings, peer, wait);
  }
  return all;
}

}  // namespace railgauge::verbs
