#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::tcp {

/// One TCP_INFO answer as the kernel gave it. Older kernels give fewer bytes; a field exists only if it lies inside them.
struct TcpInfoReading {
  std::array<std::byte, 320> raw{};
  std::size_t length = 0;
};

/// Asks the kernel about a TCP socket. Empty when it refuses. Does not allocate; any thread.
std::optional<TcpInfoReading> read_tcp_info(int fd) noexcept;

/// One field by its key ("busy_time_us"); empty when this kernel does not have it or marks it unknown.
std::optional<std::uint64_t> field(const TcpInfoReading& reading, std::string_view key) noexcept;

/// Every field there is, by key. Keys are the kernel's names (linux/tcp.h) with the unit appended: "rtt_us", "rto_us",
/// "last_data_sent_ms", "pmtu_bytes", "delivery_rate_bytes_per_s"; counts have none ("snd_cwnd" counts segments).
/// Values by which the kernel says "unlimited" or "unknown" are left out.
std::map<std::string, std::uint64_t> fields(const TcpInfoReading& reading);

}  // namespace railgauge::tcp
