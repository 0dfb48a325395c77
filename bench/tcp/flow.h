#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/engine.h"
#include "bench/tcp/info_log.h"
#include "bench/thread_watch.h"
#include "loops/byte_stream.h"
#include "memory/buffer.h"
#include "plan/plan.h"
#include "results/record.h"
#include "stats/interval_recorder.h"
#include "tcp/softirq.h"
#include "tcp/tcp_stream.h"

namespace railgauge::bench {

/// What one direction of a TCP measurement needs.
struct FlowSetup {
  const plan::Plan& plan;
  bool sending = false;
  std::uint64_t message_bytes = 0;              ///< of one send; not the plan's where the plan's is the round trip's
  std::optional<std::uint64_t> iterations;      ///< messages per stream; empty: by duration
  std::vector<tcp::TcpStream*> streams;
  std::vector<int> cpus;                        ///< one per thread; empty: not bound
  std::optional<int> numa_node;                 ///< of the buffers
  const std::atomic<bool>* hold = nullptr;      ///< while true a receiver goes on receiving after its window (bounded)
};

/// What came of it.
struct FlowResult {
  stats::ThroughputSummary summary;
  std::vector<stats::Interval> intervals;
  std::vector<results::TcpInfoSample> tcp_info;
  std::uint64_t tcp_info_every_intervals = 1;
  std::uint64_t tcp_info_limit_instants = 0;
  std::vector<results::ThreadUsage> threads;
  host::Fact<results::nanoseconds> softirq;
  std::string limiter;
  std::string limiter_sentence;
  std::optional<results::Verification> verification;
  std::optional<tcp::ZerocopyCount> zerocopy;
  std::optional<std::uint64_t> buffer_at_end_bytes;     ///< SO_SNDBUF or SO_RCVBUF at the window's end, largest of the streams
  results::nanoseconds drain{};
  std::vector<std::string> warnings;
  std::optional<results::ErrorInfo> error;
};

/// One direction on one side: its threads move bytes, the caller of run() watches their counters and decides by its own
/// clock when the window begins and ends. The receiver closes its streams when its window is full; that ends the sender.
class Flow {
 public:
  /// Allocates every buffer. Throws Error.
  explicit Flow(const FlowSetup& setup);
  ~Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Once. Throws only when a thread cannot be started or memory is out.
  FlowResult run(RunControl& control);

  /// Bytes that one receive call asks for.
  std::size_t receive_block_bytes() const noexcept { return receive_bytes_; }

 private:
  struct Worker {
    std::vector<loops::SendLane> send_lanes;
    std::vector<loops::ReceiveLane> receive_lanes;
    std::vector<tcp::TcpStream*> streams;
    std::unique_ptr<tcp::PollReadiness> readiness;   // null: the one stream blocks, or the thread spins
    memory::Buffer room;                        // receivers
    ThreadWatch watch;
    std::thread thread;
  };
  struct Reading {
    Clock::time_point at;
    stats::Counters counters;
  };
  enum class Watch { goes_on, over };           // over: stopped, failed, or every lane at its end

  void start_threads();
  void stop_threads() noexcept;
  void serve(Worker& worker) noexcept;
  void settle();
  Reading read() const noexcept;
  Watch look(RunControl& control) noexcept;
  bool all_lanes(bool begun_or_ended) const noexcept;
  Watch watch_until(Clock::time_point end, RunControl& control);
  bool await_first_bytes(RunControl& control);
  void open_window();
  void close_window(RunControl& control);
  void measure_time(RunControl& control);
  void measure_count(RunControl& control);
  void publish(RunControl& control, const stats::Counters& counters) noexcept;
  void hold_on(RunControl& control);
  void await_close(RunControl& control);
  void judge_lanes(FlowResult& result) const;
  void note_checks(FlowResult& result) const;
  void note_limiter(FlowResult& result) const;
  void note_zerocopy(FlowResult& result);
  FlowResult collect();

  FlowSetup setup_;
  std::size_t receive_bytes_ = 0;
  std::unique_ptr<loops::LaneCounters[]> counters_;
  loops::StreamOrders orders_;
  memory::Buffer message_;                      // sent, or what the receiver compares with
  std::vector<Worker> workers_;
  std::atomic<std::size_t> watching_{0};        // workers whose watch has begun
  stats::IntervalRecorder recorder_;
  TcpInfoLog info_;
  Clock::time_point begun_{};                   // before the first byte can have moved
  Clock::time_point window_closed_{};
  bool window_open_ = false;
  bool window_full_ = false;
  bool stalled_ = false;
  bool stopped_ = false;
  std::uint64_t published_bytes_ = 0;
  std::uint64_t progress_bytes_ = 0;
  Clock::time_point progress_at_{};
  std::optional<std::uint64_t> buffer_at_end_bytes_;
  std::optional<tcp::SoftirqTimes> softirq_before_;
  std::optional<tcp::SoftirqTimes> softirq_after_;
};

}  // namespace railgauge::bench
