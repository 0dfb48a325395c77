#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace railgauge::tcp {

/// What a data socket shall be set to. Empty: leave the kernel's own choice (auto-tuning for the buffers).
struct SocketSettings {
  std::optional<std::string> congestion;        ///< TCP_CONGESTION, "cubic"
  std::optional<int> mss_bytes;                 ///< TCP_MAXSEG; the kernel takes the TCP options off it
  std::optional<std::uint64_t> window_bytes;    ///< SO_SNDBUF and SO_RCVBUF; the kernel reports twice the value
  std::optional<std::uint64_t> pacing_bytes_per_s;  ///< SO_MAX_PACING_RATE of this one socket
  std::optional<std::string> interface;         ///< SO_BINDTODEVICE
  bool zerocopy = false;                        ///< SO_ZEROCOPY
  bool no_delay = false;                        ///< TCP_NODELAY
};

/// Applies what must stand before listen or connect and what accepted sockets inherit: interface, congestion, MSS,
/// buffers, zero-copy, and a TCP_USER_TIMEOUT of 10 s. Throws Error naming the option, the value
/// wanted and, for congestion control, what this kernel offers and how to load more.
void apply(int fd, const SocketSettings& settings);

/// Applies what belongs to one connected socket alone: pacing and TCP_NODELAY. Throws Error{system}.
void apply_connected(int fd, const SocketSettings& settings);

/// What a connected socket reports of itself.
struct SocketReadBack {
  int mss_bytes = 0;                            ///< TCP_MAXSEG: payload of a full segment, TCP options off
  std::map<std::string, std::string> settings{};  ///< the others, units in the keys: "congestion", "sndbuf_bytes", "rcvbuf_bytes" (as the kernel
                                                ///< reports them, twice the usable size), "pacing_bytes_per_s", "no_delay", "interface", "zerocopy"
};

/// Reads every setting of a connected socket back and compares. Throws Error{system} naming option, wanted and found
/// for one that did not take.
SocketReadBack read_back(int fd, const SocketSettings& settings);

/// What the kernel reports now for SO_SNDBUF and SO_RCVBUF: with auto-tuning they grow during a run. Empty on failure.
std::optional<std::uint64_t> send_buffer_bytes(int fd) noexcept;
std::optional<std::uint64_t> receive_buffer_bytes(int fd) noexcept;

}  // namespace railgauge::tcp
