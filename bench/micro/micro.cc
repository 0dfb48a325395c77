// What the tool itself costs, apart from any device. Targets (issue 1): at most 8 ns a message at post_batch 1, 2 ns at 16.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/tsc.h"
#include "fakes/null_queue.h"
#include "loops/latency.h"
#include "loops/window.h"
#include "memory/buffer.h"
#include "memory/pattern.h"
#include "stats/histogram.h"
#include "stats/interval_recorder.h"

namespace railgauge {
namespace {

const TickClock& tick_clock() {
  static const TickClock clock = TickClock::calibrate();
  return clock;
}

/// One million messages through the bandwidth loop, as one iteration.
void window_loop(benchmark::State& state) {
  constexpr std::uint64_t kMessages = 1'000'000;
  constexpr std::uint32_t kRing = 128;
  loops::WindowSettings settings;
  settings.message_bytes = 64;
  settings.ring = kRing;
  settings.depth = kRing;
  settings.post_batch = static_cast<std::uint32_t>(state.range(0));
  settings.signal_every = static_cast<std::uint32_t>(state.range(1));
  settings.iterations = kMessages;
  std::vector<transport::WorkRequest> slots(kRing);
  for (std::uint32_t i = 0; i < kRing; ++i) slots[i].signaled = (i + 1) % settings.signal_every == 0;
  std::atomic<bool> no{false};
  std::uint64_t messages = 0;
  for (auto _ : state) {
    testing_support::NullQueue queue;
    queue.prepare(0, slots);
    loops::WindowSender sender(queue, settings, {no, no, no}, tick_clock(), {});
    auto outcome = loops::run(sender, tick_clock().now());
    messages += outcome.completed[0];
  }
  state.counters["ns_per_message"] =
      benchmark::Counter(static_cast<double>(messages) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(window_loop)->ArgNames({"post_batch", "signal_every"})->Args({1, 1})->Args({1, 16})->Args({16, 1})->Args({16, 16});

void histogram_record(benchmark::State& state) {
  auto recorder = std::make_unique<stats::LatencyRecorder>();
  std::int64_t ns = 1000;
  for (auto _ : state) {
    ns = (ns * 7 + 13) & 0xFFFF;
    recorder->record(std::chrono::nanoseconds(1), std::chrono::nanoseconds(ns));
  }
  benchmark::DoNotOptimize(recorder->histogram.samples());
}
BENCHMARK(histogram_record);

void interval_sample(benchmark::State& state) {
  stats::IntervalRecorder recorder(std::chrono::milliseconds(1));
  auto at = Clock::now();
  recorder.begin_window(at, {});
  std::uint64_t n = 0;
  for (auto _ : state) {
    at += std::chrono::milliseconds(1);
    n += 64;
    recorder.sample(at, {n * 64, n});
  }
}
BENCHMARK(interval_sample);

void clock_read(benchmark::State& state) {
  bool counter = state.range(0) != 0;
  for (auto _ : state) {
    if (counter) benchmark::DoNotOptimize(tick_clock().now());
    else benchmark::DoNotOptimize(Clock::now());
  }
}
BENCHMARK(clock_read)->ArgName("tsc")->Arg(0)->Arg(1);

void pattern_fill(benchmark::State& state) {
  memory::Buffer buffer({.bytes = 64ULL << 20, .huge_pages = false, .numa_node = {}});
  for (auto _ : state) memory::fill_pattern(buffer.span(), 0, {7});
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(buffer.bytes()));
}
BENCHMARK(pattern_fill);

void pattern_check(benchmark::State& state) {
  memory::Buffer buffer({.bytes = 64ULL << 20, .huge_pages = false, .numa_node = {}});
  memory::fill_pattern(buffer.span(), 0, {7});
  for (auto _ : state) benchmark::DoNotOptimize(memory::check_pattern(buffer.span(), 0, {7}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(buffer.bytes()));
}
BENCHMARK(pattern_check);

}  // namespace
}  // namespace railgauge
