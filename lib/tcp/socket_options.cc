#include "tcp/socket_options.h"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <limits>

#include "base/error.h"
#include "base/file.h"

namespace railgauge::tcp {
namespace {

/// All TCP options together fit into 40 bytes (a header is at most 60, RFC 9293); the kernel takes them off the MSS it reports.
constexpr int kMaxTcpOptionBytes = 40;
/// Without a control channel to notice it, a vanished peer ends a blocked connection after this.
constexpr unsigned kUserTimeoutMs = 10000;

std::string offered_congestion() {
  const auto file = read_text_file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  return file.text ? *file.text : "unreadable: " + errno_text(file.error);
}

Error congestion_error(const std::string& wanted, const std::string& found) {
  return Error(ErrorKind::system,
               fmt::format("TCP_CONGESTION: wanted \"{}\", found {}; this kernel offers \"{}\" (sysctl "
                           "net.ipv4.tcp_available_congestion_control); load more with: modprobe tcp_{}",
                           wanted, found, offered_congestion(), wanted));
}

Error not_taken(const std::string& option, const std::string& wanted, const std::string& found, const std::string& remedy) {
  return Error(ErrorKind::system, fmt::format("{}: wanted {}, found {}; {}", option, wanted, found, remedy));
}

template <typename T>
void set(int fd, int level, int option, const T& value, const std::string& name) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) throw system_error("setsockopt " + name, errno);
}

template <typename T>
T get(int fd, int level, int option, const std::string& name) {
  T value{};
  socklen_t size = sizeof value;
  if (::getsockopt(fd, level, option, &value, &size) != 0) throw system_error("getsockopt " + name, errno);
  return value;
}

std::string get_text(int fd, int level, int option, const std::string& name) {
  std::array<char, 64> text{};
  auto size = static_cast<socklen_t>(text.size() - 1);
  if (::getsockopt(fd, level, option, text.data(), &size) != 0) throw system_error("getsockopt " + name, errno);
  return text.data();
}

void apply_buffers(int fd, std::uint64_t bytes) {
  // The kernel doubles the value in an int; more than this would turn negative there.
  if (bytes == 0 || bytes > std::numeric_limits<int>::max() / 2) {
    throw Error(ErrorKind::usage, fmt::format("--window: {} bytes is not in 1…{}", bytes, std::numeric_limits<int>::max() / 2));
  }
  const int value = static_cast<int>(bytes);
  set(fd, SOL_SOCKET, SO_SNDBUF, value, fmt::format("SO_SNDBUF {}", value));
  set(fd, SOL_SOCKET, SO_RCVBUF, value, fmt::format("SO_RCVBUF {}", value));
}

void check_buffer(const std::string& option, int found, std::uint64_t wanted, const std::string& sysctl) {
  // socket(7): "the kernel doubles this value … and this doubled value is returned by getsockopt". Small values are
  // raised to a minimum, which is not what was asked for either.
  if (static_cast<std::uint64_t>(found) == 2 * wanted) return;
  throw not_taken(option, fmt::format("{} bytes", wanted), fmt::format("{} bytes", found / 2), fmt::format("raise the limit: sysctl -w {}={}", sysctl, wanted));
}

void check_mss(int found, int wanted) {
  if (found <= wanted && found >= wanted - kMaxTcpOptionBytes) return;
  throw not_taken("TCP_MAXSEG", fmt::format("{} bytes", wanted), fmt::format("{} bytes", found),
                  "the path's MTU or the peer's own MSS is smaller");
}

void read_back_buffers(int fd, const SocketSettings& settings, std::map<std::string, std::string>& out) {
  const int send = get<int>(fd, SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF");
  const int receive = get<int>(fd, SOL_SOCKET, SO_RCVBUF, "SO_RCVBUF");
  if (settings.window_bytes) {
    check_buffer("SO_SNDBUF", send, *settings.window_bytes, "net.core.wmem_max");
    check_buffer("SO_RCVBUF", receive, *settings.window_bytes, "net.core.rmem_max");
  }
  out["sndbuf_bytes"] = std::to_string(send);
  out["rcvbuf_bytes"] = std::to_string(receive);
  out["buffers"] = settings.window_bytes ? "fixed" : "auto-tuned";
}

void read_back_pacing(int fd, const SocketSettings& settings, std::map<std::string, std::string>& out) {
  if (!settings.pacing_bytes_per_s) return;
  const auto found = get<std::uint64_t>(fd, SOL_SOCKET, SO_MAX_PACING_RATE, "SO_MAX_PACING_RATE");
  if (found != *settings.pacing_bytes_per_s) {
    throw not_taken("SO_MAX_PACING_RATE", fmt::format("{} bytes/s", *settings.pacing_bytes_per_s), fmt::format("{} bytes/s", found),
                    "kernels before 4.20 hold 32 bits only");
  }
  out["pacing_bytes_per_s"] = std::to_string(found);
}

}  // namespace

void apply(int fd, const SocketSettings& settings) {
  if (settings.interface) {
    const auto& name = *settings.interface;
    if (name.empty() || name.size() >= IFNAMSIZ) throw Error(ErrorKind::usage, fmt::format("interface \"{}\": not 1…15 characters", name));
    if (::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name.c_str(), static_cast<socklen_t>(name.size() + 1)) != 0) {
      throw system_error(fmt::format("setsockopt SO_BINDTODEVICE \"{}\"", name), errno);
    }
  }
  if (settings.congestion) {
    const auto& name = *settings.congestion;
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.c_str(), static_cast<socklen_t>(name.size())) != 0) {
      const int error = errno;
      throw congestion_error(name, fmt::format("\"{}\" ({})", get_text(fd, IPPROTO_TCP, TCP_CONGESTION, "TCP_CONGESTION"), errno_text(error)));
    }
  }
  if (settings.mss_bytes) set(fd, IPPROTO_TCP, TCP_MAXSEG, *settings.mss_bytes, fmt::format("TCP_MAXSEG {}", *settings.mss_bytes));
  if (settings.window_bytes) apply_buffers(fd, *settings.window_bytes);
  if (settings.zerocopy) set(fd, SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY");
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs, "TCP_USER_TIMEOUT");
}

void apply_connected(int fd, const SocketSettings& settings) {
  if (settings.pacing_bytes_per_s) {
    set(fd, SOL_SOCKET, SO_MAX_PACING_RATE, *settings.pacing_bytes_per_s, fmt::format("SO_MAX_PACING_RATE {}", *settings.pacing_bytes_per_s));
  }
  if (settings.no_delay) set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
}

SocketReadBack read_back(int fd, const SocketSettings& settings) {
  SocketReadBack in_effect{.mss_bytes = get<int>(fd, IPPROTO_TCP, TCP_MAXSEG, "TCP_MAXSEG")};
  if (settings.mss_bytes) check_mss(in_effect.mss_bytes, *settings.mss_bytes);
  auto& out = in_effect.settings;
  out["congestion"] = get_text(fd, IPPROTO_TCP, TCP_CONGESTION, "TCP_CONGESTION");
  if (settings.congestion && out["congestion"] != *settings.congestion) {
    throw congestion_error(*settings.congestion, fmt::format("\"{}\"", out["congestion"]));
  }
  read_back_buffers(fd, settings, out);
  read_back_pacing(fd, settings, out);
  const bool no_delay = get<int>(fd, IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY") != 0;
  if (settings.no_delay && !no_delay) throw not_taken("TCP_NODELAY", "on", "off", "no remedy known");
  out["no_delay"] = no_delay ? "true" : "false";
  if (settings.interface) {
    const auto found = get_text(fd, SOL_SOCKET, SO_BINDTODEVICE, "SO_BINDTODEVICE");
    if (found != *settings.interface) throw not_taken("SO_BINDTODEVICE", *settings.interface, "\"" + found + "\"", "no remedy known");
    out["interface"] = found;
  }
  if (settings.zerocopy && get<int>(fd, SOL_SOCKET, SO_ZEROCOPY, "SO_ZEROCOPY") == 0) throw not_taken("SO_ZEROCOPY", "on", "off", "needs Linux 4.14");
  out["zerocopy"] = settings.zerocopy ? "true" : "false";
  return in_effect;
}

namespace {
std::optional<std::uint64_t> buffer_bytes(int fd, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0 || value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}
}  // namespace

std::optional<std::uint64_t> send_buffer_bytes(int fd) noexcept { return buffer_bytes(fd, SO_SNDBUF); }
std::optional<std::uint64_t> receive_buffer_bytes(int fd) noexcept { return buffer_bytes(fd, SO_RCVBUF); }

}  // namespace railgauge::tcp
