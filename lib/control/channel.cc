#include "control/channel.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "control/bytes.h"
#include "control/messages.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

// What one recv asks for; frames are mostly far smaller.
constexpr std::size_t kReadBytes = 64u << 10;
// While this side waits for room to send it reads ahead, so that two sides that send big documents at once do not block
// each other; a peer that only ever sends is not followed further than this.
constexpr std::size_t kReadAheadBytes = 32u << 20;

const Key& outgoing(const Session& session) {
  return session.role == Role::client ? session.keys.client_to_server : session.keys.server_to_client;
}
const Key& incoming(const Session& session) {
  return session.role == Role::client ? session.keys.server_to_client : session.keys.client_to_server;
}

/// Of a peer that could close the connection, so that its packets arrive: where what was sent to it is not acknowledged although it
/// was sent again, the path may drop large packets only (field cases F37 and F38, over TCP). Empty else.
std::string unacknowledged_text(int fd) {
  constexpr int kPingHeaders = 28;  // IPv4 20 bytes, ICMP 8
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_retransmits == 0 || info.tcpi_unacked == 0) return {};
  return fmt::format("; what this side sent was never acknowledged: does the path drop packets as large as its MTU of {} while small ones pass? Compare the "
                     "MTUs of both interfaces and of the switches (`ping -M do -s {} HOST`)",
                     info.tcpi_pmtu, static_cast<int>(info.tcpi_pmtu) - kPingHeaders);
}

}  // namespace

Channel::Channel(UniqueFd fd, std::string peer, const Session& session)
    : fd_(std::move(fd)),
      peer_(std::move(peer)),
      endpoints_(endpoints_of(fd_.get())),
      in_force_(session.in_force),
      writer_(outgoing(session)),
      reader_(incoming(session)),
      last_heard_(Clock::now()),
      last_beat_(last_heard_) {
  set_channel_options(fd_.get());
}

void Channel::send(MessageType type, std::string_view body, Deadline deadline) {
  std::string step = fmt::format("sending {}", name_of(type));
  log_debug("{}: {} of {} bytes sent", peer_, name_of(type), body.size());
  unsent_ += writer_.seal(type, body);
  flush(step);
  while (!unsent_.empty()) {
    bool room = reader_.buffered_bytes() < kReadAheadBytes;
    pollfd ready{fd_.get(), static_cast<short>(POLLOUT | (room ? POLLIN : 0)), 0};
    if (!poll_until({&ready, 1}, deadline)) {
      fail(ErrorKind::timeout, step, "did not take what was sent in the time allowed");
    }
    if ((ready.revents & POLLIN) != 0) read_ahead(step);
    flush(step);
  }
  last_beat_ = Clock::now();
}

Message Channel::receive(Deadline deadline, std::string_view step) {
  while (true) {
    if (auto message = next_message()) return std::move(*message);
    beat_if_due();
    pollfd ready{fd_.get(), static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0};
    (void)poll_until({&ready, 1}, deadline.sooner(Deadline(next_beat())));
    if (!read_some(step) && deadline.passed()) {
      fail(ErrorKind::timeout, step,
           reader_.in_the_middle() ? "sent half a message and then nothing in the time allowed" : "sent nothing in the time allowed");
    }
  }
}

std::string Channel::expect(MessageType wanted, Deadline deadline) {
  Message message = receive(deadline, fmt::format("waiting for {}", name_of(wanted)));
  if (message.type == wanted) return std::move(message.body);
  throw_if_ended(message, peer_);
  throw Error(ErrorKind::peer, fmt::format("{} sent {} where {} was due", peer_, name_of(message.type), name_of(wanted)));
}

std::optional<Message> Channel::try_receive() {
  while (true) {
    if (auto message = next_message()) return message;
    if (!read_some("waiting for a message")) return std::nullopt;
  }
}

void Channel::beat_if_due() {
  if (Clock::now() >= next_beat()) {
    // A peer that takes nothing gets no further heartbeats piled up; the kernel's time-out judges it.
    if (unsent_.empty()) unsent_ = writer_.seal(MessageType::heartbeat, {});
    last_beat_ = Clock::now();
  }
  if (!unsent_.empty()) flush("sending a heartbeat");
}

std::optional<Message> Channel::next_message() {
  try {
    while (true) {
      auto message = reader_.next();
      if (message && message->type == MessageType::heartbeat) continue;
      if (message) log_debug("{}: {} of {} bytes received", peer_, name_of(message->type), message->body.size());
      return message;
    }
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} {}", peer_, error.what()), error.code());
  }
}

bool Channel::read_some(std::string_view step) {
  std::array<std::uint8_t, kReadBytes> room;
  IoResult got = receive_some(fd_.get(), room);
  if (got.end == IoEnd::would_block) return false;
  if (got.end == IoEnd::closed) {
    fail(ErrorKind::peer, step, reader_.in_the_middle() ? "closed the connection in the middle of a message" : "closed the connection",
         unacknowledged_text(fd_.get()));
  }
  if (got.end == IoEnd::failed) fail(ErrorKind::peer, step, fmt::format("is lost: {}", errno_text(got.error)));
  reader_.append(std::span(room).first(got.bytes));
  last_heard_ = Clock::now();
  return true;
}

void Channel::read_ahead(std::string_view step) { (void)read_some(step); }

void Channel::flush(std::string_view step) {
  while (!unsent_.empty()) {
    IoResult put = send_some(fd_.get(), unsent_);
    if (put.end == IoEnd::failed) explain_broken_send(step, put.error);
    if (put.end != IoEnd::some) return;
    unsent_.erase(0, put.bytes);
  }
}

void Channel::explain_broken_send(std::string_view step, int error) {
  // The peer may have said why before it closed; that is worth more than EPIPE.
  std::optional<Message> last;
  try {
    while (auto message = try_receive()) last = std::move(message);
  } catch (const Error&) {
    // Broken, as known.
  }
  if (last) throw_if_ended(*last, peer_);
  bool closed = error == EPIPE || error == ECONNRESET;
  fail(ErrorKind::peer, step, closed ? "closed the connection" : fmt::format("is lost: {}", errno_text(error)));
}

void Channel::fail(ErrorKind kind, std::string_view step, std::string_view what, std::string_view more) const {
  throw Error(kind, fmt::format("{} {} while {}{}", peer_, what, step, more));
}

bool ends_conversation(MessageType type) noexcept {
  return type == MessageType::stop || type == MessageType::failure || type == MessageType::busy || type == MessageType::bye;
}

void throw_if_ended(const Message& message, const std::string& peer) {
  if (message.type == MessageType::bye) throw Error(ErrorKind::peer, fmt::format("{} ended the conversation", peer));
  if (message.type == MessageType::busy) {
    throw Error(ErrorKind::peer, fmt::format("{} is {}", peer, busy_from_json(message.body).text));
  }
  if (message.type == MessageType::stop) {
    throw Error(ErrorKind::peer, fmt::format("{} stopped: {}", peer, stop_from_json(message.body).reason));
  }
  if (message.type == MessageType::failure) {
    Failure failure = failure_from_json(message.body);
    throw Error(failure.kind, fmt::format("{}: {}", peer, failure.text), failure.code);
  }
}

}  // namespace railgauge::control
