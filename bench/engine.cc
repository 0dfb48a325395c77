#include "bench/engine.h"

#include <fmt/format.h>

#include "host/device_choice.h"

namespace railgauge::bench {

std::string unsent_text(std::uint64_t unsent) {
  return fmt::format("the path did not keep up with the schedule: {} messages that were due in the window were never sent and are in no "
                     "percentile; use a lower --load-rate", unsent);
}

results::ErrorInfo run_error(ErrorKind kind, int code, const std::string& text) {
  return results::ErrorInfo{.kind = name_of(kind), .code = code, .stage = "run", .side = "", .text = text};
}

bool one_host(const host::Snapshot& local, const host::Snapshot& peer, const std::string& local_address, const std::string& peer_address) {
  if (!local_address.empty() && local_address == peer_address) return true;
  if (local.boot_id && peer.boot_id) return *local.boot_id == *peer.boot_id;
  // Hosts without a name of their own are all called localhost.
  return local.hostname == peer.hostname && !local.hostname.empty() && local.hostname != "localhost";
}

host::CommonGround common_ground_of(const Standpoint& at) {
  const plan::Placement& own = at.wish();
  const plan::Placement& others = at.side == Side::client ? at.plan.server : at.plan.client;
  return host::common_ground(at.local, {.device = own.device, .port = own.port, .local_ip = at.local_address, .common = {}}, at.peer,
                                 {.device = others.device, .port = others.port, .local_ip = at.peer_address, .common = {}});
}

}  // namespace railgauge::bench
