#pragma once
#include <optional>

#include "results/record.h"

namespace railgauge::report {

/// Who held the traffic back, by a counter that moved (host-facts.md 3.3, rules 2 to 5); receiver: software that posted too few receives.
enum class Pressure { host, fabric, receiver, loss };

/// What one counter accounts for.
struct PressureFound {
  Pressure by = Pressure::host;
  const results::SideResult* side = nullptr;        ///< of the measurement that was asked about
  const results::CounterDelta* counter = nullptr;   ///< likewise
  double share = 0;                                 ///< of the time in which data moved, 0…1
  const char* exactness = "";                       ///< "about", or what the counter's unit makes of it: "up to", "at least"
};

/// A cause is sought where 5 % or more is missing (Thresholds::met_fraction): what took less than a fifth of the least of that is none.
inline constexpr double kCauseShare = 0.01;

/// The counter that accounts for most of the time, over both sides; nothing where none of pause, congestion, missing receives or loss moved. Its
/// share may lie below kCauseShare. Pure.
std::optional<PressureFound> heaviest_pressure(const results::Measurement& measurement);

}  // namespace railgauge::report
