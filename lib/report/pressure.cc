#include "report/pressure.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace railgauge::report {
namespace {

using results::CounterDelta;
using results::Measurement;
using results::SideResult;

/// What one step of a counter stands for.
enum class Unit { microsecond, pause_frame, tick, stalled_second, notification, refusal, repeat, timeout };

struct Row {
  const char* pattern;  ///< fnmatch(3); the first that fits counts
  Pressure by;
  Unit unit;
};

// Units of mlx5: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst (Linux 6.1). Not here: marks of ECN,
// which slow nobody down without a CNP, and outbound_pci_stalled_rd and _wr, which are gauges.
constexpr Row kRows[] = {
    {"tx_*_pause_duration", Pressure::host, Unit::microsecond},
    {"rx_*_pause_duration", Pressure::fabric, Unit::microsecond},
    {"tx_prio[0-7]_pause", Pressure::host, Unit::pause_frame},
    {"tx_pause_ctrl_phy", Pressure::host, Unit::pause_frame},
    {"rx_prio[0-7]_pause", Pressure::fabric, Unit::pause_frame},
    {"rx_pause_ctrl_phy", Pressure::fabric, Unit::pause_frame},
    {"outbound_pci_stalled_??_events", Pressure::host, Unit::stalled_second},
    {"outbound_pci_buffer_overflow", Pressure::host, Unit::repeat},
    {"port_xmit_wait", Pressure::fabric, Unit::tick},
    {"np_cnp_sent", Pressure::fabric, Unit::notification},
    {"rp_cnp_handled", Pressure::fabric, Unit::notification},
    {"rnr_nak_retry_err", Pressure::receiver, Unit::refusal},
    {"out_of_buffer", Pressure::receiver, Unit::refusal},
    {"local_ack_timeout_err", Pressure::loss, Unit::timeout},
    {"packet_seq_err", Pressure::loss, Unit::repeat},
    {"implied_nak_seq_err", Pressure::loss, Unit::repeat},
    {"out_of_sequence", Pressure::loss, Unit::repeat},
    {"duplicate_request", Pressure::loss, Unit::repeat},
    {"rcvd_seq_err", Pressure::loss, Unit::repeat},
    {"out_of_seq_request", Pressure::loss, Unit::repeat},
    {"roce_adp_retrans*", Pressure::loss, Unit::repeat},
    {"rx_missed_errors", Pressure::loss, Unit::repeat},
    {"rx_discards_phy", Pressure::loss, Unit::repeat},
};

/// A pause frame stops a port for 65,535 quanta of 512 bit times at most (IEEE 802.3 annex 31B); how many of them it asked for is
/// not counted.
constexpr double kPauseBits = 65535.0 * 512;
/// The tick of port_xmit_wait is the vendor's own; the shortest is a 32-bit word, in which port_xmit_data counts as well.
constexpr double kTickBits = 32;
/// "_events" counts seconds in which PCIe stalled for more than 30 % of the time.
constexpr double kStalledShare = 0.30;
/// After a notification a sender does not raise its rate for this long (DCQCN: rpg_time_reset). Uncertain: 300 us is the default known
/// of mlx5; hosts set it, and newer firmware has other algorithms.
constexpr double kSlowedSeconds = 300e-6;
/// What a receiver without a receive asks one QP to wait: code 12 of the RNR NAK timer (InfiniBand specification 9.7.5.2.8), which the QPs
/// of this program set.
constexpr double kRefusalSeconds = 640e-6;
/// Own choice: a gap costs a round trip under load, after which what was in flight is sent again.
constexpr double kRepeatSeconds = 100e-6;
/// Of the time-out that an unanswered request waits for (InfiniBand specification 9.7.6.1.3).
constexpr double kTimeoutUnitSeconds = 4.096e-6;

/// What the counters are measured against.
struct Scale {
  double seconds = 0;           ///< in which data moved, warm-up included
  double bits_per_s = 0;        ///< of the link; else what it carried, at which a frame or tick takes longer
  double timeout_seconds = 0;
  int qps = 1;                  ///< of which one waits at a refusal
};

Scale scale_of(const Measurement& measurement) {
  Scale scale;
  for (const auto* flow : {&measurement.throughput, &measurement.throughput_reverse}) {
    if (!*flow) continue;
    scale.seconds = std::max(scale.seconds, std::chrono::duration<double>((*flow)->elapsed).count());
    scale.bits_per_s = std::max(scale.bits_per_s, (*flow)->mean_gbit_per_s.value.value_or(0) * 1e9);
  }
  scale.seconds += std::chrono::duration<double>(measurement.plan.warm_up).count();
  if (const rates::Term* link = measurement.expectation.slowest_link()) scale.bits_per_s = link->gbit_per_s * 1e9;
  scale.qps = std::max(1, plan::total_qps(measurement.plan));
  scale.timeout_seconds = kTimeoutUnitSeconds * static_cast<double>(1ULL << measurement.plan.rdma.timeout_code);
  return scale;
}

/// Of one step of the counter, in seconds.
double cost_of(Unit unit, const Scale& scale) {
  switch (unit) {
    case Unit::microsecond: return 1e-6;
    case Unit::pause_frame: return kPauseBits / scale.bits_per_s;
    case Unit::tick: return kTickBits / scale.bits_per_s;
    case Unit::stalled_second: return kStalledShare;
    case Unit::notification: return kSlowedSeconds;
    case Unit::refusal: return kRefusalSeconds / scale.qps;
    case Unit::repeat: return kRepeatSeconds;
    case Unit::timeout: return scale.timeout_seconds;
  }
  return 0;
}

const char* exactness_of(Unit unit) {
  if (unit == Unit::pause_frame) return "up to";
  return unit == Unit::tick || unit == Unit::stalled_second ? "at least" : "about";
}

/// Where the port also counts how long it paused in that direction, the frames say nothing more.
bool has_duration(const SideResult& side, const CounterDelta& frames) {
  const std::string pattern = frames.name.substr(0, 3) + "*_pause_duration";
  return std::any_of(side.counters.begin(), side.counters.end(), [&](const CounterDelta& other) {
    return other.source == frames.source && other.delta && ::fnmatch(pattern.c_str(), other.name.c_str(), 0) == 0;
  });
}

}  // namespace

std::optional<PressureFound> heaviest_pressure(const Measurement& measurement) {
  const Scale scale = scale_of(measurement);
  std::optional<PressureFound> heaviest;
  if (!(scale.seconds > 0) || !(scale.bits_per_s > 0)) return heaviest;
  for (const SideResult& side : measurement.sides) {
    for (const CounterDelta& counter : side.counters) {
      if (!counter.delta || *counter.delta == 0) continue;
      const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return ::fnmatch(r.pattern, counter.name.c_str(), 0) == 0; });
      if (row == std::end(kRows) || (row->unit == Unit::pause_frame && has_duration(side, counter))) continue;
      const double share = std::min(1.0, static_cast<double>(*counter.delta) * cost_of(row->unit, scale) / scale.seconds);
      if (!heaviest || share > heaviest->share) heaviest = {row->by, &side, &counter, share, exactness_of(row->unit)};
    }
  }
  return heaviest;
}

}  // namespace railgauge::report
