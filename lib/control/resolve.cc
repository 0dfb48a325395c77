#include "control/resolve.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "control/heartbeat.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

/// A look-up in a thread of its own. Two hold it, the thread and the one that waits; the last to leave frees it, so that
/// a look-up that outlasts the wait ends by itself.
struct Lookup {
  std::string host;
  std::string service;
  int code = 0;
  int system_error = 0;
  AddressList result{};
  WakeEvent finished{};
  std::atomic<bool> has_result{false};  // releases code, system_error and result to the one that waits
  std::atomic<int> holders{2};
};
struct Leave {
  void operator()(Lookup* lookup) const noexcept {
    if (lookup->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete lookup;
  }
};
using HeldLookup = std::unique_ptr<Lookup, Leave>;

addrinfo stream_hints(int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  return hints;
}

void run(HeldLookup lookup) {
  addrinfo hints = stream_hints(AI_ADDRCONFIG);
  addrinfo* list = nullptr;
  lookup->code = ::getaddrinfo(lookup->host.c_str(), lookup->service.c_str(), &hints, &list);
  // A bare container has no /etc/hosts, and yet localhost is loopback and nothing else (RFC 6761, 6.3).
  if (lookup->code != 0 && lookup->host == "localhost") lookup->code = ::getaddrinfo(nullptr, lookup->service.c_str(), &hints, &list);
  lookup->system_error = errno;
  lookup->result.reset(list);
  lookup->has_result.store(true, std::memory_order_release);
  lookup->finished.set();
}

AddressList look_up(const std::string& host, const std::string& service, Deadline deadline, int cancel_fd) {
  HeldLookup lookup(new Lookup{host, service});
  try {
    std::thread([other = HeldLookup(lookup.get())]() mutable { run(std::move(other)); }).detach();
  } catch (const std::system_error& error) {
    throw system_error(fmt::format("start a thread to look up {}", printable(host)), error.code().value());
  }
  (void)poll_unless_cancelled(pollfd{lookup->finished.fd(), POLLIN, 0}, cancel_fd, deadline);
  if (!lookup->has_result.load(std::memory_order_acquire)) {
    throw Error(ErrorKind::timeout,
                fmt::format("{}: the name was not resolved in the time allowed; give a numeric address or look at /etc/resolv.conf",
                            printable(host)));
  }
  if (lookup->code != 0) {
    std::string why = lookup->code == EAI_SYSTEM ? errno_text(lookup->system_error) : ::gai_strerror(lookup->code);
    throw Error(ErrorKind::peer, fmt::format("unknown host {}: {}", printable(host), why));
  }
  return std::move(lookup->result);
}

std::string text_of_address(const addrinfo& info) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (::getnameinfo(info.ai_addr, info.ai_addrlen, host.data(), host.size(), service.data(), service.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return info.ai_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), service.data()) : fmt::format("{}:{}", host.data(), service.data());
}

}  // namespace

std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port, Deadline deadline, int cancel_fd) {
  std::string name = host.size() > 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
  // getaddrinfo would see a shorter name than the one given; and no name is longer (RFC 1035).
  if (name.empty() || name.size() > 255 || name.find('\0') != std::string::npos) {
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is no host name", printable(name.substr(0, 64))));
  }
  std::string service = std::to_string(port);
  addrinfo hints = stream_hints(AI_NUMERICHOST);
  addrinfo* numeric = nullptr;
  AddressList list;
  if (::getaddrinfo(name.c_str(), service.c_str(), &hints, &numeric) == 0) {
    list.reset(numeric);
  } else {
    list = look_up(name, service, deadline, cancel_fd);
  }
  std::vector<SocketAddress> out;
  for (const addrinfo* info = list.get(); info != nullptr; info = info->ai_next) {
    if (info->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress address{{}, info->ai_addrlen, text_of_address(*info)};
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    bool known = std::any_of(out.begin(), out.end(), [&](const SocketAddress& a) { return a.text == address.text; });
    if (!known) out.push_back(std::move(address));
  }
  if (out.empty()) throw Error(ErrorKind::peer, fmt::format("unknown host {}: it has no IPv4 or IPv6 address", printable(name)));
  return out;
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  bool bare_v6 = host.find(':') != std::string::npos && host.front() != '[';
  return bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace railgauge::control
