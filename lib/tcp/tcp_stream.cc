#include "tcp/tcp_stream.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace railgauge::tcp {
namespace {

/// Completions come merged (one entry covers a range), so looking once in so many sends keeps the queue short for next to nothing.
constexpr std::uint64_t kCollectEverySends = 16;

/// One entry of the error queue; false when it is empty. networking/msg_zerocopy: ee_info…ee_data is the range of sends
/// that completed, ee_code says whether they were copied.
bool collect_one(int fd, ZerocopyCount& count) noexcept {
  alignas(cmsghdr) std::array<char, 128> control{};
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* entry = CMSG_FIRSTHDR(&message); entry != nullptr; entry = CMSG_NXTHDR(&message, entry)) {
    const bool v4 = entry->cmsg_level == SOL_IP && entry->cmsg_type == IP_RECVERR;
    const bool v6 = entry->cmsg_level == SOL_IPV6 && entry->cmsg_type == IPV6_RECVERR;
    if (!v4 && !v6) continue;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(entry), sizeof error);
    if (error.ee_origin != SO_EE_ORIGIN_ZEROCOPY || error.ee_errno != 0) continue;
    const std::uint64_t sends = static_cast<std::uint32_t>(error.ee_data - error.ee_info) + std::uint64_t{1};
    count.completions += sends;
    if ((error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) count.copied += sends;
  }
  return true;
}

ssize_t negative_errno() noexcept { return errno == EINTR ? -EAGAIN : -errno; }

}  // namespace

TcpStream::TcpStream(UniqueFd fd, Blocking blocking, bool zerocopy) noexcept
    : fd_(std::move(fd)), flags_(blocking == Blocking::yes ? 0 : MSG_DONTWAIT), zerocopy_(zerocopy) {}

ssize_t TcpStream::send_some(std::span<const std::byte> bytes) noexcept {
  if (!zerocopy_) {
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), flags_ | MSG_NOSIGNAL);
    return n >= 0 ? n : negative_errno();
  }
  const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), flags_ | MSG_NOSIGNAL | MSG_ZEROCOPY);
  if (n >= 0) {
    if (++zerocopy_sends_ % kCollectEverySends == 0) collect_completions();
    return n;
  }
  if (errno != ENOBUFS) return negative_errno();
  // The memory for notifications (net.core.optmem_max) is used up until they are collected.
  collect_completions();
  return -EAGAIN;
}

ssize_t TcpStream::receive_some(std::span<std::byte> room) noexcept {
  const ssize_t n = ::recv(fd_.get(), room.data(), room.size(), flags_);
  return n >= 0 ? n : negative_errno();
}

void TcpStream::shut_down() noexcept { ::shutdown(fd_.get(), SHUT_RDWR); }


void TcpStream::collect_completions() noexcept {
  while (collect_one(fd_.get(), zerocopy_count_)) {
  }
}

PollReadiness::PollReadiness(const std::vector<TcpStream*>& streams, For what) {
  for (const auto* stream : streams) {
    entries_.push_back(pollfd{stream->descriptor(), static_cast<short>(what == For::sending ? POLLOUT : POLLIN), 0});
  }
}

void PollReadiness::wait(std::chrono::milliseconds limit) noexcept {
  const int n = ::poll(entries_.data(), entries_.size(), static_cast<int>(limit.count()));
  if (n <= 0) return;
  // A closed connection stays ready for ever: the loop has ended it by now, so it must not wake this thread again.
  for (auto& entry : entries_) {
    if ((entry.revents & (POLLHUP | POLLNVAL)) != 0) entry.fd = -1;
  }
}

}  // namespace railgauge::tcp
