#include "control/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "control/resolve.h"

namespace railgauge::control {
namespace {

// Connects that arrive while the thread is busy with others wait in the kernel: enough for a burst of thousands a second.
constexpr int kBacklog = 1024;
// A port the kernel chose for 127.0.0.1 may be taken on ::1; then another is chosen, so often at most.
constexpr int kPortTries = 32;
constexpr std::chrono::seconds kNameBudget{5};

bool is_loopback(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
    return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

void set_port(SocketAddress& address, std::uint16_t port) {
  if (address.family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  }
}

/// The socket, or errno in `error`.
UniqueFd listen_on(const SocketAddress& address, int& error) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int on = 1;
  int off = 0;
  if (fd) (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // "::" takes IPv4 as well; any other IPv6 address only itself.
  if (fd && address.family() == AF_INET6) {
    bool any = IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr);
    (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, any ? &off : &on, sizeof off);
  }
  bool listens = fd && ::bind(fd.get(), address.get(), address.size) == 0 && ::listen(fd.get(), kBacklog) == 0;
  error = listens ? 0 : errno;
  return listens ? std::move(fd) : UniqueFd{};
}

[[noreturn]] void refuse(const SocketAddress& address, std::uint16_t port, int error) {
  switch (error) {
    case EADDRINUSE:
      throw Error(ErrorKind::system,
                  fmt::format("port {} is in use on this host (is another `railgauge serve` running?): choose another with --port", port),
                  error);
    case EADDRNOTAVAIL:
      throw Error(ErrorKind::system, fmt::format("--bind {}: it is no address of this host; name one that `ip addr` shows", address.text), error);
    case EACCES:
      throw Error(ErrorKind::system,
                  fmt::format("listen on {}: not permitted (ports below 1024 need root): choose another with --port", address.text), error);
    default: throw system_error(fmt::format("listen on {}", address.text), error);
  }
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) throw system_error("getsockname", errno);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                            : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
}

/// What to listen on; `optional` addresses may be missing on this host (no IPv6).
struct Wish {
  std::string address;
  bool optional = false;
};

std::vector<Wish> wishes_of(const AcceptorOptions& options) {
  std::string bind = options.bind.empty() ? (options.token.empty() ? "localhost" : "*") : options.bind;
  // Both loopback families, so that `localhost` works whichever a client's resolver prefers.
  if (bind == "localhost") return {{"127.0.0.1", false}, {"::1", true}};
  return {{bind, false}};
}

/// Throws; with `may_retry`, returns false for a port that the second address does not get.
bool add(Listeners& out, SocketAddress address, bool optional, bool may_retry) {
  if (out.port != 0) set_port(address, out.port);
  int error = 0;
  UniqueFd fd = listen_on(address, error);
  if (!fd && optional && error != EADDRINUSE) return true;
  if (!fd && may_retry && error == EADDRINUSE) return false;
  if (!fd) refuse(address, out.port, error);
  out.port = port_of(fd.get());
  out.addresses.push_back(host_and_port(endpoints_of(fd.get()).local_address, out.port));
  out.loopback_only = out.loopback_only && is_loopback(address);
  out.sockets.push_back(std::move(fd));
  return true;
}

/// All addresses: one dual-stack socket, or IPv4 alone where there is no IPv6.
Listeners open_all(std::uint16_t port) {
  Listeners out;
  out.port = port;
  Deadline deadline = Deadline::after(kNameBudget);
  (void)add(out, resolve("::", port, deadline).front(), true, false);
  if (out.sockets.empty()) (void)add(out, resolve("0.0.0.0", port, deadline).front(), false, false);
  return out;
}

/// A name or address of the user's.
std::vector<SocketAddress> resolve_bind(const std::string& bind, std::uint16_t port) {
  try {
    return resolve(bind, port, Deadline::after(kNameBudget));
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("--bind {}: {}: use an address of this host, localhost or *", printable(bind), error.what()), error.code());
  }
}

std::optional<Listeners> try_open(const AcceptorOptions& options) {
  Listeners out;
  out.port = options.port;
  for (const Wish& wish : wishes_of(options)) {
    for (const SocketAddress& address : resolve_bind(wish.address, out.port)) {
      if (!add(out, address, wish.optional, options.port == 0)) return std::nullopt;
    }
  }
  return out;
}

}  // namespace

Listeners open_listeners(const AcceptorOptions& options) {
  std::optional<Listeners> out;
  if (wishes_of(options).front().address == "*") out = open_all(options.port);
  for (int i = 0; i < kPortTries && !out; ++i) out = try_open(options);
  if (!out) throw Error(ErrorKind::system, "no port was free on all loopback addresses: choose one with --port");
  if (!out->loopback_only && options.token.empty() && !options.open) {
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "listening on {} without a token lets anyone who reaches it start measurements: give a token, or ask for it with --open",
            out->addresses.front()));
  }
  return std::move(*out);
}

}  // namespace railgauge::control
