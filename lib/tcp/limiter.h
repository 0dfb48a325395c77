#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace railgauge::tcp {

/// What one side knows about what held a stream back, as changes over the measured window. The kernel's clocks are summed
/// over the streams.
struct LimiterInput {
  double busiest_thread_share = 0;                  ///< CPU time of the busiest measuring thread over the window, 0…1
  double busiest_thread_queue_share = 0;            ///< time that thread was ready but had no CPU, over the window, 0…1
  bool spinning = false;                            ///< the threads never sleep: their CPU time does not tell work from waiting
  std::optional<std::uint64_t> busy_us;             ///< tcpi_busy_time: time with data to send; absent on a receiver
  std::optional<std::uint64_t> rwnd_limited_us;     ///< tcpi_rwnd_limited
  std::optional<std::uint64_t> sndbuf_limited_us;   ///< tcpi_sndbuf_limited
  bool window_asked_for = false;                    ///< the plan sets both buffers itself (SO_SNDBUF, SO_RCVBUF)
  double bytes_per_s = 0;                           ///< payload rate of all streams
  std::optional<double> pacing_bytes_per_s;         ///< of all streams, when pacing is in force
};

/// The limiting factor, by name, with the sentence that says on what it rests.
struct Limiter {
  std::string word;         ///< "pacing", "cpu", "receive window", "send buffer", "network"; empty: cannot be said from here
  std::string sentence;
};

/// Names what limited the rate. Pure. Order: pacing reached (≥ 95 % of it), a thread at ≥ 95 % of a CPU (or at ≥ 90 %
/// together with ≥ 10 % waiting for one), the larger of
/// receive window and send buffer if it held for at least half of the busy time (a third where the plan sets them, which is then the
/// likelier cause: of three that share the time the largest has that much), else the network (congestion control).
/// A receiver can say "cpu" or nothing; threads that spin say "cpu" only where they had to wait for one, and never "network".
Limiter name_limiter(const LimiterInput& input);

}  // namespace railgauge::tcp
