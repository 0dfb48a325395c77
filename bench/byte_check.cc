#include "bench/byte_check.h"

#include <fmt/format.h>

#include "base/units.h"

namespace railgauge::bench {
namespace {

struct Range {
  double least;
  double most;
};

/// host-facts.md 3.3, rule 7: 3 % of the bytes, and the headers, which a NIC's counter may include. Per packet at most IPv6's
/// 102 B (acceptance-methods.md 3.1), per message one acknowledgement of the other direction's; 1 MiB of management and of
/// what stands in flight when the counters are read.
Range expected(const Moved& moved) {
  constexpr double kShare = 0.03;
  constexpr double kHeaders = 102;
  constexpr double kAside = 1 << 20;
  auto bytes = static_cast<double>(moved.bytes);
  double headers = kHeaders * (static_cast<double>(moved.packets) + static_cast<double>(moved.messages));
  return {(1 - kShare) * bytes - kAside, (1 + kShare) * bytes + headers + kAside};
}

/// Octets by which one of the port's data counters grew; it counts words of four (InfiniBand Architecture 16.1.3.5).
std::optional<double> growth(const results::SideResult& side, const char* counter) {
  for (const results::CounterDelta& delta : side.counters)
    if (delta.name == counter && delta.delta) return 4.0 * static_cast<double>(*delta.delta);
  return std::nullopt;
}

void check_direction(const std::optional<Moved>& moved, const char* counter, const char* verb, results::SideResult& side) {
  auto octets = growth(side, counter);
  if (!moved || !octets) return;
  Range range = expected(*moved);
  if (*octets >= range.least && *octets <= range.most) return;
  bool more = *octets > range.most;
  side.warnings.push_back(fmt::format("{} grew by {}, this measurement {} {}: {}", counter, format_size(static_cast<std::uint64_t>(*octets)), verb,
                                      format_size(moved->bytes),
                                      more ? "other traffic used the port meanwhile, or much was sent again"
                                           : "it did not all go through this port (loopback, another rail), or the counter lags"));
}

}  // namespace

void check_bytes(const Transfers& moved, bool one_host, results::SideResult& side) {
  if (one_host) return;
  check_direction(moved.sent, "port_xmit_data", "sent", side);
  check_direction(moved.received, "port_rcv_data", "received", side);
}

}  // namespace railgauge::bench
