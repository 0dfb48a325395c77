#pragma once
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "bench/engine.h"
#include "bench/thread_watch.h"
#include "loops/round_trip.h"
#include "memory/buffer.h"
#include "plan/plan.h"
#include "results/record.h"
#include "tcp/tcp_stream.h"

namespace railgauge::bench {

/// What the round-trip part of one side came to. The echoing side has outcome, thread and error only.
struct PingResult {
  loops::RoundTripOutcome outcome;
  std::optional<stats::LatencySummary> latency;         ///< from the send
  std::optional<stats::LatencySummary> from_intended;   ///< open loop only
  std::optional<stats::HistogramData> histogram;        ///< of from_intended if there is one, else of latency
  std::optional<results::Verification> verification;
  results::ThreadUsage thread;                          ///< over the whole run, warm-up included
  std::optional<results::ErrorInfo> error;
  std::vector<std::string> warnings;
};

/// The two ends of the round trip. Allocates its buffers on construction.
class Ping {
 public:
  /// Throws Error.
  Ping(const plan::Plan& plan, tcp::TcpStream& stream, std::optional<int> cpu);
  /// The client's end, on the calling thread; closes the stream at the end, which ends the echo.
  PingResult measure(RunControl& control) noexcept;
  /// The server's end.
  PingResult echo(RunControl& control) noexcept;

 private:
  loops::RoundTripJob job(RunControl& control) const noexcept;
  void judge(PingResult& result) const;
  void note_checks(PingResult& result) const;

  const plan::Plan& plan_;
  tcp::TcpStream& stream_;
  std::optional<int> cpu_;
  memory::Buffer message_;
  memory::Buffer reply_;
};

}  // namespace railgauge::bench
