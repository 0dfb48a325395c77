#include "control/resolve.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"

namespace railgauge::control {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

/// What a look-up in progress points to; must outlive it.
struct Lookup {
  std::string host;
  std::string service;
  addrinfo hints{};
  gaicb request{};
};

addrinfo stream_hints(int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  return hints;
}

timespec timespec_of(Clock::duration duration) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((duration - seconds).count())};
}

std::string why(int code) { return code == EAI_SYSTEM ? errno_text(errno) : ::gai_strerror(code); }

AddressList look_up(const std::string& host, const std::string& service, Deadline deadline) {
  auto lookup = std::make_unique<Lookup>();
  lookup->host = host;
  lookup->service = service;
  lookup->hints = stream_hints(AI_ADDRCONFIG);
  lookup->request.ar_name = lookup->host.c_str();
  lookup->request.ar_service = lookup->service.c_str();
  lookup->request.ar_request = &lookup->hints;
  std::array<gaicb*, 1> list{&lookup->request};
  if (int code = ::getaddrinfo_a(GAI_NOWAIT, list.data(), 1, nullptr); code != 0) {
    throw Error(ErrorKind::system, fmt::format("getaddrinfo_a {}: {}", host, why(code)));
  }
  while (::gai_error(&lookup->request) == EAI_INPROGRESS && !deadline.passed()) {
    timespec left = timespec_of(deadline.remaining());
    (void)::gai_suspend(list.data(), 1, &left);
  }
  int code = ::gai_error(&lookup->request);
  if (code == EAI_INPROGRESS) {
    // The resolver's thread still writes into it: it is left to it, a few hundred bytes.
    if (::gai_cancel(&lookup->request) != EAI_CANCELED) (void)lookup.release();
    throw Error(ErrorKind::timeout, fmt::format("{}: the name was not resolved in the time allowed; give a numeric address or look at /etc/resolv.conf", host));
  }
  if (code != 0) throw Error(ErrorKind::peer, fmt::format("unknown host {}: {}", printable(host), why(code)));
  return AddressList(lookup->request.ar_result);
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

std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port, Deadline deadline) {
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
    list = look_up(name, service, deadline);
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
