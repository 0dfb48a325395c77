/// Exported calls: names of states, events and statuses, and rate conversions. The texts are those of libibverbs 44,
/// because programs compare them.
#include "abi.h"

#include <cstddef>

namespace {

template <std::size_t N>
const char* name_of(const char* const (&names)[N], int value, const char* unknown) {
  return value >= 0 && value < static_cast<int>(N) && names[value] != nullptr ? names[value] : unknown;
}

}  // namespace

RAILGAUGE_SIM_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const kNames[] = {"success", "local length error", "local QP operation error",
      "local EE context operation error", "local protection error", "Work Request Flushed Error",
      "memory management operation error", "bad response error", "local access error", "remote invalid request error",
      "remote access error", "remote operation error", "transport retry counter exceeded",
      "RNR retry counter exceeded", "local RDD violation error", "remote invalid RD request",
      "aborted error", "invalid EE context number", "invalid EE context state", "fatal error",
      "response timeout error", "general error", "TM error", "TM software rendezvous"};
  return name_of(kNames, status, "unknown");
}

RAILGAUGE_SIM_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
  static const char* const kNames[] = {"CQ error", "local work queue catastrophic error", "invalid request local work queue error",
      "local access violation work queue error", "communication established", "send queue drained", "path migrated",
      "path migration request error", "local catastrophic error", "port active", "port error", "LID change",
      "P_Key change", "SM change", "SRQ catastrophic error", "SRQ limit reached", "last WQE reached",
      "client reregistration", "GID table change", "WQ fatal"};
  return name_of(kNames, event, "unknown");
}

RAILGAUGE_SIM_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
  static const char* const kNames[] = {nullptr, "InfiniBand channel adapter", "InfiniBand switch", "InfiniBand router",
                                       "iWARP NIC", "usNIC", "usNIC UDP", "unspecified"};
  return name_of(kNames, type, "unknown");
}

RAILGAUGE_SIM_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const kNames[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
  return name_of(kNames, state, "unknown");
}
