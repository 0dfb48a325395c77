#include "pacing.h"

#include <algorithm>
#include <cstdlib>

#include "clock.h"
#include "fabric.h"
#include "proc.h"

namespace railgauge::simverbs {

namespace {

std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash | 1;
}

std::string host_name() {
  const char* name = std::getenv("RAILGAUGE_SIM_HOST");
  if (name != nullptr && *name != '\0') return name;
  return "process " + std::to_string(own_pid()) + "." + std::to_string(process_start_time(own_pid()));
}

}  // namespace

std::uint32_t port_clock(const DeviceDescription& device, std::uint32_t port, bool egress) noexcept {
  const std::uint64_t key =
      hash_of(host_name() + "/" + device.name + "/" + std::to_string(port) + (egress ? "/out" : "/in"));
  Fabric& f = *fabric();
  Guard guard(f.lock);
  const std::uint64_t now = now_ns();
  std::uint32_t stale = kPortClocks;
  for (std::uint32_t i = 0; i < kPortClocks; ++i) {
    if (f.clocks[i].key.load() == key) return i;
    const bool free = f.clocks[i].key.load() == 0 || f.clocks[i].free_at_ns + 60'000'000'000ull < now;
    if (stale == kPortClocks && free) stale = i;
  }
  if (stale == kPortClocks) stale = 0;  // more ports than clocks: share one, too slow rather than too fast
  f.clocks[stale].key.store(key);
  f.clocks[stale].free_at_ns = now;
  return stale;
}

std::uint64_t book_wire(SimQp& qp, Target& target, std::uint64_t payload, bool from_peer) noexcept {
  SimContext& c = *qp.context;
  if (!c.paced) return c.latency_ns == 0 ? 0 : now_ns() + c.latency_ns;
  const PortRecord& mine = c.header->ports[qp.shared->port];
  const PortRecord& theirs = target.peer->header->ports[target.qp->port];
  const PortRecord& source = from_peer ? theirs : mine;
  const PortRecord& sink = from_peer ? mine : theirs;
  const std::uint64_t bytes = wire_bytes(payload, qp.shared->path_mtu_bytes, mine.is_ethernet != 0);
  const double rate = static_cast<double>(std::min(source.bits_per_s, sink.bits_per_s)) * c.slow_factor;
  const auto duration = static_cast<std::uint64_t>(static_cast<double>(bytes) * 8e9 / rate);
  PortClock& out = fabric()->clocks[source.egress_clock];
  PortClock& in = fabric()->clocks[sink.ingress_clock];
  std::uint64_t end = now_ns();
  {
    Guard guard(out.lock);
    end = std::max(end, out.free_at_ns) + duration;
    out.free_at_ns = end;
  }
  {
    // a second sender to the same port waits its turn there; the first pays nothing twice
    Guard guard(in.lock);
    end = std::max(end, in.free_at_ns + duration);
    in.free_at_ns = end;
  }
  return end + c.latency_ns;
}

}  // namespace railgauge::simverbs
