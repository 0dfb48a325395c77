#include "tcp/limiter.h"

#include <fmt/format.h>

namespace railgauge::tcp {
namespace {

/// A thread that never sleeps still loses a few per cent to interrupts and to the sampling thread.
constexpr double kCpuBoundShare = 0.95;
/// On a crowded CPU the thread also sleeps while the other end's thread is the one that waits, so less is enough there.
constexpr double kCrowdedShare = 0.1;
constexpr double kWantedShare = 0.9;
/// Headers and the last unfilled intervals keep a paced stream a little below its rate.
constexpr double kPacedShare = 0.95;
/// Below half, something else held the stream back for longer.
constexpr double kLimitedShare = 0.5;
/// The largest of window, buffer and network has a third at least. A size the user set is named from there on.
constexpr double kAskedShare = 1.0 / 3;

double share(std::optional<std::uint64_t> part, std::uint64_t whole) {
  return part ? static_cast<double>(*part) / static_cast<double>(whole) : 0.0;
}

}  // namespace

Limiter name_limiter(const LimiterInput& in) {
  if (in.pacing_bytes_per_s && in.bytes_per_s >= kPacedShare * *in.pacing_bytes_per_s) {
    return {"pacing", fmt::format("the rate is {:.0f} % of the pacing rate asked for", 100 * in.bytes_per_s / *in.pacing_bytes_per_s)};
  }
  const double wanted = in.busiest_thread_share + in.busiest_thread_queue_share;
  if ((in.busiest_thread_share >= kCpuBoundShare && !in.spinning) || (in.busiest_thread_queue_share >= kCrowdedShare && wanted >= kWantedShare)) {
    return {"cpu", fmt::format("a measuring thread used {:.0f} % of one CPU and waited for a CPU for {:.0f} % of the time",
                               100 * in.busiest_thread_share, 100 * in.busiest_thread_queue_share)};
  }
  constexpr const char* kCannotTell = "the threads spin: their CPU time does not say whether they were the limit";
  if (!in.busy_us || *in.busy_us == 0)
    return {"", in.spinning ? kCannotTell : "this side did not send, and none of its threads was CPU-bound"};
  if (!in.rwnd_limited_us && !in.sndbuf_limited_us) return {"", "this kernel does not report limited times (needs Linux 4.10)"};
  const double window = share(in.rwnd_limited_us, *in.busy_us);
  const double buffer = share(in.sndbuf_limited_us, *in.busy_us);
  const double enough = in.window_asked_for ? kAskedShare : kLimitedShare;
  if (window >= enough && window >= buffer) {
    return {"receive window", fmt::format("the peer's receive window was closed for {:.0f} % of the busy time", 100 * window)};
  }
  if (buffer >= enough) return {"send buffer", fmt::format("the send buffer was too small for {:.0f} % of the busy time", 100 * buffer)};
  if (in.spinning) return {"", kCannotTell};
  return {"network", fmt::format("receive window {:.0f} % and send buffer {:.0f} % of the busy time: the congestion window held the rest",
                                 100 * window, 100 * buffer)};
}

}  // namespace railgauge::tcp
