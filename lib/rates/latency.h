#pragma once
#include <vector>

namespace railgauge::rates {

/// A published small-message latency. For orientation only: no verdict rests on it.
struct LatencyFigure {
  const char* what;         ///< operation, size, device
  double microseconds;      ///< a value, or a bound where `kind` says so
  const char* convention;   ///< "half round trip" or "full round trip"
  const char* kind;         ///< "one user report", "thesis", "vendor brochure", "acceptance script limit"
  const char* source;
};

/// Published figures on a direct cable or one switch. No primary figure for ConnectX-5 or ConnectX-7 was found.
const std::vector<LatencyFigure>& latency_reference();

}  // namespace railgauge::rates
