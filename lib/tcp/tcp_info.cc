#include "tcp/tcp_info.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace railgauge::tcp {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kU32Max = std::numeric_limits<std::uint32_t>::max();

struct Field {
  std::string_view key;
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t unknown = kNone;  ///< the value by which the kernel says "not known" or "no limit"
};

#define RAILGAUGE_TCP_FIELD(key, member, ...) Field { key, offsetof(tcp_info, member), sizeof(tcp_info::member) __VA_OPT__(, ) __VA_ARGS__ }

// Behind tcpi_snd_wnd: members of newer kernels (include/uapi/linux/tcp.h, 6.2 to 6.7), by offset because older headers lack them.
constexpr std::size_t kAfterSndWnd = offsetof(tcp_info, tcpi_snd_wnd) + sizeof(tcp_info::tcpi_snd_wnd);

constexpr Field kFields[] = {
    RAILGAUGE_TCP_FIELD("state", tcpi_state),
    RAILGAUGE_TCP_FIELD("ca_state", tcpi_ca_state),
    RAILGAUGE_TCP_FIELD("retransmits", tcpi_retransmits),
    RAILGAUGE_TCP_FIELD("probes", tcpi_probes),
    RAILGAUGE_TCP_FIELD("backoff", tcpi_backoff),
    RAILGAUGE_TCP_FIELD("options", tcpi_options),
    RAILGAUGE_TCP_FIELD("rto_us", tcpi_rto),
    RAILGAUGE_TCP_FIELD("ato_us", tcpi_ato),
    RAILGAUGE_TCP_FIELD("snd_mss_bytes", tcpi_snd_mss),
    RAILGAUGE_TCP_FIELD("rcv_mss_bytes", tcpi_rcv_mss),
    RAILGAUGE_TCP_FIELD("unacked", tcpi_unacked),
    RAILGAUGE_TCP_FIELD("sacked", tcpi_sacked),
    RAILGAUGE_TCP_FIELD("lost", tcpi_lost),
    RAILGAUGE_TCP_FIELD("retrans", tcpi_retrans),
    RAILGAUGE_TCP_FIELD("last_data_sent_ms", tcpi_last_data_sent),
    RAILGAUGE_TCP_FIELD("last_data_recv_ms", tcpi_last_data_recv),
    RAILGAUGE_TCP_FIELD("last_ack_recv_ms", tcpi_last_ack_recv),
    RAILGAUGE_TCP_FIELD("pmtu_bytes", tcpi_pmtu),
    RAILGAUGE_TCP_FIELD("rcv_ssthresh_bytes", tcpi_rcv_ssthresh),
    RAILGAUGE_TCP_FIELD("rtt_us", tcpi_rtt),
    RAILGAUGE_TCP_FIELD("rttvar_us", tcpi_rttvar),
    RAILGAUGE_TCP_FIELD("snd_ssthresh", tcpi_snd_ssthresh, 0x7fffffff),  // TCP_INFINITE_SSTHRESH
    RAILGAUGE_TCP_FIELD("snd_cwnd", tcpi_snd_cwnd),
    RAILGAUGE_TCP_FIELD("advmss_bytes", tcpi_advmss),
    RAILGAUGE_TCP_FIELD("reordering", tcpi_reordering),
    RAILGAUGE_TCP_FIELD("rcv_rtt_us", tcpi_rcv_rtt, 0),
    RAILGAUGE_TCP_FIELD("rcv_space_bytes", tcpi_rcv_space),
    RAILGAUGE_TCP_FIELD("total_retrans", tcpi_total_retrans),
    RAILGAUGE_TCP_FIELD("pacing_rate_bytes_per_s", tcpi_pacing_rate, kNone),
    RAILGAUGE_TCP_FIELD("max_pacing_rate_bytes_per_s", tcpi_max_pacing_rate, kNone),
    RAILGAUGE_TCP_FIELD("bytes_acked", tcpi_bytes_acked),
    RAILGAUGE_TCP_FIELD("bytes_received", tcpi_bytes_received),
    RAILGAUGE_TCP_FIELD("segs_out", tcpi_segs_out),
    RAILGAUGE_TCP_FIELD("segs_in", tcpi_segs_in),
    RAILGAUGE_TCP_FIELD("notsent_bytes", tcpi_notsent_bytes),
    RAILGAUGE_TCP_FIELD("min_rtt_us", tcpi_min_rtt, kU32Max),
    RAILGAUGE_TCP_FIELD("data_segs_in", tcpi_data_segs_in),
    RAILGAUGE_TCP_FIELD("data_segs_out", tcpi_data_segs_out),
    RAILGAUGE_TCP_FIELD("delivery_rate_bytes_per_s", tcpi_delivery_rate, 0),
    RAILGAUGE_TCP_FIELD("busy_time_us", tcpi_busy_time),
    RAILGAUGE_TCP_FIELD("rwnd_limited_us", tcpi_rwnd_limited),
    RAILGAUGE_TCP_FIELD("sndbuf_limited_us", tcpi_sndbuf_limited),
    RAILGAUGE_TCP_FIELD("delivered", tcpi_delivered),
    RAILGAUGE_TCP_FIELD("delivered_ce", tcpi_delivered_ce),
    RAILGAUGE_TCP_FIELD("bytes_sent", tcpi_bytes_sent),
    RAILGAUGE_TCP_FIELD("bytes_retrans", tcpi_bytes_retrans),
    RAILGAUGE_TCP_FIELD("dsack_dups", tcpi_dsack_dups),
    RAILGAUGE_TCP_FIELD("reord_seen", tcpi_reord_seen),
    RAILGAUGE_TCP_FIELD("rcv_ooopack", tcpi_rcv_ooopack),
    RAILGAUGE_TCP_FIELD("snd_wnd_bytes", tcpi_snd_wnd),
    Field{"rcv_wnd_bytes", kAfterSndWnd, 4},
    Field{"rehash", kAfterSndWnd + 4, 4},
    Field{"total_rto", kAfterSndWnd + 8, 2},
    Field{"total_rto_recoveries", kAfterSndWnd + 10, 2},
    Field{"total_rto_time_ms", kAfterSndWnd + 12, 4},
};

#undef RAILGAUGE_TCP_FIELD

template <typename T>
std::uint64_t load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::optional<std::uint64_t> value_of(const TcpInfoReading& reading, const Field& f) noexcept {
  if (f.offset + f.bytes > reading.length) return std::nullopt;
  const std::byte* at = reading.raw.data() + f.offset;
  std::uint64_t value = 0;
  switch (f.bytes) {
    case 1: value = load<std::uint8_t>(at); break;
    case 2: value = load<std::uint16_t>(at); break;
    case 4: value = load<std::uint32_t>(at); break;
    default: value = load<std::uint64_t>(at); break;
  }
  if (value == f.unknown) return std::nullopt;
  return value;
}

}  // namespace

std::optional<TcpInfoReading> read_tcp_info(int fd) noexcept {
  TcpInfoReading reading;
  auto length = static_cast<socklen_t>(reading.raw.size());
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, reading.raw.data(), &length) != 0) return std::nullopt;
  reading.length = std::min<std::size_t>(length, reading.raw.size());
  return reading;
}

std::optional<std::uint64_t> field(const TcpInfoReading& reading, std::string_view key) noexcept {
  for (const auto& f : kFields) {
    if (f.key == key) return value_of(reading, f);
  }
  return std::nullopt;
}

std::map<std::string, std::uint64_t> fields(const TcpInfoReading& reading) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& f : kFields) {
    if (const auto value = value_of(reading, f)) out.emplace(f.key, *value);
  }
  return out;
}

}  // namespace railgauge::tcp
