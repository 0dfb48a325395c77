#include "bench/tcp/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "bench/tcp/links.h"
#include "memory/pattern.h"
#include "tcp/socket_options.h"

namespace railgauge::bench {
namespace {

using loops::LaneState;
using loops::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// All counters are read in some microseconds. A reading that was interrupted (more threads than CPUs) belongs to no one
/// instant, so the quickest of a few is taken.
constexpr std::chrono::microseconds kQuickReading{100};
constexpr int kReadings = 4;
/// A sender that has filled its own window waits so long for the receiver to close; then it ends by itself.
constexpr seconds kCloseMargin{2};
/// The two directions' windows end within this of each other; receiving on keeps the load on the slower one.
constexpr milliseconds kBothLinger{10};
/// At most so long a receiver goes on after its window while a latency measurement beside it lasts.
constexpr seconds kMaxHold{3};

/// A receive call takes what is there. Below 128 KiB a receiver of small messages would be the limit. Above, the block
/// follows the sender's up to 1 MiB: on loopback with cubic and a CPU for each end 1 MiB both ways moved most (62–86
/// Gbit/s, against 58–72 with 256 KiB received and 52–55 with 256 KiB both ways). Where the ends must share CPUs with other
/// work it is the other way round (10–25 against 15–60): the blocks in flight then fall out of the second-level cache.
constexpr std::uint64_t kMinReceiveBytes = 128 << 10;
constexpr std::uint64_t kMaxReceiveBytes = 1 << 20;

std::vector<int> descriptors_of(const std::vector<tcp::TcpStream*>& streams) {
  std::vector<int> out;
  for (const auto* stream : streams) out.push_back(stream->descriptor());
  return out;
}

}  // namespace

Flow::Flow(const FlowSetup& setup)
    : setup_(setup),
      receive_bytes_(static_cast<std::size_t>(std::clamp(setup.message_bytes, kMinReceiveBytes, kMaxReceiveBytes))),
      counters_(std::make_unique<loops::LaneCounters[]>(setup.streams.size())),
      recorder_(setup.plan.interval),
      info_(descriptors_of(setup.streams)) {
  const auto& plan = setup_.plan;
  if (setup_.sending || plan.verify) {
    message_ = memory::Buffer({.bytes = setup_.message_bytes, .numa_node = setup_.numa_node});
    memory::fill_pattern(message_.span(), 0, memory::Pattern{.seed = setup_.message_bytes});
  }
  const auto threads = static_cast<std::size_t>(threads_of(plan));
  const std::uint64_t limit = setup_.iterations.value_or(0) * setup_.message_bytes;
  workers_.resize(std::min(threads, setup_.streams.size()));
  for (std::size_t i = 0; i < setup_.streams.size(); ++i) {
    auto& worker = workers_[i % workers_.size()];
    auto* stream = setup_.streams[i];
    worker.streams.push_back(stream);
    if (setup_.sending) worker.send_lanes.push_back({.stream = stream, .counters = &counters_[i], .limit_bytes = limit});
    else worker.receive_lanes.push_back({.stream = stream, .counters = &counters_[i], .limit_bytes = limit, .check = {}});
  }
  for (auto& worker : workers_) {
    if (!setup_.sending) worker.room = memory::Buffer({.bytes = receive_bytes_, .numa_node = setup_.numa_node});
    if (setup_.streams.front()->blocking() || wait_of(plan, tcp::StreamRole::to_server) == plan::Wait::spin) continue;
    const auto what = setup_.sending ? tcp::PollReadiness::For::sending : tcp::PollReadiness::For::receiving;
    worker.readiness = std::make_unique<tcp::PollReadiness>(worker.streams, what);
  }
}

Flow::~Flow() { stop_threads(); }

void Flow::serve(Worker& worker) noexcept {
  const auto index = static_cast<std::size_t>(&worker - workers_.data());
  if (!setup_.cpus.empty()) worker.watch.bind(setup_.cpus[index % setup_.cpus.size()]);
  const auto expected = setup_.plan.verify ? std::span<const std::byte>(message_.span()) : std::span<const std::byte>();
  const auto run = [&](Phase phase) {
    if (setup_.sending) loops::send_stream(worker.send_lanes, message_.span(), orders_, phase, worker.readiness.get());
    else loops::receive_stream(worker.receive_lanes, worker.room.span(), expected, orders_, phase, worker.readiness.get());
  };
  run(Phase::warm_up);
  worker.watch.begin();
  watching_.fetch_add(1, std::memory_order_relaxed);
  run(Phase::settle);
  run(Phase::measure);
  worker.watch.end();
  run(Phase::drain);
}

void Flow::start_threads() {
  begun_ = Clock::now();
  progress_at_ = begun_;
  for (auto& worker : workers_) worker.thread = std::thread([this, &worker] { serve(worker); });
}

void Flow::stop_threads() noexcept {
  orders_.phase = Phase::stop;
  for (auto* stream : setup_.streams) stream->shut_down();
  for (auto& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

Flow::Reading Flow::read() const noexcept {
  Reading reading;
  auto took = Clock::duration::max();
  for (int tries = 0; tries < kReadings && took > kQuickReading; ++tries) {
    stats::Counters sum;
    const auto before = Clock::now();
    for (std::size_t i = 0; i < setup_.streams.size(); ++i) sum.bytes += counters_[i].bytes.load(std::memory_order_relaxed);
    const auto span = Clock::now() - before;
    if (span >= took) continue;
    took = span;
    reading = {before + span / 2, sum};
  }
  reading.counters.messages = reading.counters.bytes / setup_.message_bytes;
  return reading;
}

void Flow::publish(RunControl& control, const stats::Counters& counters) noexcept {
  control.live_bytes.fetch_add(counters.bytes - published_bytes_, std::memory_order_relaxed);
  published_bytes_ = counters.bytes;
}

void Flow::hold_on(RunControl& control) {
  const bool both = setup_.plan.direction == plan::Direction::both;
  const auto until = Clock::now() + (setup_.hold != nullptr ? Clock::duration(kMaxHold) : Clock::duration(kBothLinger));
  if (setup_.hold == nullptr && !both) return;
  while (Clock::now() < until && look(control) == Watch::goes_on) {
    if (setup_.hold != nullptr && !setup_.hold->load(std::memory_order_relaxed)) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void Flow::await_close(RunControl& control) {
  const auto until = Clock::now() + kCloseMargin + (setup_.hold != nullptr ? Clock::duration(kMaxHold) : Clock::duration::zero());
  while (Clock::now() < until && !control.peer_done.load(std::memory_order_relaxed) && look(control) == Watch::goes_on) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

FlowResult Flow::run(RunControl& control) {
  const bool by_count = setup_.iterations.has_value();
  if (by_count) orders_.phase = Phase::measure;
  start_threads();
  if (await_first_bytes(control)) {
    if (by_count) measure_count(control);
    else measure_time(control);
  }
  if (window_full_ && !stopped_) {
    if (setup_.sending) await_close(control);
    else hold_on(control);
  }
  stop_threads();
  if (!setup_.sending) {
    for (auto* stream : setup_.streams) stream->close();
  }
  return collect();
}

}  // namespace railgauge::bench
